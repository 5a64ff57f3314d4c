"""Where do systems differ? An answer broken down by labels of the items, such as their category."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shardwise.comparing.compare import run_procedure
from shardwise.comparing.comparisons import Comparisons
from shardwise.core import late
from shardwise.core.arrays import Floats
from shardwise.core.claim import pluralize_noun
from shardwise.core.errors import InputError, refuse_unknown
from shardwise.core.libraries import pd
from shardwise.core.scores import TASK, Scores, slices_of
from shardwise.core.shown import Shown
from shardwise.io.natural_order import natural_order
from shardwise.methods.names import Procedure
from shardwise.stats.corrections import holm
from shardwise.stats.intervals import follow_test
from shardwise.stats.slices import FEWEST_ITEMS, adjust_across, interaction_p

MOST_SLICES = 200
"""Slices that a table may have."""
MOST_PAIRS = 300
"""Pairs for which it is tested whether their difference depends on the slice."""
RESAMPLES = 1_999
BETWEEN, NONE = " × ", "(none)"
"""Between the labels of two columns, and what an item without a label is in."""
VERDICTS = {1: "better", -1: "worse", 0: "tied"}
"""What a system is against another, by the sign of a significant difference."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Slices(Shown):
    """Systems on each slice of the items: means, and pairs that form one family over all slices.

    ``means`` has `slice, items, system, mean, lower, upper, verdict`: intervals of single means, and whether a system
    is significantly better than the baseline or than all others, or worse than the baseline or than any. ``pairs`` has
    `slice, items, a, b, difference, lower, upper, p, p_adjusted, verdict`: corrected within a slice by the method, and
    by Holm's steps across slices; its intervals hold for all slices at once. ``interactions`` has `a, b, statistic, p`:
    whether the difference of a pair depends on the slice, for all pairs at once. Figures that slices with few items do
    not have are NaN.
    """

    by: tuple[str, ...]
    measure: str
    alpha: float
    decimals: int
    baselines: tuple[str, ...]
    systems: tuple[str, ...]
    lower_is_better: bool
    means: pd.DataFrame
    pairs: pd.DataFrame
    interactions: pd.DataFrame
    items_noun: str
    resolution: float = 0.0

    @property
    def name(self) -> str:
        """The columns in words: ``category × lang``."""
        return BETWEEN.join(self.by)

    @property
    def labels(self) -> tuple[str, ...]:
        """The slices in their order."""
        return tuple(dict.fromkeys(map(str, self.means["slice"])))

    @property
    def tested(self) -> tuple[str, ...]:
        """The slices in which pairs were tested."""
        return tuple(dict.fromkeys(map(str, self.pairs.loc[self.pairs["p_adjusted"].notna(), "slice"])))

    def to_frame(self) -> pd.DataFrame:
        """Return the means as one table.

        Returns
        -------
        DataFrame
            One row a slice and system.
        """
        return self.means

    def __str__(self) -> str:
        text: str = late.call_bound("slices_text", self)
        return text


def label_items(scores: Scores, by: Sequence[str]) -> tuple[tuple[str, ...], list[str]]:
    """Return the columns as they are called, and the slice of each item: labels of two columns are crossed.

    Parameters
    ----------
    scores : DataArray
        Scores that passed the gate, with labels along topic.
    by : sequence of str
        One column or two.

    Returns
    -------
    tuple
        Names, and labels.
    """
    known = slices_of(scores)
    called = {name.lower(): name for name in reversed(list(known))}
    columns = []
    for name in dict.fromkeys(by):
        if name not in known and name.lower() not in called:
            if not known:
                raise InputError(
                    f"items have no labels called {name!r}",
                    remedy="give a table with such a column",
                    argument="by",
                )
            raise refuse_unknown("by", name, known, what="label of items")
        columns.append(name if name in known else called[name.lower()])
    if len(columns) > 2:
        raise InputError(f"{len(columns)} columns cannot be crossed", remedy="name one or two", argument="by")
    parts = [[NONE if label in ("", "nan", "None") else label for label in known[name]] for name in columns]
    return tuple(columns), [BETWEEN.join(labels) for labels in zip(*parts, strict=True)]


