"""How often every kind of statement is wrong on data like these: margins, intervals, ranks, best set, planned power.

`calibrate` measures false alarms where no systems differ. Here they differ: topics are drawn with replacement from the
scores as they are, so that the true means are those of the scores; or with the chances closest to equal ones under
which one system loses exactly the margin (exponential tilting), so that no score is changed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from shardwise.core import late
from shardwise.core.arguments import validate_choice, validate_count, validate_level
from shardwise.core.arrays import Bools, Floats
from shardwise.core.claim import Claim, format_count
from shardwise.core.errors import InputError
from shardwise.core.libraries import pd
from shardwise.core.scores import as_scores
from shardwise.core.shown import Shown
from shardwise.lab.scenarios.base import Scenario
from shardwise.lab.scenarios.from_scores import (
    SHARE,
    draw_rows,
    drawn_scenario,
    effective_topics,
    tilted_scenario,
)
from shardwise.lab.trial import (
    FEW_RESAMPLES,
    SAME,
    Case,
    Figures,
    Trial,
    Truth,
    count_tables,
    join_figures,
    number_baselines,
)
from shardwise.methods.names import Procedure, parse_procedure
from shardwise.methods.tables import TABLE, find_range
from shardwise.stats.intervals import (
    BoundedScores,
    Range,
    clopper_pearson,
    limit_differences,
    weigh_means,
    weigh_pairs,
)
from shardwise.stats.moderation import pair_variances
from shardwise.stats.student import student_critical

BATCH = 25
"""Tables that are held at a time."""
MOST_PAIRS = 30
"""Pairs of systems that are set apart by the margin."""
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
    kinds: tuple[str, ...] = KINDS

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

    def __str__(self) -> str:
        text: str = late.call_bound("statement_text", self)
        return text


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
    scores = as_scores(source).turn()
    bounds = None if "task" in scores.dims else find_range(scores)
    y = np.asarray(scores.mean(*scores.others).values, np.float64)
    y = y[np.isfinite(y).all(axis=1)]
    if len(y) < 3 or y.shape[1] < 2:
        raise InputError("too few topics that all systems have", remedy="give at least three")
    baselines = number_baselines(baseline, scores.systems)
    margin = MARGIN_SHARE * (1.0 if bounds is None else bounds.width) if margin is None else margin
    rows: list[dict[str, Any]] = []
    if "margin" in kinds:
        rows += _check_margin(y, bounds, margin, alpha, repetitions, seed)
    if "intervals" in kinds:
        rows += _check_resampled(procedure, baselines, y, bounds, alpha, repetitions, seed)
    if "power" in kinds and procedure.name == DEFAULT and not baselines:
        rows += _check_power(y, alpha, repetitions, seed)
    nouns = scores.nouns
    sizes = " by ".join(format_count(n, nouns.get(d, d)) for n, d in zip(y.shape, TABLE, strict=True))
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    description = f"{repetitions:,} simulated tables like these {sizes}"
    return StatementCheck(table, description, procedure.name, margin, alpha, seed, tuple(kinds))


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
    y: Floats, bounds: Range | None, margin: float, alpha: float, repetitions: int, seed: int
) -> Iterator[dict[str, Any]]:
    """False "no worse" of systems that lose exactly the margin, and right ones of equal systems."""
    order = np.argsort(-y.mean(axis=0), kind="stable")
    tables = [y[:, [a, b]] for a, b in zip(order[1:], order[:-1], strict=True)][:MOST_PAIRS]
    for statement, difference, kind, nominal in (
        ("no worse, at a loss of the margin", -margin, "at most", alpha / 2.0),
        ("no worse, of equal systems", 0.0, "power", float("nan")),
    ):
        # chances of topics under which two systems differ by so much, unless few topics would be left
        scenarios = []
        for table in tables:
            with suppress(InputError):
                scenario = tilted_scenario(table, effects=np.array([difference, 0.0]))
                if effective_topics(scenario.facts["weights"]) >= SHARE * len(table):
                    scenarios.append(scenario)
        passed = []
        for k in range(repetitions if scenarios else 0):
            # a gate on the first system of a table against the second
            table = scenarios[k % len(scenarios)].draw(k, 1, seed)[0]
            gaps = table[:, 0] - table[:, 1]
            se, n = gaps.std(ddof=1) / np.sqrt(len(gaps)), float(len(gaps))
            mean, error, df, units = np.array([[gaps.mean()], [se], [n - 1.0], [n]])
            pair = np.array([0]), np.array([1])
            evidence = weigh_pairs(_bound(table, bounds), *pair, mean, error, df, units)
            passed.append(bool(evidence.p_above(-margin)[0] <= alpha / 2.0))
        if passed:
            yield _make_row(statement, kind, nominal, np.array(passed))


def _bound(table: Floats, bounds: Range | None) -> BoundedScores | None:
    """Return the scores of a table mapped to their range, where it is known."""
    return None if bounds is None else BoundedScores(bounds.map_scores(table), bounds)


def _check_resampled(
    procedure: Procedure,
    baselines: tuple[int, ...],
    y: Floats,
    bounds: Range | None,
    alpha: float,
    repetitions: int,
    seed: int,
) -> Iterator[dict[str, Any]]:
    """Intervals, ranks and best set where the true means are those of the scores, topics drawn with replacement."""
    scenario = Scenario(
        "resample", TABLE, y.shape, Claim("topic"), np.zeros(y.shape[1]), draw_rows, {"scores": y}
    )
    truth = y.mean(axis=0)
    parts: list[Figures] = []
    for first in range(0, repetitions, BATCH):
        tables = scenario.draw(repetitions + first, min(BATCH, repetitions - first), seed)
        cover = partial(_cover_differences, tables=tables, bounds=bounds, alpha=alpha)
        how: dict[str, Any] = {"cover": cover, "seed": seed, "first": first, "n_resamples": FEW_RESAMPLES}
        (figures,) = count_tables(tables, TABLE, [procedure], truth, alpha, baselines, **how)
        means = []
        for table in tables:
            topics = len(table)
            se, df = table.std(axis=0, ddof=1) / np.sqrt(topics), np.full(len(truth), topics - 1.0)
            evidence = weigh_means(_bound(table, bounds), table.mean(axis=0), se, df)
            ends = evidence.limits(float(student_critical(alpha, topics - 1)))
            means.append(_holds(truth, *ends).mean())
        parts.append({**figures, "means": np.array(means)})
    figures = join_figures(parts)
    confidence = 1.0 - alpha
    yield _make_row("interval of a mean covers it", "about", confidence, figures["means"])
    if procedure.error_rate == "pair":
        yield _make_row("interval of a difference covers it", "about", confidence, figures["coverage"])
    if procedure.error_rate != "family":
        return
    if np.isfinite(figures["together"]).all():
        yield _make_row("all intervals of differences cover", "at least", confidence, figures["together"])
    if not baselines:
        yield _make_row("all rank ranges cover", "at least", confidence, figures["ranks"])
        yield _make_row("best set holds a best system", "at least", confidence, figures["best"] > 0.0)
    yield _make_row("significantly better, but worse", "at most", alpha / 2.0, figures["wrong_way"] > 0.0)


def _cover_differences(
    decided: Any, truth: Truth, tables: Floats, bounds: Range | None, alpha: float
) -> Bools | None:
    """(B, P) whether the intervals of differences, as `Comparisons.limits` has them, hold the true ones, if any."""
    if not decided.has_intervals:
        return None
    plain = decided.limits(alpha)
    known = [np.broadcast_to(x, plain[0].shape) for x in (decided.difference, decided.se, decided.df)]
    significant = decided.p_adjusted <= alpha
    limits = [
        limit_differences(
            _bound(table, bounds),
            (truth.ia, truth.ib),
            (known[0][k], known[1][k], known[2][k]),
            (plain[0][k], plain[1][k]),
            significant[k],
            alpha,
        )
        for k, table in enumerate(tables)
    ]
    return np.stack([_holds(truth.difference, *ends) for ends in limits])


def _holds(truth: Floats, lower: Floats, upper: Floats) -> Bools:
    """Return which limits hold the truth, rounding apart."""
    return (lower <= truth + SAME) & (truth <= upper + SAME)


def _check_power(y: Floats, alpha: float, repetitions: int, seed: int) -> Iterator[dict[str, Any]]:
    """Power reached by any two systems that differ as a design of 80 % power from these scores has it."""
    topics, systems = y.shape
    pairs = np.triu_indices(systems, 1)
    # σ², half the mean variance of a difference
    variance = float(pair_variances(y)[pairs].mean()) / 2.0
    if not variance > 0.0:
        return
    how: dict[str, Any] = {"method": DEFAULT, "target": PLANNED, "alpha": alpha}
    gap = late.call_bound("design", variance, topics, systems, **how).detectable
    truth = np.zeros(systems)
    truth[:2] = gap / 2.0, -gap / 2.0
    case = Case(drawn_scenario(y, topics, truth), "resample", planted=True, path=1)
    trial = Trial([case], [parse_procedure(DEFAULT)], alpha, seed, (repetitions,), (), FEW_RESAMPLES)
    ((figures,),) = trial.run(None, None)
    yield _make_row("planned power of 80% reached", "about", PLANNED, figures["found"][:, -1] == 1.0)
