"""May the new system replace the one in use? Better, no worse, worse, or inconclusive; at once or batch by batch."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from shardwise.comparing.compare import compare
from shardwise.comparing.comparisons import Comparisons
from shardwise.core import late
from shardwise.core.arguments import validate_level
from shardwise.core.errors import InputError, Option
from shardwise.core.scores import (
    DETERMINISTIC,
    as_scores,
    declare_measure,
    is_unpaired,
    layout_of,
    level_names,
    nouns_of,
)
from shardwise.core.shown import Shown
from shardwise.io.atomic import write_atomically
from shardwise.methods.intervals import BoundedScores, bound_scores
from shardwise.methods.repeats.unified import infer_repeats
from shardwise.planning.design import topics_for_margin
from shardwise.stats import intervals
from shardwise.stats.evidence import follow_test
from shardwise.stats.intervals import Range
from shardwise.stats.sequential import SequentialState, update_state
from shardwise.stats.student import student_critical

PASSING = ("better", "no worse")
MOST_TOPICS = 1e7
"""Numbers of items beyond these are not worth printing."""


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
    # whether the test found a difference, whatever the margin
    significant: bool
    # whether the loss was tested by Student's t, as if no failure were rarer or larger than those seen
    assumes_seen: bool = False
    # whether Student's t would show "no worse" where the score test, which allows for rare failures, does not
    passes_as_seen: bool = False
    # whether all scores of both systems are one value, so that no loss could have shown
    uninformative: bool = False
    # systems that are tried against the same base
    candidates: int = 1

    @property
    def passes(self) -> bool:
        """Whether the new system is better or no worse."""
        return self.verdict in PASSING

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
    """Verdicts on several new systems; the error rates of all of them together are those of one gate."""

    each: tuple[Gate, ...]

    @property
    def passes(self) -> bool:
        """Whether every new system passes."""
        return all(gate.passes for gate in self.each)

    def to_frame(self) -> pd.DataFrame:
        """Return all figures, one row a new system.

        Returns
        -------
        DataFrame
            As of `Gate.to_frame`.
        """
        return pd.concat([gate.to_frame() for gate in self.each], ignore_index=True)

    def __repr__(self) -> str:
        return f"<Gates of {len(self.each)}: {', '.join(gate.verdict for gate in self.each)}>"

    def __str__(self) -> str:
        return "\n".join(map(str, self.each))


def gate(
    base: Any,
    new: Any,
    *,
    margin: float = 0.01,
    scores: Any = None,
    power: float = 0.8,
    alpha: float = 0.05,
    repeats: str | None = None,
    range: tuple[float, float] | None = None,
    lower_is_better: bool | None = None,
    no_rare_failures: bool = False,
    comparisons: Comparisons | None = None,
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
    base, new : scores or str
        Scores of the system in use and of the one that may replace it, in any form that `as_scores` takes or as one
        score an item; with ``scores``, their names there. Several names, or scores of several new systems, are
        tried at alpha divided by their number.
    margin : float
        The largest loss that does not matter, above 0.
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
    no_rare_failures : bool
        Whether failures rarer or larger than those seen are impossible: the loss is then tested by Student's t, which
        has more power on scores that vary little.
    comparisons : Comparisons, optional
        Comparisons of the systems with the base by another method, to judge by its standard errors in place of the
        default method's.
    ledger : path, optional
        A file that records all candidates tried on these items, one after another: the probability of ever passing
        one that is not better (with a margin above 0: that loses the margin or more) is at most alpha/2 for all of them
        together, whatever they were made from, if only verdicts are seen. Then the verdict is "pass" or "fail", a
        margin of 0 is allowed, and no base stands for the last accepted candidate.
    reveal : bool
        With a ledger, whether to show difference, interval and p, and to record that.
    candidates : int, optional
        With a ledger, how many candidates there will be, declared with the first one.
    base_of : path, optional
        With a ledger, an earlier one on other items that it refers to, or "ledger" for the base of this one.

    Returns
    -------
    Gate, Gates or LedgerGate
        `Gates` for several new systems, `LedgerGate` with a ledger.

    >>> old = np.linspace(0.2, 0.8, 300)
    >>> found = gate(old, old + 0.05 * np.sin(np.arange(300)), margin=0.02)
    >>> found.verdict, found.needed
    ('no worse', None)
    >>> ten_right = np.ones(10)
    >>> gate(ten_right, ten_right).verdict
    'inconclusive'
    """
    if ledger is not None:
        # it builds on this module
        from shardwise.analysis.ledger import gate_by_ledger

        return gate_by_ledger(
            base, new, ledger, margin=margin, scores=scores, power=power, alpha=alpha, repeats=repeats, range=range,
            lower_is_better=lower_is_better, reveal=reveal, candidates=candidates, base_of=base_of,
        )  # fmt: skip
    if reveal or candidates is not None or base_of is not None:
        raise InputError(
            "reveal, candidates and base_of have no effect without a ledger", remedy="name a ledger"
        )
    if not (np.isfinite(margin) and margin > 0.0):
        raise InputError(
            f"a margin of {margin} cannot be met", remedy="give a small positive number", argument="margin"
        )
    validate_level(alpha)
    validate_level(power, "power")
    table, base_name, names = arrange_systems(base, new, scores)
    table = declare_measure(table, range, lower_is_better)
    question = GateQuestion(margin, alpha, len(names), power, no_rare_failures)
    each = tuple(_judge_candidate(table, base_name, name, question, repeats, comparisons) for name in names)
    return each[0] if len(each) == 1 else Gates(each)


