"""How often every kind of statement is wrong on data like these: margins, intervals, ranks, best set, planned power.

`calibrate` measures false alarms where no systems differ. Here they differ: topics are drawn with replacement from the
scores as they are, so that the true means are those of the scores; or with the chances closest to equal ones under
which one system loses exactly the margin (exponential tilting), so that no score is changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy

from shardwise.core.arguments import validate_count, validate_level
from shardwise.core.arrays import Bools, Floats
from shardwise.core.claim import format_count
from shardwise.core.errors import InputError
from shardwise.core.rng import make_generator
from shardwise.core.scores import as_scores, nouns_of
from shardwise.core.shown import Shown
from shardwise.lab.worlds.tilt import effective_topics, tilted_weights
from shardwise.methods.bounded import BoundedScores, bound_scores
from shardwise.methods.registry import parse_procedure
from shardwise.methods.tables import TABLE, Tables
from shardwise.stats import intervals, power
from shardwise.stats.proportions import clopper_pearson

RESAMPLES = 239
"""Resamples of the default test in each simulated table."""
BATCH = 25
"""Tables that are held at a time."""
MOST_PAIRS = 30
"""Pairs of systems that are set apart by the margin."""
LEAST_EVEN = 0.5
"""Share of the topics that unequal chances must count as at least."""
CLOSE = 0.03
"""How far a figure may be from what it should be about."""
PLANNED = 0.8
"""Power that is planned for."""
MARGIN_SHARE = 0.01
"""Margin in units of the range, where none is asked for."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class StatementCheck(Shown):
    """What statements promise on data like these, and what was measured.

    ``table`` has one row a statement: ``statement, promised, kind`` ("at most", "at least", "about", or "power" where
    nothing is promised), ``measured`` with Monte-Carlo limits ``low, high``, ``tables`` and ``exceeded``, whether the
    promise is ruled out.
    """

    table: pd.DataFrame
    scores: str
    margin: float
    alpha: float
    seed: int

    @property
    def holds(self) -> bool:
        """Whether no promise is ruled out."""
        return not bool(self.table["exceeded"].any())

    def to_frame(self) -> pd.DataFrame:
        """Return one row a statement.

        Returns
        -------
        DataFrame
            A copy of the table.
        """
        return self.table.copy()

    def __repr__(self) -> str:
        return f"<StatementCheck of {len(self.table)} statements: {self.scores}>"

    def __str__(self) -> str:
        lines = [f"{self.scores}; margin {self.margin:g}, seed {self.seed}"]
        for row in self.table.to_dict("records"):
            limits = f"{100 * row['low']:.1f} to {100 * row['high']:.1f}"
            promised = f"; {row['kind']} {100 * row['promised']:g}%" if row["kind"] != "power" else ""
            mark = "; not as promised" if row["exceeded"] else ""
            lines.append(f"{row['statement']}: {100 * row['measured']:.1f}% ({limits}{promised}){mark}")
        return "\n".join(lines)


def check_statements(
    source: Any,
    *,
    margin: float | None = None,
    alpha: float = 0.05,
    repetitions: int = 400,
    seed: int = 0,
) -> StatementCheck:
    """Simulate how often statements about systems that do differ are wrong, on data like these.

    Parameters
    ----------
    source : scores
        Any table that `as_scores` takes; repeats and shards are averaged, topics that a system lacks left out.
    margin : float, optional
        Margin of "no worse"; a hundredth of the range by default.
    alpha : float
        One less the level of intervals and ranges.
    repetitions : int
        Simulated tables of each kind.
    seed : int
        Where the random numbers start.

    Returns
    -------
    StatementCheck
        One row a statement.

    >>> rng = np.random.default_rng(1)
    >>> y = rng.beta(2, 3, (40, 1)) * 0.5 + rng.beta(5, 5, (40, 3)) * [0.40, 0.42, 0.5]
    >>> found = check_statements(pd.DataFrame(y, columns=list("abc")), margin=0.05, repetitions=25)
    >>> found.table["statement"].tolist()[:2]
    ['no worse, at a loss of the margin', 'no worse, of equal systems']
    """
    validate_level(alpha)
    validate_count(repetitions, "repetitions", least=2)
    scores = as_scores(source)
    bounded = bound_scores(scores)
    means = scores.mean([d for d in scores.dims if d not in TABLE]) if len(scores.dims) > 2 else scores
    y = np.asarray(means.transpose(*TABLE).to_numpy(), np.float64)
    complete = np.isfinite(y).all(axis=1)
    y = y[complete]
    if len(y) < 3 or y.shape[1] < 2:
        raise InputError("too few topics that all systems have", remedy="give at least three")
    width = 1.0 if bounded is None else bounded.bounds.width
    margin = MARGIN_SHARE * width if margin is None else margin
    unit = None if bounded is None else bounded.scores[complete]
    rows = [
        *_check_margin(y, unit, width, margin, alpha, repetitions, seed),
        *_check_resampled(y, bounded, unit, alpha, repetitions, seed),
        *_check_power(y, alpha, repetitions, seed),
    ]
    table = pd.DataFrame(rows)
    topics, systems = (
        format_count(n, nouns_of(scores).get(d, d)) for n, d in zip(y.shape, TABLE, strict=True)
    )
    return StatementCheck(table, f"tables like these {topics} by {systems}", margin, alpha, seed)