def compare_slices(
    scores: Scores,
    whole: Comparisons,
    procedure: Procedure,
    by: str | Iterable[str],
    *,
    alpha: float,
    measure: str = "score",
    decimals: int = 3,
    baselines: Sequence[str] = (),
    run: Mapping[str, Any],
) -> Slices:
    """Compare the pairs of an answer on each slice of its items.

    Parameters
    ----------
    scores : DataArray
        Scores of items, with labels along topic.
    whole : Comparisons
        The pairs on all items.
    procedure : Procedure
        The method, which each slice is put to.
    by : str or iterable of str
        One column of labels or two, which are crossed.
    alpha : float
        Family-wise level over all slices and pairs.
    measure, decimals
        What the scores are, and digits after the point.
    baselines : sequence of str
        With which all others were compared.
    run : mapping
        Resamples and seed.

    Returns
    -------
    Slices
        Means, pairs and interactions.
    """
    columns, labels = label_items(scores, (by,) if isinstance(by, str) else tuple(by))
    names = list(dict.fromkeys(labels))
    names = [names[k] for k in natural_order(names).tolist()]
    if not 2 <= len(names) <= MOST_SLICES:
        raise InputError(
            f"{BETWEEN.join(columns)} has {len(names):,} different values",
            remedy=f"name a column with 2 to {MOST_SLICES}",
            argument="by",
        )
    code = np.array([names.index(label) for label in labels])
    asked = [
        (whole.estimates.labels[a], whole.estimates.labels[b])
        for a, b in zip(whole.ia, whole.ib, strict=True)
    ]
    # tasks that are the slices are no strata within one
    plain = replace(scores, slices={}, tasks=None if TASK in columns else scores.tasks)
    parts = [plain.select(topic=np.flatnonzero(code == k)) for k in range(len(names))]
    results = [_compare_slice(part, procedure, asked, run) for part in parts]
    shape = (len(names), len(asked))
    p = np.full(shape, np.nan)
    for k, result in enumerate(results):
        if result is not None:
            p[k] = result.p_adjusted if result.error_rate == "family" else holm(result.p)
    adjusted = adjust_across(p)
    tested = max(int((~np.isnan(p)).any(axis=1).sum()), 1)
    rows: list[dict[str, Any]] = []
    means: list[pd.DataFrame] = []
    for name, part, result, single, corrected in zip(names, parts, results, p, adjusted, strict=True):
        items = int((~np.isnan(part.topic_rows())).any(axis=(1, 2)).sum())
        rows += _list_pairs(
            name, items, part, asked, result, single, corrected, alpha, tested, whole.lower_is_better
        )
        means.append(_list_means(name, items, part, whole, result, alpha))
    pairs = pd.DataFrame(rows)
    table = pd.concat(means, ignore_index=True)
    table["verdict"] = _judge_systems(table, pairs, baselines)
    return Slices(
        by=columns,
        measure=measure,
        alpha=alpha,
        decimals=decimals,
        baselines=tuple(baselines),
        systems=whole.names,
        lower_is_better=whole.lower_is_better,
        means=table,
        pairs=pairs,
        interactions=_test_interactions(plain, code, asked, procedure, run),
        items_noun=pluralize_noun(scores.nouns.get("topic", "topic")),
        resolution=whole.resolution,
    )


def _compare_slice(
    part: Scores, procedure: Procedure, asked: list[tuple[str, str]], run: Mapping[str, Any]
) -> Comparisons | None:
    """Return the comparisons of the pairs on one slice; None where it has too few items to be tested."""
    if part.sizes["topic"] < FEWEST_ITEMS:
        return None
    how = {name: run[name] for name in ("n_resamples", "seed") if name in run}
    try:
        return run_procedure(procedure, part, only=asked, directed=True, **how)
    except InputError:
        # gaps leave too little, or a method needs more
        return None


