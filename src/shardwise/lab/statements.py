"""How often every kind of statement is wrong on data like these: margins, intervals, ranks, best set, planned power.

`calibrate` measures false alarms where no systems differ. Here they differ: topics are drawn with replacement from the
scores as they are, so that the true means are those of the scores; or with the chances closest to equal ones under
which one system loses exactly the margin (exponential tilting), so that no score is changed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from shardwise.comparing.bounded_intervals import limit_differences, weigh_means, weigh_pairs
from shardwise.core.arguments import validate_choice, validate_count, validate_level
from shardwise.core.arrays import Bools, Floats, Ints
from shardwise.core.claim import format_count
from shardwise.core.errors import InputError
from shardwise.core.rng import make_generator
from shardwise.core.scores import as_scores, level_names, nouns_of, turn_scores
from shardwise.core.shown import Shown
from shardwise.lab.scenarios.tilt import effective_topics, tilted_weights
from shardwise.lab.trial import choose_numbered_pairs, number_baselines
from shardwise.methods.bounded import BoundedScores, bound_scores
from shardwise.methods.decisions import Decisions
from shardwise.methods.procedure import Procedure
from shardwise.methods.registry import parse_procedure
from shardwise.methods.tables import TABLE, Tables
from shardwise.stats import power
from shardwise.stats.groups import count_wins
from shardwise.stats.proportions import clopper_pearson
from shardwise.stats.student import student_critical

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
KINDS = ("margin", "intervals", "power")
"""Statements to check: "no worse"; intervals, ranks, best set and directions; planned power."""
DEFAULT = "moderated"
"""The method that "no worse" and planned power are made for."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class StatementCheck(Shown):
    """Nominal error rates, coverage and power of statements, and those measured on data like these.

    ``table`` has one row a statement: ``statement, nominal, kind`` ("at most", "at least", "about", or "power" where
    nothing is nominal), ``measured`` with Monte-Carlo limits ``low, high`` (99%), ``tables`` and ``exceeded``, whether
    the nominal figure is ruled out.
    """

    table: pd.DataFrame
    scores: str
    method: str
    margin: float
    alpha: float
    seed: int

    @property
    def holds(self) -> bool:
        """Whether no nominal figure is ruled out."""
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
        margin = (
            f"; margin {self.margin:g}" if self.table["statement"].str.startswith("no worse").any() else ""
        )
        lines = [f"Statements by {self.method}, on {self.scores}{margin}:"]
        for row in self.table.to_dict("records"):
            limits = f"{100 * row['low']:.1f} to {100 * row['high']:.1f}%"
            nominal = f"; nominal {row['kind']} {100 * row['nominal']:g}%" if row["kind"] != "power" else ""
            mark = "; not held" if row["exceeded"] else ""
            lines.append(f"  {row['statement']}: {100 * row['measured']:.1f}% ({limits}{nominal}){mark}")
        return "\n".join(lines)


