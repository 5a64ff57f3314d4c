"""Write the methods paragraph: every method described and cited, and the results of every measure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources

import numpy as np

from shardwise.analysis.analysis import Analysis, ClaimResult
from shardwise.analysis.analyze import DATA_SETS, OF_DATA_SETS, compare_by
from shardwise.comparing.rankings import friedman_test
from shardwise.core.claim import DIMENSIONS, format_count, pluralize_noun
from shardwise.core.text import shorten_name
from shardwise.methods.names import Procedure, list_methods
from shardwise.methods.splits import RULES
from shardwise.stats.corrections import CORRECTIONS, SIMULTANEOUS
from shardwise.writing.answer import FEW_NAMED, NAMELESS, capitalize_sentence, describe_claim, join_names
from shardwise.writing.names import escape_tex, label_systems
from shardwise.writing.numbers import (
    equate_p,
    format_df,
    format_interval,
    format_number,
    format_p,
    format_percent,
)

ERROR_RATES = {
    "family": "controlling the family-wise error at {alpha:g}",
    "discovery": "controlling the false discovery rate at {alpha:g}",
    "pair": "each pair at the level {alpha:g} without correction for multiple comparisons",
}
"""The error rate that a procedure controls, as the end of a clause."""
Sentence = tuple[str, tuple[str, ...]]
"""A sentence without its full stop, and the keys of its sources."""


def describe_test(result: ClaimResult, analysis: Analysis) -> Sentence:
    """Return what the pairs of a claim were compared with, as a clause, and the keys of its sources."""
    procedure = result.procedure
    clause = procedure.clause(result.pairs.estimates.size)
    words = make_words(analysis.nouns)
    text = clause.text.format(**words, resamples=f"{result.n_resamples or 0:,}")
    if len(result.pairs) == 1 and result.family is None:
        return f"{text}, at the level {result.alpha:g}", clause.citations
    citations = clause.citations
    correction = CORRECTIONS.get(procedure.correction)
    if correction is not None and correction.text and len(procedure.method.corrections) > 1:
        joined = " and" if procedure.correction in SIMULTANEOUS else ", with"
        text, citations = f"{text}{joined} {correction.text}", (*citations, *correction.citations)
    return f"{text}, {ERROR_RATES[procedure.error_rate].format(alpha=result.alpha)}", citations


def explain_test(result: ClaimResult, analysis: Analysis) -> str:
    """Write how the differences of a claim were tested, as a sentence."""
    if result.procedure.method.model is not None and result.pairs.pairs.critical is None:
        return f"{capitalize_sentence(result.title)}; error term: {_describe_error(result)}."
    return f"{capitalize_sentence(describe_test(result, analysis)[0])}."


def _describe_error(result: ClaimResult) -> str:
    """The error term of a model, with its degrees of freedom."""
    error, df = result.pairs.estimates.error or "error", result.pairs.error_df
    named = "residual mean square" if error == "error" else f"mean square of {error}"
    if np.isnan(df):
        # decisions of several splits were combined
        return f"{named} of each split"
    return f"{named} on {format_df(df)} degrees of freedom"


def list_sentences(first: Analysis) -> list[Sentence]:
    """List the sentences of the paragraph, each with the keys of its sources.

    Parameters
    ----------
    first : Analysis
        An analysis of one measure or several.

    Returns
    -------
    list of tuple
        Sentences without their full stops.
    """
    analyses = first.each
    sentences = [_describe_scores(first), *_describe_gaps(first)]
    for analysis in analyses:
        sentences += [
            sentence
            for sentence in (*_describe_tests(analysis), *_describe_splits(analysis))
            if sentence not in sentences
        ]
    for analysis in analyses:
        measure = f" in {shorten_name(analysis.measure)}" if len(analyses) > 1 else ""
        sentences += [_describe_result(result, analysis, measure) for result in analysis.distinct_results]
        same = [result for result in analysis.results_in_order if result not in analysis.distinct_results]
        sentences += [
            (f"The same pairs differ significantly{measure} for {result.claim}", ()) for result in same
        ]
        sentences += _describe_ranks(analysis, measure)
    if first.power is not None:
        power = first.power
        whole = "" if first.lead.pairs.complete else " as"
        corrected = f", corrected{whole} for all pairs" * (power.systems > 2)
        named = "" if first.measure in NAMELESS else f" in {shorten_name(first.measure)}"
        topics, systems = first.format_count(power.topics, "topic"), first.nouns_for("system")
        sentences.append(
            (
                f"{topics} detect a difference of {power.detectable:.2g}{named} between two {systems} with 80% power"
                f" (moderated test{corrected}; assuming normal scores)",
                (),
            )
        )
    return sentences


def _describe_ranks(analysis: Analysis, measure: str) -> list[Sentence]:
    """What Friedman's test says of systems on data sets, and why it does not decide."""
    if analysis.item_noun not in DATA_SETS or not analysis.lead.pairs.complete or len(analysis.systems) < 3:
        return []
    ranked = compare_by(analysis, OF_DATA_SETS)
    if ranked is None:
        return []
    test = friedman_test(analysis.analysed.select_systems(analysis.systems))
    figures = (
        f"χ² = {test['statistic']:.2f} on {len(analysis.systems) - 1} degrees of freedom; Iman and Davenport's F,"
        f" {equate_p(format_p(float(test['p'])))}"
    )
    if analysis.procedure.method.of_ranks:
        return [(f"Friedman's test{measure}: {figures}", ("Demsar2006",))]
    lead, systems = analysis.lead, analysis.nouns_for("system")
    more, fewer = ranked.found_beyond(lead), lead.found_beyond(ranked)
    changes = [f"{n:,} {word}" for n, word in ((more, "more"), (fewer, "fewer")) if n]
    found = f"{ranked.n_significant:,} of {format_count(len(lead.pairs), 'pair')} by Nemenyi's comparisons"
    return [
        (
            f"We prefer this test to Friedman's, which looks at the ranks of the {systems} alone and whose verdict on"
            f" two {systems} depends on which others take part",
            ("BenavoliEtAl2016",),
        ),
        (
            f"Friedman's test{measure} ({figures}) finds {found}, {' and '.join(changes) or 'the same ones'}",
            ("Demsar2006",),
        ),
    ]