def arrange_systems(base: Any, new: Any, scores: Any) -> tuple[xr.DataArray, str, tuple[str, ...]]:
    """Put the base and all candidates into one table.

    Parameters
    ----------
    base, new, scores
        As for `gate`.

    Returns
    -------
    tuple
        The scores, the name of the base, and those of the candidates.
    """
    if scores is None:
        first, second = _single_systems(base, "base"), _single_systems(new, "new")
        if first.sizes["system"] != 1:
            raise InputError(
                f"base has {first.sizes['system']} systems",
                remedy="give the scores of one system",
            )
        table, _ = side_by_side(first, second, ("base", "new"))
        names = level_names(table, "system")
        return table, names[0], names[1:]
    table = as_scores(scores)
    names = level_names(table, "system")
    wanted = (new,) if isinstance(new, str) else tuple(new)
    for name in (base, *wanted):
        if name not in names:
            raise InputError(f"unknown system {name!r}", remedy=f"the systems are {', '.join(names[:5])}")
    if base in wanted:
        raise InputError(f"{base!r} is compared with itself", remedy="name two systems")
    return table, base, wanted


def _single_systems(data: Any, name: str) -> xr.DataArray:
    """Scores of one system or several; one score an item will do."""
    if isinstance(data, pd.Series) and data.index.is_unique:
        # not read as a table: any name is a system's, and items without names are numbered as those of an array
        called = name if data.name is None else str(data.name)
        coords = {"topic": list(map(str, data.index)), "system": [called]}
        data = xr.DataArray(data.to_numpy(np.float64)[:, None], dims=("topic", "system"), coords=coords)
    elif isinstance(data, pd.Series):
        data = data.to_frame(name if data.name is None else str(data.name))
    elif isinstance(data, np.ndarray | list | tuple) and np.ndim(data) == 1:
        data = xr.DataArray(
            np.asarray(data, np.float64)[:, None], dims=("topic", "system"), coords={"system": [name]}
        )
    elif isinstance(data, xr.DataArray) and "system" not in data.dims and data.ndim == 1:
        data = data.expand_dims(system=[name], axis=1)
    return as_scores(data)


class GateQuestion(NamedTuple):
    """What is asked of every candidate."""

    margin: float
    alpha: float
    candidates: int
    power: float
    no_rare_failures: bool

    @property
    def share(self) -> float:
        """The level of one candidate."""
        return self.alpha / self.candidates