def _list_pairs(
    name: str,
    items: int,
    part: Scores,
    asked: list[tuple[str, str]],
    result: Comparisons | None,
    single: Floats,
    corrected: Floats,
    alpha: float,
    tested: int,
    lower_is_better: bool,
) -> list[dict[str, Any]]:
    """Return the rows of the pairs of one slice."""
    if result is None:
        averages = dict(zip(part.systems, part.mean("topic", *part.others).values.tolist(), strict=True))
        gaps = np.array([averages[a] - averages[b] for a, b in asked])
        lower = upper = np.full(len(asked), np.nan)
        significant = np.zeros(len(asked), dtype=np.bool_)
    else:
        # pairs that are listed keep their order and direction
        significant, gaps = corrected <= alpha, result.difference
        lower, upper = follow_test(result.limits(alpha=alpha / tested), gaps, significant)
    signs = np.where(significant, np.sign(gaps) * (-1.0 if lower_is_better else 1.0), 0.0).astype(int)
    return [
        {
            "slice": name, "items": items, "a": a, "b": b, "difference": gaps[k], "lower": lower[k],
            "upper": upper[k], "p": single[k], "p_adjusted": corrected[k],
            "verdict": VERDICTS[int(signs[k])] if np.isfinite(corrected[k]) else "",
        }
        for k, (a, b) in enumerate(asked)
    ]  # fmt: skip


def _list_means(
    name: str, items: int, part: Scores, whole: Comparisons, result: Comparisons | None, alpha: float
) -> pd.DataFrame:
    """Return the means of the systems on one slice, with intervals where it was tested."""
    systems = list(whole.names)
    if result is None:
        averages = part.select_systems(systems).mean("topic", *part.others).values
        frame = pd.DataFrame({"mean": averages, "lower": np.nan, "upper": np.nan})
    else:
        frame = result.intervals(1.0 - alpha).loc[systems].rename(columns={"estimate": "mean"})
    frame = frame.reset_index(drop=True)
    frame.insert(0, "system", systems)
    frame.insert(0, "items", items)
    frame.insert(0, "slice", name)
    return frame


def _judge_systems(means: pd.DataFrame, pairs: pd.DataFrame, baselines: Sequence[str]) -> list[str]:
    """Return of each slice and system whether it is better than the baseline, or all others, or worse than any."""
    marks: dict[tuple[str, str], list[int]] = {}
    counted = pairs[pairs["verdict"] != ""]
    for name, a, b, verdict in counted[["slice", "a", "b", "verdict"]].itertuples(index=False):
        sign = {"better": 1, "worse": -1}.get(verdict, 0)
        marks.setdefault((name, a), []).append(sign)
        if b not in baselines:
            marks.setdefault((name, b), []).append(-sign)
    verdicts = []
    for name, system in zip(means["slice"], means["system"], strict=True):
        signs = marks.get((name, system))
        if signs is None:
            verdicts.append("")
        else:
            verdicts.append("worse" if min(signs) < 0 else "better" if min(signs) > 0 else "tied")
    return verdicts


def _test_interactions(
    scores: Scores,
    code: np.ndarray[Any, np.dtype[np.int64]],
    asked: list[tuple[str, str]],
    procedure: Procedure,
    run: Mapping[str, Any],
) -> pd.DataFrame:
    """Return whether the difference of each pair depends on the slice; NaN where only items are no sample of it."""
    frame = pd.DataFrame(asked, columns=["a", "b"])
    others = set(procedure.claim.over) - {"topic"}
    averaged = procedure.method.repeats_kind == "samples" and others == {"instance"}
    if (others and not averaged) or scores.clusters is not None or scores.unpaired or len(asked) > MOST_PAIRS:
        return frame.assign(statistic=np.nan, p=np.nan)
    systems, y = scores.systems, scores.mean(*scores.others).values
    ia, ib = (np.array([systems.index(pair[k]) for pair in asked]) for k in (0, 1))
    statistic, p = interaction_p(
        y, code, ia, ib, n_resamples=run.get("n_resamples") or RESAMPLES, seed=run.get("seed") or 0
    )
    return frame.assign(statistic=statistic, p=p)