def _row(statement: str, kind: str, promised: float, hits: Bools | Floats) -> dict[str, Any]:
    """One row of the table, with Clopper and Pearson's limits; averages of tables count as that many tables."""
    measured, count = float(np.mean(hits)), len(hits)
    low, high = (
        float(end) for end in clopper_pearson(np.array(measured * count), np.array(float(count)), 0.01)
    )
    exceeded = {
        "at most": low > promised,
        "at least": high < promised,
        "about": low > promised + CLOSE or high < promised - CLOSE,
        "power": False,
    }[kind]
    return {
        "statement": statement, "kind": kind, "promised": promised, "measured": measured, "low": low,
        "high": high, "tables": count, "exceeded": exceeded,
    }  # fmt: skip


def _check_margin(
    y: Floats, unit: Floats | None, width: float, margin: float, alpha: float, repetitions: int, seed: int
) -> Iterator[dict[str, Any]]:
    """False "no worse" of systems that lose exactly the margin, and right ones of equal systems."""
    order = np.argsort(-y.mean(axis=0), kind="stable")
    pairs = [(int(a), int(b)) for a, b in zip(order[1:], order[:-1], strict=True)][:MOST_PAIRS]
    for statement, difference, kind, promised in (
        ("no worse, at a loss of the margin", -margin, "at most", alpha / 2.0),
        ("no worse, of equal systems", 0.0, "power", float("nan")),
    ):
        worlds = []
        for a, b in pairs:
            weights = tilted_weights(y[:, [a, b]], np.array([difference, 0.0]))
            if weights is not None and effective_topics(weights) >= LEAST_EVEN * len(y):
                worlds.append((a, b, np.cumsum(weights) / np.sum(weights)))
        if not worlds:
            continue
        passed = []
        for k in range(repetitions):
            a, b, edges = worlds[k % len(worlds)]
            rows = np.searchsorted(edges, make_generator(seed, k).random(len(y)), side="right").clip(
                max=len(y) - 1
            )
            passed.append(_passes(y, unit, width, margin, alpha, a, b, rows))
        yield _row(statement, kind, promised, np.array(passed))


def _passes(
    y: Floats, unit: Floats | None, width: float, margin: float, alpha: float, a: int, b: int, rows: Any
) -> bool:
    """Whether a gate finds system a to be no worse than b on these rows."""
    if unit is not None:
        moments = intervals.pair_moments(unit[rows, a], unit[rows, b])
        return bool(intervals.p_no_worse(moments, margin / width) <= alpha / 2.0)
    gaps = y[rows, a] - y[rows, b]
    se = gaps.std(ddof=1) / np.sqrt(len(gaps))
    half = scipy.stats.t.isf(alpha / 2.0, len(gaps) - 1) * se
    return bool(gaps.mean() - half > -margin)