def _judge_candidate(
    scores: xr.DataArray,
    base: str,
    new: str,
    question: GateQuestion,
    repeats: str | None,
    comparisons: Comparisons | None = None,
) -> Gate:
    """The verdict on one candidate, at alpha divided by their number."""
    names = level_names(scores, "system")
    two = scores.isel(system=[names.index(new), names.index(base)])
    seeded = "instance" in layout_of(two)
    kind = (repeats or infer_repeats(two)) if seeded else ""
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
        if needed is not None and np.isfinite(needed) and "cluster" in two.coords:
            clusters = np.ceil(needed * len(np.unique(two["cluster"].values)) / items)
    nouns = nouns_of(two)
    values = dict(zip(pairs.estimates.labels, np.ravel(pairs.estimates.values), strict=True))
    return Gate(
        verdict, base, new, str(scores.name or "score"), float(values[base]), float(values[new]), difference,
        lower, upper, p_loss if of_margin else p_default, margin, question.alpha,
        question.power, items, needed, clusters, kind, nouns.get("topic", "topic"),
        nouns.get("instance", "instance"), pairs.claim, pairs.procedure, significant,
        assumes_seen=not bool(evidence.in_range[pair]),
        passes_as_seen=verdict not in PASSING and not uninformative and p_as_seen <= share / 2.0,
        uninformative=uninformative, candidates=question.candidates,
    )  # fmt: skip


def _count_needed(
    scores: xr.DataArray, bounded: BoundedScores | None, kind: str, se: float, question: GateQuestion
) -> float:
    """Items that would show equal systems to be no worse, clusters, tasks and seeds counted."""
    margin, alpha, power = question.margin, question.share, question.power
    if is_unpaired(scores):
        # The variance of a difference falls as the users of both systems grow in proportion.
        items = scores.sizes["topic"]
        return topics_for_margin(items * se**2, margin, fixed=0.0, alpha=alpha, power=power)
    others = [name for name in scores.dims if name not in ("topic", "system")]
    means = scores.mean(others, skipna=True) if others else scores
    y = means.transpose("topic", "system").to_numpy()
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


def side_by_side(base: xr.DataArray, new: xr.DataArray, names: tuple[str, str]) -> tuple[xr.DataArray, int]:
    """Join the scores of one system and of one or several others, on the topics that both tables have.

    Parameters
    ----------
    base, new : DataArray
        Scores of one system each, or of several new ones, with or without instances.
    names : tuple of str
        What the two are called, where the tables do not tell them apart.

    Returns
    -------
    tuple of DataArray and int
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
    own_names = [level_names(table, "system") for table in (base, new)]
    if set(own_names[0]) & set(own_names[1]):
        own_names = [(names[0],), (names[1],) if len(own_names[1]) == 1 else own_names[1]]
    seeds = any("instance" in table.dims for table in (base, new))
    both = []
    for table, labels in zip((base, new), own_names, strict=True):
        named = table.assign_coords(system=list(labels), topic=list(level_names(table, "topic")))
        if seeds:
            fixed = "instance" not in named.dims
            named = named.expand_dims("instance") if fixed else named
            numbers = list(np.arange(named.sizes["instance"]))
            named = named.assign_coords(
                {"instance": numbers, DETERMINISTIC: ("system", [fixed] * len(labels))}
            )
        both.append(named)
    first, second = both
    shared = set(second["topic"].values)
    common = [name for name in first["topic"].values if name in shared]
    if len(common) < 2:
        raise InputError("the two tables have no items in common", remedy="give scores on the same items")
    joined = xr.concat(
        [table.sel(topic=common) for table in both],
        dim="system",
        join="outer",
        combine_attrs="override",
        coords="minimal",
        compat="override",
    )
    dropped = first.sizes["topic"] + second.sizes["topic"] - 2 * len(common)
    return joined.rename(first.name or "score").assign_attrs(second.attrs | first.attrs), dropped


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

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state, for the next look.

        Parameters
        ----------
        path : path
            A JSON file.
        """
        content = {
            "format": FORMAT,
            **{name: getattr(self, name) for name in ("base", "new", "measure", "noun")},
            "range": list(self.bounds),
            "state": self.state.to_dict(),
            "seen": sorted(self.seen),
        }
        write_atomically(path, (json.dumps(content, indent=1) + "\n").encode())

    def __repr__(self) -> str:
        return f"<SequentialGate: {self}>"

    def __str__(self) -> str:
        text: str = late.call_bound("sequential_gate_text", self)
        return text


