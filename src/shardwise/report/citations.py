"""The methods paragraph, and the literature behind it."""

from __future__ import annotations

from dataclasses import dataclass

from shardwise.analysis.analysis import Analysis
from shardwise.report.names import tex
from shardwise.report.words import count, degrees


@dataclass(frozen=True, slots=True)
class Source:
    """One entry of the bibliography."""

    key: str
    cited: str  # as in running text
    kind: str
    fields: tuple[tuple[str, str], ...]

    def bibtex(self) -> str:
        """Return the BibTeX entry."""
        rows = ",\n".join(f"  {name:<9} = {{{value}}}" for name, value in self.fields)
        return f"@{self.kind}{{{self.key},\n{rows}\n}}"


SOURCES = {
    source.key: source
    for source in (
        Source(
            "FerroSanderson2019",
            "Ferro & Sanderson, 2019",
            "inproceedings",
            (
                ("author", "Nicola Ferro and Mark Sanderson"),
                ("title", "Improving the Accuracy of System Performance Estimation by Using Shards"),
                (
                    "booktitle",
                    "Proceedings of the 42nd International ACM SIGIR Conference on Research and Development in"
                    " Information Retrieval",
                ),
                ("pages", "805--814"),
                ("year", "2019"),
            ),
        ),
        Source(
            "FaggioliFerro2021",
            "Faggioli & Ferro, 2021",
            "inproceedings",
            (
                ("author", "Guglielmo Faggioli and Nicola Ferro"),
                (
                    "title",
                    "System Effect Estimation by Sharding: A Comparison between {ANOVA} Approaches to Detect"
                    " Significant Differences",
                ),
                ("booktitle", "Advances in Information Retrieval (ECIR)"),
                ("year", "2021"),
            ),
        ),
        Source(
            "VoorheesEtAl2017",
            "Voorhees et al., 2017",
            "article",
            (
                ("author", "Ellen M. Voorhees and Daniel Samarov and Ian Soboroff"),
                ("title", "Using Replicates in Information Retrieval Evaluation"),
                ("journal", "ACM Transactions on Information Systems"),
                ("volume", "36"),
                ("number", "2"),
                ("pages", "12:1--12:21"),
                ("year", "2017"),
                ("doi", "10.1145/3086701"),
            ),
        ),
        Source(
            "Sakai2014",
            "Sakai, 2014",
            "inproceedings",
            (
                ("author", "Tetsuya Sakai"),
                ("title", "Topic Set Size Design with Variance Estimates from Two-Way {ANOVA}"),
                (
                    "booktitle",
                    "Proceedings of the International Workshop on Evaluating Information Access (EVIA)",
                ),
                ("year", "2014"),
            ),
        ),
        Source(
            "Tukey1949",
            "Tukey, 1949",
            "article",
            (
                ("author", "John W. Tukey"),
                ("title", "Comparing Individual Means in the Analysis of Variance"),
                ("journal", "Biometrics"),
                ("volume", "5"),
                ("number", "2"),
                ("pages", "99--114"),
                ("year", "1949"),
            ),
        ),
        Source(
            "BenjaminiHochberg1995",
            "Benjamini & Hochberg, 1995",
            "article",
            (
                ("author", "Yoav Benjamini and Yosef Hochberg"),
                (
                    "title",
                    "Controlling the False Discovery Rate: A Practical and Powerful Approach to Multiple Testing",
                ),
                ("journal", "Journal of the Royal Statistical Society: Series B"),
                ("volume", "57"),
                ("number", "1"),
                ("pages", "289--300"),
                ("year", "1995"),
            ),
        ),
        Source(
            "BenjaminiYekutieli2001",
            "Benjamini & Yekutieli, 2001",
            "article",
            (
                ("author", "Yoav Benjamini and Daniel Yekutieli"),
                ("title", "The Control of the False Discovery Rate in Multiple Testing under Dependency"),
                ("journal", "The Annals of Statistics"),
                ("volume", "29"),
                ("number", "4"),
                ("pages", "1165--1188"),
                ("year", "2001"),
                ("doi", "10.1214/aos/1013699998"),
            ),
        ),
        Source(
            "Holm1979",
            "Holm, 1979",
            "article",
            (
                ("author", "Sture Holm"),
                ("title", "A Simple Sequentially Rejective Multiple Test Procedure"),
                ("journal", "Scandinavian Journal of Statistics"),
                ("volume", "6"),
                ("number", "2"),
                ("pages", "65--70"),
                ("year", "1979"),
            ),
        ),
        Source(
            "Scheffe1953",
            "Scheffé, 1953",
            "article",
            (
                ("author", "Henry Scheff{\\'e}"),
                ("title", "A Method for Judging All Contrasts in the Analysis of Variance"),
                ("journal", "Biometrika"),
                ("volume", "40"),
                ("number", "1/2"),
                ("pages", "87--104"),
                ("year", "1953"),
                ("doi", "10.1093/biomet/40.1-2.87"),
            ),
        ),
    )
}
OF_METHOD = {
    "hsd": "Tukey1949",
    "bh": "BenjaminiHochberg1995",
    "by": "BenjaminiYekutieli2001",
    "holm": "Holm1979",
    "scheffe": "Scheffe1953",
}
PURPOSE = {
    "hsd": "Tukey's honestly significant difference, which controls the family-wise error",
    "bh": "t-tests with the correction of Benjamini and Hochberg, which controls the false discovery rate",
    "by": "t-tests with the correction of Benjamini and Yekutieli, which controls the false discovery rate under any"
    " dependence",
    "holm": "t-tests with Holm's correction, which controls the family-wise error",
    "bonferroni": "t-tests with Bonferroni's correction, which controls the family-wise error",
    "scheffe": "Scheffé's method, which controls the family-wise error of all contrasts",
    "none": "t-tests without correction for their number",
}


