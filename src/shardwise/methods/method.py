"""Define what a method is: a frozen record of facts and two functions, `means` and `pairs`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from shardwise.core.arrays import Ints
from shardwise.core.claim import Claim
from shardwise.methods.pairs import JOINT, Means, Pairs
from shardwise.methods.tables import LAYOUT_NAMES, LAYOUTS, SHARDS, SPLITS, TABLE, Dims, Tables, read_table
from shardwise.stats.corrections import SIMULTANEOUS, STEPWISE
from shardwise.stats.moderation import get_prior_df

TOPICS, THESE = Claim("topic"), Claim()
WITHIN_SPLITS = ("hsd", "bh", "holm")
AFTER_SPLITS = ("bh", "holm", "none")
"""Corrections with which decisions on single splits are made one, and with which their p-values are combined."""


@dataclass(frozen=True, slots=True)
class Clause:
    """One plain clause about a method, from which sentences are made.

    Parameters
    ----------
    text : str
        Reads after "compared all pairs with"; ``{topics}``, ``{topic}``, ``{systems}``, ``{instances}``, ``{shards}``
        stand for the user's words, ``{resamples}`` for their number.
    citations : tuple of str
        Keys of the sources that the clause cites, as in ``writing/sources.bib``.
    """

    text: str
    citations: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Method:
    """A way of comparing the systems of tables of scores, with every fact that anybody asks of it.

    Its facts are read by ``compare``, the report, the methods paragraph, ``calibrate``, completion and the docs. Two
    methods are the same if they have the same name and title.

    Parameters
    ----------
    name : str
        What a user types.
    title : str
        The method in words.
    means : callable
        Function of tables and a claim that estimates the means of the systems, arrays with one entry a table.
    layouts_by_claim : tuple of (Claim, layouts)
        The claims that it supports, the default one first, and the layouts of tables that can support each; new
        topics like these, from a topic × system table, by default.
    pairs : callable, optional
        Function of tables, a claim and the numbers of two systems a pair that tests the pairs; without it by the
        variances of the means.
    text : str
        What pairs are compared with, as in `Clause`.
    citations : tuple of str
        Keys of its sources.
    describe : callable, optional
        Function of correction, claim and number of systems that gives the clause, where that depends on them.
    reason : str
        What it does, in one short clause with the words of `Clause`; the text without it.
    equation : str
        How a pair is tested, as a formula for the docs; ``{d0}`` stands for the prior degrees of freedom.
    limits : str
        Where it should not be used, with what was measured, for the docs.
    bibliography : str
        BibTeX entries of sources that it cites and that the common bibliography lacks.
    joint : bool
        Whether a joint distribution of all pairs corrects it by construction.
    jointless : tuple of Claim
        Claims for which it has no joint distribution.
    stepwise : bool
        Whether it takes corrections of p-values.
    simultaneous : tuple of str
        Corrections by the joint distribution of Student's t that it takes.
    default_correction : str, optional
        What is meant where no correction is named; its joint distribution, Tukey's HSD or Holm's without it.
    sound : bool
        Whether in theory it tests a difference of means at its level.
    warned : bool
        Whether the docs warn of it: it is run by its full name, and neither completed nor suggested.
    common_error : bool
        Whether one error serves all pairs, so that systems are taken to vary alike.
    shrinks : bool
        Whether the variance of a pair is shrunk towards that of all.
    drawn : bool
        Whether p-values come from resamples: all, or those of the joint distribution.
    normal : bool
        Whether p-values that are not drawn rest on Student's distribution.
    needs_all : bool
        Whether no topic mean may be missing.
    takes_gaps : bool
        Whether scores may be missing.
    gapless : tuple of Claim
        Claims for which they may not.
    takes_common_gaps : bool
        Whether cells that all systems lack may be missing in any case.
    uses_people, uses_votes : bool
        Whether it needs scores by people beside those of a judge; the votes behind scores that are strengths.
    of_ranks : bool
        Whether means and differences are those of ranks, not of scores.
    of_items : bool
        Whether it looks at single items, so that neither clusters nor tasks may stand for them.
    takes_single_items : bool
        Whether clusters stay labels of items, because it looks at the items of each system by itself.
    repeats_kind : str
        What it takes instances for: "seeds", "samples", or nothing where it averages them.
    fits_cells : bool
        Whether it fits a model to the cells that are there, so that a topic without some shards still counts.
    averages_splits, combines_splits : bool
        Whether estimates of single splits can be averaged, and decisions on them combined.
    symmetric : bool
        Whether its distribution is symmetric and the statistic has the sign of the mean, so that one side can be asked.
    papers : tuple of (correction, tag)
        Tags of the papers that use it, for its default claim.
    resamples : tuple of int
        Resamples by default, those of very many systems, and how many systems are very many.
    model : object
        The analysis-of-variance model whose error term decides, where one does.
    posterior : callable, optional
        Function of tables, names of systems and a claim: the posterior distribution of differences, or None.
    """

    name: str
    title: str
    means: Callable[[Tables, Claim], Means]
    layouts_by_claim: tuple[tuple[Claim, tuple[Dims, ...]], ...] = ((TOPICS, (TABLE,)),)
    pairs: Callable[[Tables, Claim, Ints, Ints], Pairs] | None = None
    text: str = ""
    citations: tuple[str, ...] = ()
    describe: Callable[[str, Claim, int], Clause] | None = None
    reason: str = ""
    equation: str = ""
    limits: str = ""
    bibliography: str = ""
    joint: bool = False
    jointless: tuple[Claim, ...] = ()
    stepwise: bool = True
    simultaneous: tuple[str, ...] = ()
    default_correction: str | None = None
    sound: bool = True
    warned: bool = False
    common_error: bool = False
    shrinks: bool = False
    drawn: bool = False
    normal: bool = True
    needs_all: bool = False
    takes_gaps: bool = False
    gapless: tuple[Claim, ...] = ()
    takes_common_gaps: bool = False
    uses_people: bool = False
    uses_votes: bool = False
    of_ranks: bool = False
    of_items: bool = False
    takes_single_items: bool = False
    repeats_kind: str = ""
    fits_cells: bool = False
    averages_splits: bool = True
    combines_splits: bool = False
    symmetric: bool = False
    papers: tuple[tuple[str, str], ...] = ()
    resamples: tuple[int, int, int] = (10_000, 10_000, 0)
    model: Any = None
    posterior: Callable[[Tables, tuple[str, ...], Claim], Any] | None = None

    def __post_init__(self) -> None:
        if not self.reason:
            object.__setattr__(self, "reason", self.text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Method) and (self.name, self.title) == (other.name, other.title)

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The claims that it supports, the default one first."""
        return tuple(claim for claim, _ in self.layouts_by_claim)

    @property
    def default_claim(self) -> Claim:
        """The claim that is meant where none is named."""
        return self.layouts_by_claim[0][0]

    @property
    def layouts(self) -> tuple[Dims, ...]:
        """The layouts of tables that it takes for any of its claims."""
        return tuple(dict.fromkeys(dims for _, layouts in self.layouts_by_claim for dims in layouts))

    @property
    def corrections(self) -> tuple[str, ...]:
        """The corrections that can follow; an empty one for tests corrected by construction."""
        by_t = tuple(name for name in SIMULTANEOUS if name in self.simultaneous)
        return ((JOINT,) if self.joint else ()) + by_t + (tuple(STEPWISE) if self.stepwise else ())

    @property
    def formula(self) -> str:
        """How a pair is tested, as a formula for the docs."""
        return self.equation.replace("{d0}", f"{get_prior_df():g}")

    @property
    def bounded_statistic(self) -> bool:
        """Whether no pair's own variance alone can make its statistic explode, so that a calibrated level holds."""
        return self.common_error or self.shrinks

    def layouts_for(self, claim: Claim) -> tuple[Dims, ...]:
        """Return the layouts of tables that can support a claim.

        Parameters
        ----------
        claim : Claim
            What is generalised over.

        Returns
        -------
        tuple
            Dimensions of each.
        """
        return dict(self.layouts_by_claim).get(claim, ())

    def corrections_for(self, claim: Claim) -> tuple[str, ...]:
        """Return the corrections that can follow for a claim.

        Parameters
        ----------
        claim : Claim
            What is generalised over.

        Returns
        -------
        tuple of str
            Their names.
        """
        return tuple(name for name in self.corrections if name != JOINT or claim not in self.jointless)

    def split_rules(self, correction: str, claim: Claim) -> tuple[str, ...]:
        """Return the rules that make one answer of several splits; none where all are taken at once.

        Parameters
        ----------
        correction : str
            Name of the correction, empty for one by construction.
        claim : Claim
            What is generalised over.

        Returns
        -------
        tuple of str
            Their names.
        """
        layouts, rules = self.layouts_for(claim), []
        if self.averages_splits and SHARDS in layouts and SPLITS not in layouts and correction != JOINT:
            rules.append("mean")
        if self.combines_splits and correction in WITHIN_SPLITS:
            rules += ["first", "unanimous", "majority"]
        if self.combines_splits and correction in AFTER_SPLITS:
            rules += ["harmonic", "cauchy", "quantile"]
        return tuple(rules)

    def takes_gaps_for(self, claim: Claim) -> bool:
        """Return whether scores may be missing for a claim.

        Parameters
        ----------
        claim : Claim
            What is generalised over.

        Returns
        -------
        bool
            True where they may.
        """
        return self.takes_gaps and claim not in self.gapless

    def draws(self, correction: str) -> bool:
        """Return whether p-values come from resamples.

        Parameters
        ----------
        correction : str
            Name of the correction, empty for one by construction.

        Returns
        -------
        bool
            True where they do.
        """
        return self.drawn and (correction == JOINT or not self.joint)

    def default_resamples(self, systems: int) -> int:
        """Return how many resamples are drawn where no number is asked for.

        Parameters
        ----------
        systems : int
            Number of systems.

        Returns
        -------
        int
            The number.
        """
        some, fewer, many = self.resamples
        return some if systems <= many else fewer

    def clause(self, correction: str, claim: Claim, systems: int) -> Clause:
        """Say what pairs of so many systems are compared with, before any correction for their number.

        Parameters
        ----------
        correction : str
            Name of the correction, empty for one by construction.
        claim : Claim
            What is generalised over.
        systems : int
            Number of systems.

        Returns
        -------
        Clause
            Words and citations.
        """
        return (
            Clause(self.text, self.citations)
            if self.describe is None
            else self.describe(correction, claim, systems)
        )


def read_methods(
    family: str,
    pairs: Mapping[str, Callable[..., Pairs]],
    own_means: Mapping[str, Callable[..., Means]] | None = None,
    *,
    means: Callable[..., Means],
    **functions: Mapping[str, Callable[..., Any]],
) -> tuple[Method, ...]:
    """Return the methods of a family: the facts of its `methods.toml`, with their functions by the name of each."""
    rows = read_table(f"{family}/methods")
    usual = rows.pop("usual", {})
    methods = []
    for name, own in rows.items():
        facts = usual | own
        layouts = []
        for claim, words in facts.pop("claims").items():
            of_claim = LAYOUTS if words == "all" else tuple(LAYOUT_NAMES[word] for word in words.split())
            layouts.append((Claim.of(claim), of_claim))
        for key in ("jointless", "gapless"):
            facts[key] = tuple(map(Claim.of, facts.get(key, ())))
        facts["papers"] = tuple(facts.get("papers", {}).items())
        facts |= {"layouts_by_claim": tuple(layouts), "means": (own_means or {}).get(name, means)}
        facts |= {key: known[name] for key, known in functions.items() if name in known}
        methods.append(Method(name=name, pairs=pairs.get(name), **facts))
    return tuple(methods)
