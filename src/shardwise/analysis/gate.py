"""May the new system replace the one in use? Better, no worse, worse, or inconclusive; at once or batch by batch."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from shardwise.analysis.slices import label_items
from shardwise.comparing.compare import compare
from shardwise.comparing.comparisons import Comparisons
from shardwise.core import late
from shardwise.core.arguments import validate_choice, validate_level
from shardwise.core.arrays import Ints
from shardwise.core.errors import InputError, Option
from shardwise.core.libraries import pd
from shardwise.core.measure import DECLARED
from shardwise.core.scores import TASK, Scores, as_scores, is_labelled, join_systems
from shardwise.core.shown import Shown
from shardwise.io.atomic import write_atomically
from shardwise.io.natural_order import natural_order
from shardwise.methods.repeats.unified import infer_repeats
from shardwise.methods.tables import bound_scores
from shardwise.planning.design import topics_for_margin
from shardwise.stats import intervals
from shardwise.stats.intervals import BoundedScores, Range, follow_test
from shardwise.stats.sequential import SequentialState, update_state
from shardwise.stats.slices import FEWEST_ITEMS
from shardwise.stats.student import student_critical

PASSING = ("better", "no worse")
MOST_TOPICS = 1e7
"""Numbers of items beyond these are not worth printing."""


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """What is asked of new systems by one measure.

    The scores know the measure, its direction and the items.
    """

    scores: Scores
    margin: float = 0.01
    alpha: float = 0.05
    power: float = 0.8
    repeats: str | None = None
    no_rare_failures: bool = False
    # among which alpha is divided
    candidates: int = 1
    # of which the scores are; empty for all items
    slice: str = ""

    def __post_init__(self) -> None:
        """Refuse a margin below 0, and levels that are none."""
        if not (np.isfinite(self.margin) and self.margin >= 0.0):
            raise InputError(
                f"a margin of {self.margin} cannot be met", remedy="give 0 or more", argument="margin"
            )
        validate_level(self.alpha)
        validate_level(self.power, "power")

    @property
    def share(self) -> float:
        """The level of one candidate."""
        return self.alpha / self.candidates

    @property
    def measure(self) -> str:
        """Name of the measure."""
        return self.scores.measure.name


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Gate(Shown):
    """Verdict on one new system against the one in use, given a margin that does not matter.

    "better": significantly better by the default test. "no worse": the loss is below the margin, by a one-sided test at
    alpha/2, that is, by the interval of the difference. "worse": significantly worse, and not within the margin. Else
    "inconclusive". Each of the first three is wrong with probability alpha/2 at most.

    p and the interval are those of the verdict: the two-sided test of 0 and its interval for "better" and "worse", the
    one-sided test of a loss of the margin and its interval for "no worse" and "inconclusive". A system passes where its
    interval lies above a loss of the margin, and only there: a loss that is not excluded is in the interval.
    """

    verdict: str
    base: str
    new: str
    measure: str
    mean_base: float
    mean_new: float
    # new - base, below 0 where new is better and lower scores are
    difference: float
    lower: float
    upper: float
    p: float
    margin: float
    alpha: float
    power: float
    items: int
    # items that would show equal systems to be no worse; infinite where no number would, None unless inconclusive
    needed: float | None
    # the same in clusters, where items come in clusters
    needed_clusters: float | None
    # what repeats were taken for: "seeds", "samples" or nothing
    repeats: str
    # the user's words for an item and for a repeat
    noun: str
    instance: str
    claim: str
    procedure: str
    # whether the test of 0 found a difference
    significant: bool
    # whether the loss was tested by Student's t, as if no failure were rarer or larger than those seen
    assumes_seen: bool = False
    # whether Student's t would show "no worse" where the score test, which allows for rare failures, does not
    passes_as_seen: bool = False
    # whether all scores of both systems are one value, so that no loss could have shown
    uninformative: bool = False
    # systems that are tried against the same base
    candidates: int = 1
    # empty for all items
    slice: str = ""
    lower_is_better: bool = False

    @property
    def passes(self) -> bool:
        """Whether the new system is better or no worse; on a slice, whether it is not worse."""
        return self.verdict in PASSING or (bool(self.slice) and self.verdict != "worse")

    @property
    def error_rate(self) -> float:
        """Probability with which the verdict may be wrong; NaN of "inconclusive"."""
        return float("nan") if self.verdict == "inconclusive" else self.alpha / 2.0

    def to_frame(self) -> pd.DataFrame:
        """Return all figures as one row.

        Returns
        -------
        DataFrame
            One row.
        """

        names = ("base", "new", "mean_base", "mean_new", "difference", "lower", "upper", "p", "verdict",
                 "error_rate", "items")  # fmt: skip
        needed = float("nan") if self.needed is None or self.needed > MOST_TOPICS else int(self.needed)
        return pd.DataFrame([{name: getattr(self, name) for name in names} | {"needed": needed}])

    def to_dict(self) -> dict[str, float]:
        """Return the figures as one flat dictionary, for trackers.

        Returns
        -------
        dict of str to float
            Keys such as ``difference/new``.
        """
        figures: dict[str, float] = late.call_bound("flat_figures", self)
        return figures

    def to_sentence(self) -> str:
        """Return what may be said, in one or two sentences.

        Returns
        -------
        str
            The verdict, and what would help where there is none.
        """
        text: str = late.call_bound("gate_sentence", self)
        return text

    def __repr__(self) -> str:
        return f"<Gate: {self.verdict}; {self}>"

    def __str__(self) -> str:
        text: str = late.call_bound("gate_text", self)
        return text


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Gates(Shown):
    """Verdicts that must all pass: on several new systems, by several measures, or on slices of the items.

    Each measure is tested at the full level, new systems and slices at that of one gate together.
    """

    each: tuple[Gate, ...]
    # columns that make the slices, and slices with too few items
    by: tuple[str, ...] = ()
    untested: tuple[str, ...] = ()

    @property
    def passes(self) -> bool:
        """Whether every requirement is met."""
        return all(gate.passes for gate in self.each)

    def to_frame(self) -> pd.DataFrame:
        """Return all figures, one row a requirement.

        Returns
        -------
        DataFrame
            As of `Gate.to_frame`; with several measures or slices `measure`, `slice` and `passes` before them.
        """
        figures = pd.concat([gate.to_frame() for gate in self.each], ignore_index=True)
        names = ["measure", *(["slice"] if self.by else []), "passes"]
        if not self.by and len({gate.measure for gate in self.each}) == 1:
            return figures
        named = pd.DataFrame([{name: getattr(gate, name) for name in names} for gate in self.each])
        return pd.concat([named, figures], axis=1)

    def __repr__(self) -> str:
        return f"<Gates of {len(self.each)}: {', '.join(gate.verdict for gate in self.each)}>"

    def __str__(self) -> str:
        text: str = late.call_bound("gates_text", self)
        return text


def gate(
    baseline: Any,
    new: Any,
    *,
    margin: float | Mapping[str, float] = 0.01,
    scores: Any = None,
    power: float = 0.8,
    alpha: float = 0.05,
    repeats: str | None = None,
    range: tuple[float, float] | None = None,
    lower_is_better: bool | None = None,
    no_rare_failures: bool | str | Sequence[str] = False,
    comparisons: Comparisons | None = None,
    by: str | Sequence[str] = (),
    ledger: str | os.PathLike[str] | None = None,
    reveal: bool = False,
    candidates: int | None = None,
    base_of: str | os.PathLike[str] | None = None,
) -> Any:
    """Say whether a system may replace another: better, no worse, worse, or inconclusive.

    "Better" and "worse" are the default method's test of the two systems. "No worse" is a one-sided test at alpha/2 of
    a loss of the margin, for bounded scores by a score test that does not take failures not seen for impossible
    (Tango 1998, generalised), for others by Student's t; clusters, tasks, samples and seeds count as in `compare`.

    Parameters
    ----------
    baseline, new : scores or str
        Scores of the system in use and of the one that may replace it, in any form that `as_scores` takes or as one
        score an item, such as ``{item: score}``; with ``scores``, their names there. Several names, or scores of
        several new systems, are tried at alpha divided by their number.
    margin : float or mapping of str to float
        The largest loss that does not matter, above 0; of several measures by name, all of which must pass, each at
        alpha (intersection–union).
    scores : scores, optional
        Scores that hold all systems.
    power : float
        Probability with which equal systems should be found to be no worse, for the number of items needed.
    alpha : float
        One less the level of the interval.
    repeats : str, optional
        "seeds" or "samples"; without it by what the repeats are called (seed, run; epoch, sample, generation).
    range : (float, float), optional
        Lowest and highest score there can be; without it by the scores, as for `as_scores`.
    lower_is_better : bool, optional
        Whether lower scores are better; without it by the measure's name.
    no_rare_failures : bool, str or sequence of str
        Whether failures rarer or larger than those seen are impossible, or the measures by which they are: the loss is
        then tested by Student's t, which has more power on scores that vary little.
    comparisons : Comparisons, optional
        Comparisons of the systems with the baseline by another method, to judge by its standard errors in place of the
        default method's.
    by : str or sequence of str
        Labels of items, one column or two to be crossed: on no slice may the new system be significantly worse and
        lose more than the margin, at alpha divided by the number of slices and measures.
    ledger : path, optional
        A file that records all candidates tried on these items, one after another: the probability of ever passing
        one that is not better (with a margin above 0: that loses the margin or more) is at most alpha/2 for all of them
        together, however they were made, if only verdicts are seen. Then the verdict is "pass" or "fail", a
        margin of 0 is allowed, and None as the baseline means the last accepted candidate.
    reveal : bool
        With a ledger, whether to show difference, interval and p, and to record that.
    candidates : int, optional
        With a ledger, how many candidates there will be, declared with the first one.
    base_of : path, optional
        With a ledger, an earlier one on other items that it refers to, or "ledger" for the base of this one.

    Returns
    -------
    Gate, Gates or LedgerGate
        `Gates` for several new systems, measures or slices, `LedgerGate` with a ledger.

    >>> old = np.linspace(0.2, 0.8, 300)
    >>> found = gate(old, old + 0.05 * np.sin(np.arange(300)), margin=0.02)
    >>> found.verdict, found.needed
    ('no worse', None)
    >>> ten_right = np.ones(10)
    >>> gate(ten_right, ten_right).verdict
    'inconclusive'
    """
    declared = [no_rare_failures] if isinstance(no_rare_failures, str) else no_rare_failures
    every = None if isinstance(declared, bool) else tuple(declared)
    questions = []
    for measure, loss in (margin if isinstance(margin, Mapping) else {None: margin}).items():
        table, base_name, names = arrange_systems(baseline, new, scores, measure)
        table = table.declare(range=range, lower_is_better=lower_is_better)
        seen = no_rare_failures if every is None else table.measure.name in every
        questions.append(Question(table, loss, alpha, power, repeats, bool(seen)))
    asked = [question.measure for question in questions]
    for name in every or ():
        validate_choice(name, "no_rare_failures", asked)
    columns = (by,) if isinstance(by, str) else tuple(by)
    if ledger is not None:
        # it builds on this module
        from shardwise.analysis.ledger import gate_by_ledger

        return gate_by_ledger(
            base_name,
            names,
            questions,
            ledger,
            by=columns,
            reveal=reveal,
            candidates=candidates,
            base_of=base_of,
        )
    if reveal or candidates is not None or base_of is not None:
        raise InputError(
            "reveal, candidates and base_of have no effect without a ledger", remedy="name a ledger"
        )
    return judge_systems(base_name, names, questions, by=columns, comparisons=comparisons)


def judge_systems(
    base: str,
    new: Sequence[str],
    questions: Sequence[Question],
    *,
    by: Sequence[str] = (),
    comparisons: Comparisons | None = None,
) -> Gate | Gates:
    """Judge new systems by one measure or several, and by each on slices of the items.

    Parameters
    ----------
    base : str
        The system in use.
    new : sequence of str
        The new systems.
    questions : sequence of Question
        One a measure.
    by : sequence of str
        Columns that make the slices.
    comparisons : Comparisons, optional
        By another method, for one measure.

    Returns
    -------
    Gate or Gates
        `Gates` where there are several requirements.
    """
    each: list[Gate] = []
    untested: list[str] = []
    columns: tuple[str, ...] = ()
    for question in questions:
        if question.margin == 0.0:
            raise InputError(
                "a margin of 0.0 cannot be met", remedy="give a small positive number", argument="margin"
            )
        asked = replace(question, candidates=len(new))
        each += [_judge_candidate(asked, base, name, comparisons) for name in new]
        if not by:
            continue
        columns, slices, few = split_items(question.scores, by)
        untested += few
        level = question.alpha / max(len(slices) * len(questions), 1)
        part = replace(question.scores, slices={}, tasks=None if TASK in columns else question.scores.tasks)
        for label, items in slices.items():
            asked = replace(asked, scores=part.select(topic=items), alpha=level, slice=label)
            try:
                each += [_judge_candidate(asked, base, name, None) for name in new]
            except InputError:
                # gaps leave too little
                untested.append(label)
    if len(each) == 1 and not by:
        return each[0]
    return Gates(tuple(each), columns, tuple(dict.fromkeys(untested)))


def split_items(scores: Scores, by: Sequence[str]) -> tuple[tuple[str, ...], dict[str, Ints], list[str]]:
    """Return the columns that make the slices, the places of the items of each slice, and slices with too few."""
    columns, labels = label_items(scores, by)
    names = list(dict.fromkeys(labels))
    every = {names[k]: np.flatnonzero(np.array(labels) == names[k]) for k in natural_order(names).tolist()}
    tested = {name: items for name, items in every.items() if items.size >= FEWEST_ITEMS}
    return columns, tested, [name for name in every if name not in tested]


def arrange_systems(
    base: Any, new: Any, scores: Any, measure: str | None = None
) -> tuple[Scores, Any, tuple[str, ...]]:
    """Put the base and all candidates into one table.

    Parameters
    ----------
    base, new, scores
        As for `gate`; no base for candidates alone.
    measure : str, optional
        Which measure to take, where there are several.

    Returns
    -------
    tuple
        The scores, the name of the base, and those of the candidates.
    """
    if scores is None:
        second = _single_systems(new, "new", measure)
        if base is None:
            return second, None, second.systems
        first = _single_systems(base, "base", measure)
        if first.sizes["system"] != 1:
            raise InputError(
                f"base has {first.sizes['system']} systems", remedy="give the scores of one system"
            )
        table, _ = side_by_side(first, second, ("base", "new"))
        names = table.systems
        return table, names[0], names[1:]
    table = as_scores(scores, measure=measure)
    wanted = (new,) if isinstance(new, str) else tuple(new)
    table.select_systems((*wanted, *([] if base is None else [base])))
    if base in wanted:
        raise InputError(f"{base!r} is compared with itself", remedy="name two systems")
    return table, base, wanted


def _single_systems(data: Any, name: str, measure: str | None) -> Scores:
    """Scores of one system or several; one score an item will do."""
    if isinstance(data, Mapping) and all(
        isinstance(score, int | float | np.number) for score in data.values()
    ):
        # one score an item
        data = pd.Series(data)
    if type(data).__name__ == "Series" and data.index.is_unique:
        # not read as a table: any name is a system's, and items without names are numbered as those of an array
        called = name if data.name is None else str(data.name)
        counted = as_scores(data.to_numpy(np.float64)[:, None])
        return replace(counted, labels={"topic": tuple(map(str, data.index)), "system": (called,)})
    if type(data).__name__ == "Series":
        data = data.to_frame(name if data.name is None else str(data.name))
    elif isinstance(data, np.ndarray | list | tuple) and np.ndim(data) == 1:
        values = np.asarray(data, np.float64)[:, None]
        counted = as_scores(values)
        return replace(counted, labels={**counted.labels, "system": (name,)})
    elif is_labelled(data) and "system" not in data.dims and getattr(data, "ndim", 0) == 1:
        data = data.expand_dims(system=[name], axis=1)
    return as_scores(data, measure=measure)


def _judge_candidate(question: Question, base: str, new: str, comparisons: Comparisons | None) -> Gate:
    """The verdict on one candidate, at alpha divided by their number."""
    two = question.scores.select_systems((new, base))
    seeded = "instance" in two.dims
    kind = (question.repeats or infer_repeats(two)) if seeded else ""
    # the default method's test: difference, standard error and degrees of freedom for this layout
    pairs = compare(two, baseline=base, repeats=kind or None) if comparisons is None else comparisons
    share, margin = question.share, question.margin
    labels = pairs.estimates.labels
    compared = [(labels[a], labels[b]) for a, b in zip(pairs.ia, pairs.ib, strict=True)]
    turned = (new, base) not in compared  # the difference is base - new
    pair = compared.index((base, new) if turned else (new, base))
    every = pairs.weigh_differences(np.full(len(pairs), turned))
    if not (np.isfinite(every.se[pair]) and np.isfinite(every.df[pair])):
        raise InputError(
            f"{pairs.title} has no standard errors, which a margin needs", remedy="choose another method"
        )
    as_seen = every._replace(moments=None)
    evidence = as_seen if question.no_rare_failures else every
    # a correction for several candidates is made by their share of alpha
    p_default = float(pairs.p[pair] if comparisons else pairs.p_adjusted[pair])
    difference = float(every.estimate[pair])
    p_loss, p_as_seen = (float(known.p_gain(-margin)[pair]) for known in (evidence, as_seen))
    significant = p_default <= share
    if significant and every.sign * difference > 0.0:
        verdict = "better"
    elif p_loss <= share / 2.0:
        verdict = "no worse"
    else:
        verdict = "worse" if significant else "inconclusive"
    # p and interval are those of the verdict
    of_margin = verdict in ("no worse", "inconclusive")
    limits = of_loss = evidence.limits(student_critical(share, evidence.df))
    if of_margin:
        limits = follow_test(limits, every.estimate, np.full(len(pairs), significant))
    else:
        limits = pairs.limits(alpha=share)
        limits = (-limits[1], -limits[0]) if turned else limits
    lower, upper = (float(limit[pair]) for limit in limits)
    uninformative = bool(evidence.uninformative[pair])
    # a loss that is not excluded is in the interval; where none could have shown, no gain could either
    if verdict not in PASSING and (lower if every.sign > 0 else -upper) > -margin:
        worst = float(of_loss[0 if every.sign > 0 else 1][pair])
        held = (lower, upper, worst, -every.sign * margin, every.sign * margin if uninformative else worst)
        lower, upper = min(held), max(held)
    inconclusive = verdict == "inconclusive"
    items, needed, clusters = two.sizes["topic"], None, None
    if inconclusive and comparisons is None and not uninformative:
        known = pairs.estimates.bounded if evidence.in_range[pair] else None
        bounded = None if known is None else known.select_systems((new, base))
        needed = _count_needed(two, bounded, kind, float(every.se[pair]), question)
        if needed is not None and np.isfinite(needed) and two.clusters is not None:
            clusters = np.ceil(needed * len(set(two.clusters)) / items)
    nouns = two.nouns
    values = dict(zip(pairs.estimates.labels, np.ravel(pairs.estimates.values), strict=True))
    return Gate(
        verdict, base, new, question.measure, float(values[base]), float(values[new]), difference,
        lower, upper, p_loss if of_margin else p_default, margin, question.alpha,
        question.power, items, needed, clusters, kind, nouns.get("topic", "topic"),
        nouns.get("instance", "instance"), pairs.claim, pairs.procedure, significant,
        assumes_seen=not bool(evidence.in_range[pair]),
        passes_as_seen=verdict not in PASSING and not uninformative and p_as_seen <= share / 2.0,
        uninformative=uninformative, candidates=question.candidates, slice=question.slice,
        lower_is_better=every.sign < 0,
    )  # fmt: skip


def _count_needed(
    scores: Scores, bounded: BoundedScores | None, kind: str, se: float, question: Question
) -> float:
    """Items that would show equal systems to be no worse, clusters, tasks and seeds counted."""
    margin, alpha, power = question.margin, question.share, question.power
    if scores.unpaired:
        # The variance of a difference falls as the users of both systems grow in proportion.
        items = scores.sizes["topic"]
        return topics_for_margin(items * se**2, margin, fixed=0.0, alpha=alpha, power=power)
    y = scores.mean(*scores.others).values
    gaps = (y[:, 0] - y[:, 1])[np.isfinite(y).all(axis=1)]
    items = len(gaps)
    alone = float(np.var(gaps, ddof=1)) / items
    # seeds add what items do not lessen; clusters and tasks multiply what they do
    fixed = max(se**2 - alone, 0.0) if kind == "seeds" else 0.0
    if bounded is None:
        known = alone > 0.0 and kind != "seeds"
        single = topics_for_margin(items * alone, margin, fixed=fixed, alpha=alpha, power=power)
        return float(np.ceil(max(1.0, se**2 / alone) * single)) if known else single
    width = bounded.bounds.width
    both = np.array([0]), np.array([1])
    moments = bounded.sum_pairs(*both)
    effect = moments.items / bounded.count_pairs(*both, moments)
    needed = intervals.items_needed(
        moments, margin / width, alpha=alpha, power=power, design_effect=effect, fixed=fixed / width**2
    )
    return float(needed[0])


def side_by_side(base: Scores, new: Scores, names: tuple[str, str]) -> tuple[Scores, int]:
    """Join the scores of one system and of one or several others, on the topics that both tables have.

    Parameters
    ----------
    base, new : Scores
        Scores of one system each, or of several new ones, with or without instances.
    names : tuple of str
        What the two are called, where the tables do not tell them apart.

    Returns
    -------
    tuple of Scores and int
        The joined scores, base first, and how many topics are left out.
    """
    if base.sizes["system"] != 1:
        raise InputError(
            f"{names[0]} has {base.sizes['system']} systems, but a gate compares two",
            remedy=(
                "give tables of one system each, or one table with ",
                Option("baseline"),
                " and ",
                Option("new"),
            ),
        )
    own_names = [table.systems for table in (base, new)]
    if set(own_names[0]) & set(own_names[1]):
        own_names = [(names[0],), (names[1],) if len(own_names[1]) == 1 else own_names[1]]
    shared = set(new.topics)
    common = [name for name in base.topics if name in shared]
    if len(common) < 2:
        raise InputError("the two tables have no items in common", remedy="give scores on the same items")
    both = [
        replace(table, labels={**table.labels, "system": labels}).select(
            topic=[places[name] for name in common]
        )
        for table, labels in zip((base, new), own_names, strict=True)
        for places in [{name: k for k, name in enumerate(table.topics)}]
    ]
    joined = join_systems(*both)
    return joined, base.sizes["topic"] + new.sizes["topic"] - 2 * len(common)


FORMAT = "shardwise gate 1"
"""What a file of a sequential gate begins with."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SequentialGate(Shown):
    """A gate that may be asked after every batch of new items; its error rates hold for all looks together."""

    base: str
    new: str
    measure: str
    state: SequentialState
    # of the scores, as declared or assumed at the first look
    bounds: Range
    # digests of the names of the units that were counted
    seen: frozenset[str]
    # units of this look
    added: int
    noun: str

    @property
    def verdict(self) -> str:
        """One of "better", "no worse", "worse" and "continue"."""
        return self.state.verdict

    @property
    def alpha(self) -> float:
        """One less the level of the interval."""
        return self.state.alpha

    @property
    def margin(self) -> float:
        """The largest loss that does not matter, on the scale of the scores."""
        return self.state.margin * self.bounds.width

    @property
    def passes(self) -> bool:
        """Whether the new system was shown to be better or no worse at some look."""
        return self.verdict in PASSING

    def to_frame(self) -> pd.DataFrame:
        """Return all figures as one row.

        Returns
        -------
        DataFrame
            One row.
        """

        row: dict[str, Any] = {
            "base": self.base,
            "new": self.new,
            "verdict": self.verdict,
            "units": self.state.units,
        }
        row |= {"added": self.added, "threshold": self.state.threshold}
        for name, value in self.state.evidence.items():
            row[f"evidence_{name.replace(' ', '_')}"] = value
        return pd.DataFrame([row])

    def __repr__(self) -> str:
        return f"<SequentialGate: {self}>"

    def __str__(self) -> str:
        text: str = late.call_bound("sequential_gate_text", self)
        return text