def methods_paragraph(content: Analysis) -> list[tuple[str, str]]:
    """The paragraph as sentences, each with the keys of its sources, separated by commas."""
    c = content
    scored = f"We scored {len(c.systems)} systems on {count(c.topics, 'topic')} with {c.measure}"
    said: list[tuple[str, str]] = []
    if c.shards > 1:
        splits = f", in {c.splits[0].splits} independent splits" if c.splits else ""
        said.append(
            (
                f"{scored}, separately on each of {c.shards} shards of the documents{splits}, which gives"
                " replicates of every topic and system",
                "VoorheesEtAl2017,FerroSanderson2019",
            )
        )
    else:
        said.append((scored, ""))
    filled = c.fit.scores.attrs.get("filled", 0)
    if filled:
        policy = c.configuration["fill"]
        said.append(
            (
                "A topic without relevant documents in a shard has no score there; such cells were filled by the"
                f" policy “{policy}”",
                "FaggioliFerro2021",
            )
        )
    named = f"model {c.fit.model.name}: " if c.fit.model.name else "model "
    said.append(
        (
            f"We fitted an analysis of variance ({named}{c.fit.model}) and compared all"
            f" {count(len(c.claims[0].pairs), 'pair')} of systems by {PURPOSE[c.method]}, at the level {c.alpha:g}",
            ",".join(["FerroSanderson2019", *([OF_METHOD[c.method]] if c.method in OF_METHOD else [])]),
        )
    )
    for claim in c.claims:
        error = claim.pairs.estimates.error or "error"
        df = claim.pairs.estimates.df
        said.append(
            (
                f"For claims {claim.claim}, differences are judged against the mean square of {error}"
                f" ({degrees(df)} degrees of freedom): {count(claim.found, 'pair')} differ, and {len(claim.top)} of the"
                " systems, the best included, are not distinguishable from the best",
                "",
            )
        )
    if c.power is not None:
        said.append(
            (
                f"A paired test of two systems on these topics finds a difference of {c.power.detectable:.3g} with"
                " power 0.8",
                "Sakai2014",
            )
        )
    return said


def methods_text(content: Analysis) -> str:
    """The paragraph with sources by name and year."""
    sentences = []
    for text, keys in methods_paragraph(content):
        cited = "; ".join(SOURCES[key].cited for key in keys.split(",") if key)
        sentences.append(f"{text} ({cited})." if cited else f"{text}.")
    sentences.append(f"The analysis was done with shardwise {content.versions['shardwise']}.")
    return " ".join(sentences)


def methods_latex(content: Analysis) -> str:
    """The paragraph with \\cite commands."""
    sentences = []
    for text, keys in methods_paragraph(content):
        cite = f"~\\cite{{{keys}}}" if keys else ""
        sentences.append(f"{_tex_text(text)}{cite}.")
    sentences.append(f"The analysis was done with \\texttt{{shardwise}} {content.versions['shardwise']}.")
    return "\n".join(sentences) + "\n"


def _tex_text(text: str) -> str:
    quoted = text.replace("“", "``").replace("”", "''")
    return tex(quoted, most=len(quoted) * 8)


def bibliography(content: Analysis) -> str:
    """BibTeX entries of the sources that the paragraph cites, in the order of their first mention."""
    keys = dict.fromkeys(key for _, keys in methods_paragraph(content) for key in keys.split(",") if key)
    return "\n\n".join(SOURCES[key].bibtex() for key in keys) + "\n"