def _describe_scores(first: Analysis) -> Sentence:
    """What was scored, by what, and how often."""
    systems, topics = (
        first.format_count(len(first.systems), "system"),
        first.format_count(first.topics, "topic"),
    )
    measures = join_names(
        [
            shorten_name(analysis.measure) + " (lower is better)" * analysis.comparisons.lower_is_better
            for analysis in first.each
        ]
    )
    text = f"We compared {systems} on {topics} by {measures}"
    if first.n_labelled:
        return f"{text}; people labelled {first.format_count(first.n_labelled, 'topic')} as well", ()
    if first.instances is not None:
        low, high = first.instances
        many = f"{high:,}" if low == high else f"{low:,} to {high:,}"
        noun = first.noun_for("instance") if many == "1" else first.nouns_for("instance")
        return f"{text}, with {many} {noun} of each {first.noun_for('system')}", ()
    if first.shards > 1:
        splits = f", in {format_count(first.n_splits, 'independent split')}" if first.n_splits > 1 else ""
        return (
            f"{text}, separately on each of {first.format_count(first.shards, 'shard')} of the documents{splits}, which"
            f" gives replicates of every {first.noun_for('topic')} and {first.noun_for('system')}",
            ("VoorheesEtAl2017", "FerroSanderson2019"),
        )
    return text, ()


def _describe_gaps(analysis: Analysis) -> list[Sentence]:
    """What was done about scores that are undefined or missing."""
    sentences: list[Sentence] = []
    policy = analysis.configuration["fill"]
    undefined_left = (
        policy == "leave" and "shard" in analysis.scores.dims and analysis.scores.find_undefined().any()
    )
    kinds = {remark.kind: remark for remark in analysis.remarks}
    if undefined_left or not kinds.keys().isdisjoint({"undefined scores", "many undefined scores"}):
        special = {
            "drop": f"such {analysis.nouns_for('topic')} were left out",
            "leave": "such cells were left out",
        }
        special |= {name: f"such cells were filled by the policy “{name}”" for name in ("lq", "mean")}
        how = special.get(policy, f"such cells count as {policy}")
        topic = analysis.noun_for("topic")
        sentences.append(
            (
                f"A {topic} without relevant documents in a shard has no score there; {how}",
                ("FaggioliFerro2021",),
            )
        )
    if "missing scores" in kinds:
        sentences.append((kinds["missing scores"].text.removesuffix("."), ()))
    return sentences