def gate_sequentially(
    base: str, new: Sequence[str], question: Question, path: str | os.PathLike[str]
) -> SequentialGate:
    """Add new items to a gate that may be asked again and again, and keep its state in a small file.

    Items that were counted at an earlier look do not count again. Where items come in clusters, the mean of a cluster
    counts once, when it is first seen.

    Parameters
    ----------
    base : str
        The system in use.
    new : sequence of str
        One new system.
    question : Question
        The same at all looks; seeds are refused, as items are not independent given the seeds, and so are scores
        without a range.
    path : path
        JSON file of the state; made at the first look.

    Returns
    -------
    SequentialGate
        The verdict so far.
    """
    two = select_one(base, new, question, "a sequential gate")
    previous = _load_state(Path(path)) if Path(path).exists() else None
    if previous is not None:
        two = keep_range(two, previous.bounds)
    bounded = bound_scores(two)
    if bounded is None:
        raise InputError("a sequential gate needs bounded scores", remedy=("give ", Option("range")))
    scaled = question.margin / bounded.bounds.width
    if not 0.0 < scaled < 1.0:
        raise InputError(
            f"a margin of {question.margin} cannot be met", remedy="give a small positive number"
        )
    started = SequentialGate(
        base, new[0], question.measure, SequentialState(scaled, question.alpha), bounded.bounds, frozenset(), 0,
        two.nouns.get("topic", "topic"),
    )  # fmt: skip
    if previous is not None:
        # what is asked must not change between looks
        for name in ("base", "new", "measure", "bounds", "margin", "alpha"):
            before, after = (getattr(gate, name) for gate in (previous, started))
            if before != after:
                fact = "range" if name == "bounds" else name
                shown = [tuple(value) if name == "bounds" else value for value in (before, after)]
                raise InputError(
                    f"was begun with {fact} {shown[0]}, and now it is {shown[1]}",
                    where=str(path),
                    remedy="keep it, or name another file to begin anew",
                )
        started = previous
    # independent units: items, or clusters by their means
    gaps = bounded.scores[:, 0] - bounded.scores[:, 1]
    known = np.isfinite(gaps)
    units, gaps = ([str(name) for name in np.array(two.topics, dtype=object)[known]], gaps[known])
    if two.clusters is not None:
        labels, code = np.unique(two.clusters.astype(str)[known], return_inverse=True)
        units, gaps = [str(label) for label in labels], np.bincount(code, gaps) / np.bincount(code)
    digests = [hashlib.sha256(unit.encode()).hexdigest()[:16] for unit in units]
    fresh = np.array([digest not in started.seen for digest in digests], dtype=bool)
    state = replace(
        started,
        state=update_state(started.state, gaps[fresh]),
        seen=started.seen | set(digests),
        added=int(fresh.sum()),
    )
    content = {
        "format": FORMAT,
        **{name: getattr(state, name) for name in ("base", "new", "measure", "noun")},
        "range": list(state.bounds),
        "state": state.state.to_dict(),
        "seen": sorted(state.seen),
    }
    write_atomically(path, (json.dumps(content, indent=1) + "\n").encode())
    return state