def _check_resampled(
    y: Floats, bounded: BoundedScores | None, unit: Floats | None, alpha: float, repetitions: int, seed: int
) -> Iterator[dict[str, Any]]:
    """Intervals, ranks and best set where the true means are those of the scores, topics drawn with replacement."""
    topics, systems = y.shape
    truth = y.mean(axis=0)
    ia, ib = np.triu_indices(systems, 1)
    gaps = truth[ia] - truth[ib]
    critical = float(scipy.stats.t.isf(alpha / 2.0, topics - 1))
    means, together, ranks, best, wrong = [], [], [], [], []
    procedure = parse_procedure("moderated")
    for first in range(0, repetitions, BATCH):
        count = min(BATCH, repetitions - first)
        rows = np.stack(
            [
                make_generator(seed, repetitions + first + k).integers(topics, size=topics)
                for k in range(count)
            ]
        )
        tables = y[rows]
        decisions = procedure.decide(Tables(tables, TABLE, seed=seed, first=first, n_resamples=RESAMPLES))
        half = decisions.half_widths(alpha)
        together.append((np.abs(decisions.difference - gaps) <= half + 1e-12).all(axis=1))
        significant = decisions.p_adjusted <= alpha
        wrong.append((significant & (np.sign(decisions.difference) * gaps < 0.0)).any(axis=1))
        for k in range(count):
            below, above = _count_wins(significant[k], decisions.difference[k], ia, ib, systems)
            # systems of equal true means may have any of their ranks
            least = 1 + (truth[None, :] > truth[:, None]).sum(axis=1)
            most = systems - (truth[None, :] < truth[:, None]).sum(axis=1)
            ranks.append(bool(((1 + above <= most) & (systems - below >= least)).all()))
            best.append(bool((above[truth >= truth.max()] == 0).any()))
        if unit is not None and bounded is not None:
            lower, upper = bounded.bounds.restore_means(
                *intervals.mean_limits(intervals.score_moments(np.swapaxes(unit[rows], 1, 2)), critical)
            )
        else:
            spread = critical * tables.std(axis=1, ddof=1) / np.sqrt(topics)
            lower, upper = tables.mean(axis=1) - spread, tables.mean(axis=1) + spread
        means.append(((lower <= truth + 1e-12) & (truth <= upper + 1e-12)).mean(axis=1))
    confidence = 1.0 - alpha
    yield _row("interval of a mean covers it", "about", confidence, np.concatenate(means))
    yield _row("all intervals of differences cover", "at least", confidence, np.concatenate(together))
    yield _row("all rank ranges cover", "at least", confidence, np.array(ranks))
    yield _row("best set holds a best system", "at least", confidence, np.array(best))
    yield _row("significantly better, but worse", "at most", alpha / 2.0, np.concatenate(wrong))


def _count_wins(significant: Bools, difference: Floats, ia: Any, ib: Any, systems: int) -> tuple[Any, Any]:
    """Systems significantly below and above each system."""
    square = np.zeros((systems, systems), dtype=np.bool_)
    up = significant & (difference > 0.0)
    down = significant & (difference < 0.0)
    square[ia[up], ib[up]] = True
    square[ib[down], ia[down]] = True
    return square.sum(axis=1), square.sum(axis=0)


def _check_power(y: Floats, alpha: float, repetitions: int, seed: int) -> Iterator[dict[str, Any]]:
    """Power of one pair reached where 80 % were planned from these scores as a pilot."""
    topics = len(y)
    rng = make_generator(seed, 3 * repetitions)
    pool = y - y.mean(axis=0)
    a, b = 0, 1
    spread = float(np.std(pool[:, a] - pool[:, b], ddof=1) / np.sqrt(topics))
    if not spread > 0.0:
        return
    sizes = spread * np.linspace(1.5, 9.0, 61)
    plan = power.pilot_power(pool, np.array([a]), np.array([b]), sizes, topics, rng, alpha=alpha).power[0]
    difference = float(np.interp(PLANNED, plan, sizes))
    procedure = parse_procedure("moderated")
    found = []
    for first in range(0, repetitions, BATCH):
        count = min(BATCH, repetitions - first)
        tables = pool[rng.integers(topics, size=(count, topics))]
        tables[:, :, a] += difference
        decisions = procedure.decide(Tables(tables, TABLE, seed=seed, first=first, n_resamples=RESAMPLES))
        found.append((decisions.p_adjusted[:, 0] <= alpha) & (decisions.difference[:, 0] > 0.0))
    yield _row("planned power of 80% reached", "about", PLANNED, np.concatenate(found))