def _describe_tests(analysis: Analysis) -> list[Sentence]:
    """How pairs were compared: once where all claims share it, else claim by claim."""
    results: dict[Sentence, list[ClaimResult]] = {}
    for result in analysis.results_in_order:
        results.setdefault(describe_test(result, analysis), []).append(result)
    sentences = []
    for k, ((text, citations), group) in enumerate(results.items()):
        claim = f"for {describe_claim(group[0], analysis)}"
        if k:
            sentences.append((f"{capitalize_sentence(claim)}, we compared them with {text}", citations))
            continue
        scope = f", {claim}," if len(results) > 1 else ""
        sentences.append((f"We compared {_describe_pairs(group[0], analysis)}{scope} with {text}", citations))
    return sentences


def _describe_splits(analysis: Analysis) -> list[Sentence]:
    """How several splits became one answer: once where all claims share it, else claim by claim."""
    if analysis.n_splits < 2:
        return []
    by_rule = {result.procedure.rule: result for result in analysis.results_in_order}
    sentences = []
    for rule, result in by_rule.items():
        claim = f"for {describe_claim(result, analysis)}, " if len(by_rule) > 1 else ""
        text = RULES[rule].text.format(n=analysis.n_splits)
        sentences.append((capitalize_sentence(f"{claim}{text}"), RULES[rule].citations))
    return sentences


def _describe_pairs(result: ClaimResult, analysis: Analysis) -> str:
    systems, family = analysis.nouns_for("system"), result.family
    if family is not None:
        steps = "" if family.resampled else ", stepping over measures by Holm's method"
        return f"all {family.pairs:,} pairs of {systems} by {family.measures:,} measures together{steps},"
    if len(result.pairs.names) == 2:
        return f"the two {systems}"
    if analysis.baselines:
        return f"all {systems} against {' and '.join(label_systems(result)[name] for name in analysis.baselines)}"
    return f"all {len(result.pairs):,} pairs of {systems}"


def _describe_result(result: ClaimResult, analysis: Analysis, measure: str) -> Sentence:
    """What came out for one claim."""
    opening = f"For {result.claim}, "
    if result.procedure.method.model is not None and result.pairs.pairs.critical is None:
        opening += f"with the {_describe_error(result)} as error term, "
    if len(result.pairs) == 1:
        return f"{opening}{_describe_pair(result, analysis, measure)}", ()
    total = len(result.pairs)
    verb = "differs" if result.n_significant == 1 else "differ"
    text = f"{opening}{result.n_significant:,} of {format_count(total, 'pair')} {verb} significantly{measure}"
    if not result.best_set:
        return text, ()
    systems = analysis.nouns_for("system")
    labels = label_systems(result)
    members = (
        join_names([labels[name] for name in result.best_set])
        if len(result.best_set) <= FEW_NAMED
        else f"{len(result.best_set):,} {systems}, led by {labels[result.best_set[0]]}"
    )
    if result.may_be_best:
        level = format_percent(1.0 - analysis.alpha)
        return f"{text}; the best set ({level} confidence) is {members}", ("Hsu1981",)
    return f"{text}; no other {analysis.noun_for('system')} is significantly better than {members}", ()


def _describe_pair(result: ClaimResult, analysis: Analysis, measure: str) -> str:
    """The only pair in numbers."""
    row, digits = result.pair_row(0), analysis.decimals
    labels = label_systems(result)
    a, b = labels[str(row["a"])], labels[str(row["b"])]
    figures = [f"difference {format_number(float(row['difference']), digits)}"]
    if np.isfinite(row["lower"]):
        ends = float(row["lower"]), float(row["upper"])
        interval = format_interval(*ends, digits, significant=bool(result.n_significant))
        figures.append(f"{format_percent(1.0 - result.alpha)} CI {interval}")
    figures.append(equate_p(format_p(float(row["p_adjusted"]), result.resolution)))
    known = ", ".join(figures)
    if not result.n_significant:
        return f"{a} and {b} do not differ significantly{measure} ({known})"
    word = "better" if result.pairs.gain[0] > 0 else "worse"
    return f"{a} is significantly {word} than {b}{measure} ({known})"