def select_one(base: str | None, new: Sequence[str], question: Question, what: str) -> Scores:
    """Return the scores of one new system, and of the base behind it unless a ledger has them.

    Repeats may be samples, not seeds: items are not independent given the seeds.
    """
    if len(new) != 1:
        raise InputError(f"{what} tries one new system", remedy="give one at a time")
    chosen = question.scores.select_systems((*new, *([] if base is None else [base])))
    if "instance" in chosen.dims and (question.repeats or infer_repeats(chosen)) == "seeds":
        raise InputError(
            f"items are not independent given the seeds, so that {what} cannot count them",
            remedy=("use a gate on fixed items, or ", Option("repeats", "samples")),
        )
    return chosen


def keep_range(scores: Scores, bounds: Sequence[float]) -> Scores:
    """Return scores of the range that held before, unless another one is declared."""
    declared = scores.measure.range_from == DECLARED
    return scores if declared else scores.declare(range=bounds[:2])


def _load_state(path: Path) -> SequentialGate:
    """Load the state of the looks so far, or refuse with the name of the file."""
    try:
        saved: Mapping[str, Any] = json.loads(path.read_text("utf-8"))
        if saved["format"] != FORMAT:
            raise ValueError("another format")
        low, high, turned = saved["range"]
        return SequentialGate(
            str(saved["base"]), str(saved["new"]), str(saved["measure"]),
            SequentialState.from_dict(saved["state"]), Range(float(low), float(high), bool(turned)),
            frozenset(map(str, saved["seen"])), 0, str(saved["noun"]),
        )  # fmt: skip
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(
            "is not the state of a sequential gate",
            where=str(path),
            remedy="name another file, or remove it to begin anew",
        ) from None