def gate_sequentially(
    base: Any,
    new: Any,
    path: str | os.PathLike[str],
    *,
    margin: float = 0.01,
    scores: Any = None,
    alpha: float = 0.05,
    repeats: str | None = None,
    range: tuple[float, float] | None = None,
    lower_is_better: bool | None = None,
) -> SequentialGate:
    """Add new items to a gate that may be asked again and again, and keep its state in a small file.

    Items that were counted at an earlier look do not count again. Where items come in clusters, the mean of a cluster
    counts once, when it is first seen.

    Parameters
    ----------
    base, new, scores, alpha, lower_is_better
        As for `gate`; one new system.
    path : path
        JSON file of the state; made at the first look.
    margin : float
        The largest loss that does not matter; the same at all looks.
    repeats : str, optional
        "samples"; seeds are refused, as items are not independent given the seeds.
    range : (float, float), optional
        As for `gate`; scores without known bounds are refused.

    Returns
    -------
    SequentialGate
        The verdict so far.
    """
    two = select_one(base, new, scores, repeats, "a sequential gate")
    previous = _load_state(Path(path)) if Path(path).exists() else None
    if previous is not None and range is None:
        range = (previous.bounds.low, previous.bounds.high)
    base_name, new_name = reversed(level_names(two, "system"))
    bounded = bound_scores(declare_measure(two, range, lower_is_better))
    if bounded is None:
        raise InputError("a sequential gate needs bounded scores", remedy=("give ", Option("range")))
    scaled = margin / bounded.bounds.width
    if not 0.0 < scaled < 1.0:
        raise InputError(f"a margin of {margin} cannot be met", remedy="give a small positive number")
    started = SequentialGate(
        base_name, new_name, str(two.name or "score"), SequentialState(scaled, alpha), bounded.bounds, frozenset(), 0,
        nouns_of(two).get("topic", "topic"),
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
    units, gaps = (
        [str(name) for name in np.array(level_names(two, "topic"), dtype=object)[known]],
        gaps[known],
    )
    if bounded.cluster is not None:
        labels, code = np.unique(np.asarray(two["cluster"].values).astype(str)[known], return_inverse=True)
        units, gaps = [str(label) for label in labels], np.bincount(code, gaps) / np.bincount(code)
    digests = [hashlib.sha256(unit.encode()).hexdigest()[:16] for unit in units]
    fresh = np.array([digest not in started.seen for digest in digests], dtype=bool)
    state = replace(
        started,
        state=update_state(started.state, gaps[fresh]),
        seen=started.seen | set(digests),
        added=int(fresh.sum()),
    )
    state.save(path)
    return state


def select_one(base: Any, new: Any, scores: Any, repeats: str | None, what: str) -> xr.DataArray:
    """Return the scores of one new system and the base, in this order; without a base of the new one alone.

    Repeats may be samples, not seeds: items are not independent given the seeds.
    """
    if base is None:
        table = _single_systems(new, "new") if scores is None else as_scores(scores)
        candidates = (
            level_names(table, "system") if scores is None else (new,) if isinstance(new, str) else new
        )
        wanted = tuple(candidates)
    else:
        table, base_name, candidates = arrange_systems(base, new, scores)
        wanted = (*candidates, base_name)
    if len(candidates) != 1:
        raise InputError(f"{what} tries one new system", remedy="give one at a time")
    names = level_names(table, "system")
    if missing := set(wanted) - set(names):
        raise InputError(
            f"unknown system {missing.pop()!r}", remedy=f"the systems are {', '.join(names[:5])}"
        )
    chosen = table.isel(system=[names.index(name) for name in wanted])
    if "instance" in chosen.dims and (repeats or infer_repeats(chosen)) == "seeds":
        raise InputError(
            f"items are not independent given the seeds, so that {what} cannot count them",
            remedy=("use a gate on fixed items, or ", Option("repeats", "samples")),
        )
    return chosen


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