def check_statements(
    source: Any,
    *,
    method: str | Procedure = DEFAULT,
    baseline: str | Sequence[str] | None = None,
    kinds: Collection[str] = KINDS,
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
    method : str or Procedure
        The method that compares the systems, for new topics like these.
    baseline : str or sequence of str, optional
        Systems with which all others are compared; without it all pairs are, which ranks and the best set need.
    kinds : collection of str
        Statements to check: "margin" ("no worse"), "intervals" (of means and differences; ranks, best set and
        directions), "power" (planned for the default method).
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
    >>> check = check_statements(pd.DataFrame(y, columns=list("abc")), margin=0.05, repetitions=25)
    >>> check.table["statement"].tolist()[:2]
    ['no worse, at a loss of the margin', 'no worse, of equal systems']
    """
    validate_level(alpha)
    validate_count(repetitions, "repetitions", least=2)
    for kind in kinds:
        validate_choice(kind, "kinds", KINDS, what="kind of statement")
    procedure = parse_procedure(method)
    scores = turn_scores(as_scores(source))
    bounded = bound_scores(scores)
    means = scores.mean([d for d in scores.dims if d not in TABLE]) if len(scores.dims) > 2 else scores
    y = np.asarray(means.transpose(*TABLE).to_numpy(), np.float64)
    complete = np.isfinite(y).all(axis=1)
    y = y[complete]
    if len(y) < 3 or y.shape[1] < 2:
        raise InputError("too few topics that all systems have", remedy="give at least three")
    pairs = choose_numbered_pairs(y.shape[1], number_baselines(baseline, level_names(scores, "system")))
    width = 1.0 if bounded is None else bounded.bounds.width
    margin = MARGIN_SHARE * width if margin is None else margin
    complete_scores = (
        None
        if bounded is None
        else replace(bounded, scores=bounded.scores[complete], cluster=None, task=None)
    )
    rows: list[dict[str, Any]] = []
    if "margin" in kinds:
        rows += _check_margin(y, complete_scores, margin, alpha, repetitions, seed)
    if "intervals" in kinds:
        rows += _check_resampled(procedure, pairs, y, complete_scores, alpha, repetitions, seed)
    if "power" in kinds and procedure.name == DEFAULT and pairs is None:
        rows += _check_power(y, alpha, repetitions, seed)
    nouns = nouns_of(scores)
    sizes = " by ".join(format_count(n, nouns.get(d, d)) for n, d in zip(y.shape, TABLE, strict=True))
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    description = f"{repetitions:,} simulated tables like these {sizes}"
    return StatementCheck(table, description, procedure.name, margin, alpha, seed)


COLUMNS = ("statement", "kind", "nominal", "measured", "low", "high", "tables", "exceeded")


def _make_row(statement: str, kind: str, nominal: float, hits: Bools | Floats) -> dict[str, Any]:
    """Make one row of the table, with Clopper and Pearson's limits; averages of tables count as that many tables."""
    measured, count = float(np.mean(hits)), len(hits)
    low, high = (
        float(end) for end in clopper_pearson(np.array(measured * count), np.array(float(count)), 0.01)
    )
    exceeded = {
        "at most": low > nominal,
        "at least": high < nominal,
        "about": low > nominal + CLOSE or high < nominal - CLOSE,
        "power": False,
    }[kind]
    values = (statement, kind, nominal, measured, low, high, count, exceeded)
    return dict(zip(COLUMNS, values, strict=True))


def _check_margin(
    y: Floats, bounded: BoundedScores | None, margin: float, alpha: float, repetitions: int, seed: int
) -> Iterator[dict[str, Any]]:
    """False "no worse" of systems that lose exactly the margin, and right ones of equal systems."""
    order = np.argsort(-y.mean(axis=0), kind="stable")
    pairs = [(int(a), int(b)) for a, b in zip(order[1:], order[:-1], strict=True)][:MOST_PAIRS]
    for statement, difference, kind, nominal in (
        ("no worse, at a loss of the margin", -margin, "at most", alpha / 2.0),
        ("no worse, of equal systems", 0.0, "power", float("nan")),
    ):
        tilted = []
        for a, b in pairs:
            weights = tilted_weights(y[:, [a, b]], np.array([difference, 0.0]))
            if weights is not None and effective_topics(weights) >= LEAST_EVEN * len(y):
                tilted.append((a, b, np.cumsum(weights) / np.sum(weights)))
        if not tilted:
            continue
        passed = []
        for k in range(repetitions):
            a, b, edges = tilted[k % len(tilted)]
            rows = np.searchsorted(edges, make_generator(seed, k).random(len(y)), side="right").clip(
                max=len(y) - 1
            )
            passed.append(_passes_gate(y, bounded, margin, alpha, a, b, rows))
        yield _make_row(statement, kind, nominal, np.array(passed))


def _passes_gate(
    y: Floats, bounded: BoundedScores | None, margin: float, alpha: float, a: int, b: int, rows: Any
) -> bool:
    """Return whether a gate finds system a to be no worse than b on these rows."""
    gaps = y[rows, a] - y[rows, b]
    se, n = gaps.std(ddof=1) / np.sqrt(len(gaps)), float(len(gaps))
    mean, error, df, units = np.array([[gaps.mean()], [se], [n - 1.0], [n]])
    evidence = weigh_pairs(_draw_rows(bounded, rows), np.array([a]), np.array([b]), mean, error, df, units)
    return bool(evidence.p_above(-margin)[0] <= alpha / 2.0)


def _check_resampled(
    procedure: Procedure,
    pairs: tuple[Ints, Ints] | None,
    y: Floats,
    bounded: BoundedScores | None,
    alpha: float,
    repetitions: int,
    seed: int,
) -> Iterator[dict[str, Any]]:
    """Intervals, ranks and best set where the true means are those of the scores, topics drawn with replacement."""
    topics, systems = y.shape
    truth = y.mean(axis=0)
    ia, ib = np.triu_indices(systems, 1) if pairs is None else pairs
    gaps = truth[ia] - truth[ib]
    critical = float(student_critical(alpha, topics - 1))
    # systems of equal true means may have any of their ranks
    least = 1 + (truth[None, :] > truth[:, None]).sum(axis=1)
    most = systems - (truth[None, :] < truth[:, None]).sum(axis=1)
    means, differences, ranks, best, wrong = [], [], [], [], []
    for first in range(0, repetitions, BATCH):
        count = min(BATCH, repetitions - first)
        rows = np.stack(
            [
                make_generator(seed, repetitions + first + k).integers(topics, size=topics)
                for k in range(count)
            ]
        )
        tables = y[rows]
        decisions = procedure.decide(
            Tables(tables, TABLE, seed=seed, first=first, n_resamples=RESAMPLES), pairs
        )
        lower, upper = _limit_differences(decisions, bounded, rows, ia, ib, alpha)
        differences.append((lower <= gaps + 1e-12) & (gaps <= upper + 1e-12))
        significant = decisions.p_adjusted <= alpha
        wrong.append((significant & (np.sign(decisions.difference) * gaps < 0.0)).any(axis=1))
        below, above = count_wins(significant, decisions.difference, ia, ib, systems)
        ranks.append(((1 + above <= most) & (systems - below >= least)).all(axis=1))
        best.append((above[:, truth >= truth.max()] == 0).any(axis=1))
        mean, error = tables.mean(axis=1), tables.std(axis=1, ddof=1) / np.sqrt(topics)
        df = np.full(systems, topics - 1.0)
        limits = [
            weigh_means(_draw_rows(bounded, rows[k]), mean[k], error[k], df).limits(critical)
            for k in range(count)
        ]
        lower, upper = (np.stack(ends) for ends in zip(*limits, strict=True))
        means.append(((lower <= truth + 1e-12) & (truth <= upper + 1e-12)).mean(axis=1))
    confidence = 1.0 - alpha
    yield _make_row("interval of a mean covers it", "about", confidence, np.concatenate(means))
    covered = np.concatenate(differences)
    if procedure.error_rate == "pair":
        yield _make_row("interval of a difference covers it", "about", confidence, covered.mean(axis=1))
    if procedure.error_rate != "family":
        return
    if decisions.has_intervals:
        yield _make_row(
            "all intervals of differences cover", "at least", confidence, np.asarray(covered.all(axis=1))
        )
    if pairs is None:
        yield _make_row("all rank ranges cover", "at least", confidence, np.concatenate(ranks))
        yield _make_row("best set holds a best system", "at least", confidence, np.concatenate(best))
    yield _make_row("significantly better, but worse", "at most", alpha / 2.0, np.concatenate(wrong))


def _draw_rows(bounded: BoundedScores | None, rows: Ints) -> BoundedScores | None:
    """Return the mapped scores of some items."""
    return None if bounded is None else replace(bounded, scores=bounded.scores[rows])


def _limit_differences(
    decisions: Decisions, bounded: BoundedScores | None, rows: Ints, ia: Ints, ib: Ints, alpha: float
) -> tuple[Floats, Floats]:
    """(B, P) limits of the differences as `Comparisons.limits` has them."""
    plain = decisions.limits(alpha)
    outcome = decisions.pairs
    known = [np.broadcast_to(x, plain[0].shape) for x in (outcome.difference, outcome.se, outcome.df)]
    significant = decisions.p_adjusted <= alpha
    limits = [
        limit_differences(
            _draw_rows(bounded, rows[k]),
            (ia, ib),
            (known[0][k], known[1][k], known[2][k]),
            (plain[0][k], plain[1][k]),
            significant[k],
            alpha,
        )
        for k in range(len(rows))
    ]
    return np.stack([pair[0] for pair in limits]), np.stack([pair[1] for pair in limits])


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
    procedure = parse_procedure(DEFAULT)
    detections = []
    for first in range(0, repetitions, BATCH):
        count = min(BATCH, repetitions - first)
        tables = pool[rng.integers(topics, size=(count, topics))]
        tables[:, :, a] += difference
        decisions = procedure.decide(Tables(tables, TABLE, seed=seed, first=first, n_resamples=RESAMPLES))
        detections.append((decisions.p_adjusted[:, 0] <= alpha) & (decisions.difference[:, 0] > 0.0))
    yield _make_row("planned power of 80% reached", "about", PLANNED, np.concatenate(detections))