def methods_text(analysis: Analysis) -> str:
    """Return the paragraph with sources by name and year."""
    sentences = []
    for text, keys in list_sentences(analysis):
        cited = "; ".join(find_source(key).citation for key in keys)
        sentences.append(f"{text} ({cited})." if cited else f"{text}.")
    sentences.append(f"The analysis was done with shardwise {analysis.versions['shardwise']}.")
    return " ".join(sentences)


def methods_latex(analysis: Analysis) -> str:
    """Return the paragraph with \\cite commands."""
    sentences = []
    for text, keys in list_sentences(analysis):
        cite = f"~\\cite{{{','.join(keys)}}}" if keys else ""
        quoted = text.replace("“", "``").replace("”", "''")
        sentences.append(f"{escape_tex(quoted, most=len(quoted) * 8)}{cite}.")
    version = analysis.versions["shardwise"]
    sentences.append(f"The analysis was done with \\texttt{{shardwise}} {version}~\\cite{{{SOFTWARE.key}}}.")
    return "\n".join(sentences) + "\n"


def format_bibliography(analysis: Analysis) -> str:
    """Return BibTeX entries of what the paragraph cites, in the order of first mention; the software comes last."""
    keys = dict.fromkeys(key for _, keys in list_sentences(analysis) for key in keys)
    software = SOFTWARE.bibtex.replace("VERSION", analysis.versions["shardwise"])
    return "\n\n".join([*(find_source(key).bibtex for key in keys), software]) + "\n"


def make_words(nouns: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the user's words for dimensions, one and many, as clauses of methods name them.

    Parameters
    ----------
    nouns : mapping, optional
        The user's words for dimensions.

    Returns
    -------
    dict
        Such as ``{"topic": "question", "topics": "questions", …}``.
    """
    single = {name: (nouns or {}).get(name, name) for name in DIMENSIONS}
    return {**single, **{f"{name}s": pluralize_noun(word) for name, word in single.items()}}


def explain_method(procedure: Procedure, nouns: Mapping[str, str] | None = None) -> str:
    """Return what the method of a procedure does, in one clause.

    Parameters
    ----------
    procedure : Procedure
        Any procedure.
    nouns : mapping, optional
        The user's own words for dimensions.

    Returns
    -------
    str
        A clause.

    >>> from shardwise.methods.names import parse_procedure
    >>> explain_method(parse_procedure("moderated"), {"system": "model"})
    'holds its error rate even when some models are more variable than others'
    >>> explain_method(parse_procedure("t holm"))
    'each pair by its own variance over topics'
    """
    return procedure.method.reason.format(**make_words(nouns), resamples="many")


@dataclass(frozen=True, slots=True)
class Reference:
    """One entry of the bibliography."""

    bibtex: str

    @property
    def key(self) -> str:
        """The name that it is cited by in LaTeX."""
        return self.bibtex.partition("{")[2].partition(",")[0]

    @property
    def citation(self) -> str:
        """How running text cites it.

        >>> [SOURCES[key].citation for key in ("Scheffe1953", "FerroSanderson2019", "VoorheesEtAl2017")]
        ['Scheffé, 1953', 'Ferro & Sanderson, 2019', 'Voorhees et al., 2017']
        """
        plain = self.bibtex.replace(r"{\'e}", "é").replace(r"{\v{s}}", "š")
        fields = dict(re.findall(r"^  (\w+) += \{(.*)\},?$", plain, re.MULTILINE))
        names = [name.split()[-1] for name in fields["author"].split(" and ")]
        who = " & ".join(names) if len(names) < 3 else f"{names[0]} et al."
        return f"{who}, {fields['year']}"


_ENTRIES = resources.files("shardwise.writing").joinpath("sources.bib").read_text(encoding="utf-8")
SOURCES = {source.key: source for source in map(Reference, _ENTRIES.strip().split("\n\n"))}
SOFTWARE = SOURCES["shardwise"]
"""The package's own entry."""


def find_source(key: str) -> Reference:
    """Return the source of a key: of the common bibliography, or of the method that brings it along.

    Parameters
    ----------
    key : str
        The name that it is cited by.

    Returns
    -------
    Source
        Its entry.
    """
    if key in SOURCES:
        return SOURCES[key]
    entries = (entry for method in list_methods() for entry in method.bibliography.strip().split("\n\n"))
    brought = {source.key: source for source in map(Reference, filter(None, entries))}
    return brought[key]
