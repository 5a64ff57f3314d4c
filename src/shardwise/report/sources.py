"""The literature behind the methods, for the bibliography of a paper."""

from __future__ import annotations

from dataclasses import dataclass


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
        Source(
            "RomanoWolf2005",
            "Romano & Wolf, 2005",
            "article",
            (
                ("author", "Joseph P. Romano and Michael Wolf"),
                ("title", "Exact and Approximate Stepdown Methods for Multiple Hypothesis Testing"),
                ("journal", "Journal of the American Statistical Association"),
                ("volume", "100"),
                ("number", "469"),
                ("pages", "94--108"),
                ("year", "2005"),
            ),
        ),
        Source(
            "Hsu1981",
            "Hsu, 1981",
            "article",
            (
                ("author", "Jason C. Hsu"),
                ("title", "Simultaneous Confidence Intervals for All Distances from the ``Best''"),
                ("journal", "The Annals of Statistics"),
                ("volume", "9"),
                ("number", "5"),
                ("pages", "1026--1034"),
                ("year", "1981"),
            ),
        ),
        Source(
            "Smyth2004",
            "Smyth, 2004",
            "article",
            (
                ("author", "Gordon K. Smyth"),
                (
                    "title",
                    "Linear Models and Empirical {Bayes} Methods for Assessing Differential Expression in Microarray"
                    " Experiments",
                ),
                ("journal", "Statistical Applications in Genetics and Molecular Biology"),
                ("volume", "3"),
                ("number", "1"),
                ("year", "2004"),
            ),
        ),
        Source(
            "Carterette2012",
            "Carterette, 2012",
            "article",
            (
                ("author", "Benjamin A. Carterette"),
                (
                    "title",
                    "Multiple Testing in Statistical Analysis of Systems-Based Information Retrieval Experiments",
                ),
                ("journal", "ACM Transactions on Information Systems"),
                ("volume", "30"),
                ("number", "1"),
                ("year", "2012"),
            ),
        ),
        Source(
            "WestfallYoung1993",
            "Westfall & Young, 1993",
            "book",
            (
                ("author", "Peter H. Westfall and S. Stanley Young"),
                (
                    "title",
                    "Resampling-Based Multiple Testing: Examples and Methods for $p$-Value Adjustment",
                ),
                ("publisher", "Wiley"),
                ("year", "1993"),
            ),
        ),
        Source(
            "Satterthwaite1946",
            "Satterthwaite, 1946",
            "article",
            (
                ("author", "F. E. Satterthwaite"),
                ("title", "An Approximate Distribution of Estimates of Variance Components"),
                ("journal", "Biometrics Bulletin"),
                ("volume", "2"),
                ("number", "6"),
                ("pages", "110--114"),
                ("year", "1946"),
            ),
        ),
        Source(
            "JayasingheEtAl2015",
            "Jayasinghe et al., 2015",
            "article",
            (
                (
                    "author",
                    "Gaya K. Jayasinghe and William Webber and Mark Sanderson and Lasitha S. Dharmasena and"
                    " J. Shane Culpepper",
                ),
                (
                    "title",
                    "Statistical Comparisons of Non-Deterministic {IR} Systems Using Two Dimensional Variance",
                ),
                ("journal", "Information Processing \\& Management"),
                ("volume", "51"),
                ("number", "5"),
                ("year", "2015"),
            ),
        ),
    )
}
