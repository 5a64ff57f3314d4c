"""Power and interval width by simulation from one's own scores, skewed and uneven as they are.

Topics are drawn with replacement from the user's own, systems are made equal on average, a difference is
planted, and the planned test is run, many times over. So the claim is about topics like these.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
import scipy
from scipy import special

from shardwise.core.arguments import validate_choice, validate_count
from shardwise.core.arguments import validate_level as check_level
from shardwise.core.arrays import Bools, Floats, Ints, make_generator
from shardwise.core.claim import Claim
from shardwise.core.errors import InputError
from shardwise.core.scores import nouns_of, sizes_of
from shardwise.planning.plans import Plan
from shardwise.planning.variances import table_of
from shardwise.stats import studentized_range
from shardwise.stats.moderation import shrink_variances
from shardwise.stats.power import TABLES, joint_critical, moderated_df

TESTS = {
    "moderated": "moderated test of all pairs, the default",
    "hsd": "Tukey HSD on two-way ANOVA (topic + system)",
    "t": "paired t-test of each planted pair, not corrected for their number",
}
PLANTS = {
    "pair": "one system min_diff/2 up, one min_diff/2 down, all others equal between them",
    "one": "one system min_diff ahead of all others, which are equal",
}
BLOCK = 4_000_000  # numbers held at a time

Results = tuple[Bools, Floats, Bools, Bools]  # one entry a repetition


def simulated_power(
    scores: Any,
    *,
    topics: int | Iterable[int],
    min_diff: float,
    systems: int | None = None,
    test: str = "moderated",
    plant: str = "pair",
    alpha: float = 0.05,
    repetitions: int = 2000,
    level: float = 0.95,
    seed: int = 0,
) -> Plan:
    """Simulate the planned comparison with topics drawn from one's own topic × system scores.

    Every repetition draws systems, moves each to the same mean, plants the
    difference, draws topics with replacement and tests. Scores are only moved, so the shape of their distribution, and
    how systems go together on a topic, stay; they are stretched by √(T/(T-1)) because the spread of T topics
    around their own mean is that much too small. Repetition i depends on (seed, i) only, and smaller numbers
    of topics are the first topics of larger ones, so that the curve over ``topics`` is smooth.

    Parameters
    ----------
    scores : object
        Topic × system scores in any form that `as_scores` takes, complete.
    topics : int or iterable of int
        One number of topics, or several.
    min_diff : float
        The difference to plant.
    systems : int, optional
        How many of the systems each repetition draws; all, if None.
    test : str
        ``moderated`` (the default test, corrected for all pairs), ``hsd`` (Tukey HSD on two-way ANOVA) or ``t`` (paired
        t-test of each planted pair, not corrected).
    plant : str
        ``pair`` (one system min_diff/2 up, one as much down, the others between) or ``one`` (one system min_diff ahead
        of all others).
    alpha : float
        Level of the test.
    repetitions : int
        How many tables to draw; 2000 place a power of .8 within .02.
    level : float
        Confidence of the Monte-Carlo limits of the power.
    seed : int
        Where the random numbers start.

    Returns
    -------
    Plan
        One row a number of topics: ``power`` (share of repetitions in which every planted pair differs significantly)
        with its Monte-Carlo limits, mean ``width`` of the intervals of the planted pairs, their ``coverage`` of the
        planted difference, and ``false_alarms``: how often equal systems differ significantly (moderated and HSD: any
        pair of all systems; t: any of the pairs tested).

    >>> import numpy as np
    >>> rng = np.random.default_rng(3)
    >>> y = rng.beta(1, 3, size=(50, 1)) + rng.normal(0, .1, (50, 6))
    >>> result = simulated_power(y, topics=[25, 50, 100], min_diff=.06, systems=2, test="t", seed=1)
    >>> result.table[["topics", "power", "width"]].round(2)
       topics  power  width
    0      25   0.55   0.11
    1      50   0.85   0.08
    2     100   0.99   0.05
    """
    table, y = table_of(scores)
    numbers = list(topics) if isinstance(topics, Iterable) else [topics]
    counts = np.unique([validate_count(n, "topics", least=2) for n in numbers])
    if not counts.size:
        raise InputError("no number of topics: give one, 2 or more", argument="topics", value=topics)
    m = y.shape[1] if systems is None else validate_count(systems, "systems")
    validate_choice(test, "test", TESTS)
    validate_choice(plant, "plant", PLANTS, what="way to plant")
    if not 2 <= m <= y.shape[1]:
        raise InputError(
            f"{m} systems: there are {y.shape[1]} to draw from",
            remedy=f"give 2 to {y.shape[1]} systems",
            argument="systems",
            value=m,
        )
    if not (np.isfinite(min_diff) and min_diff > 0):
        raise InputError(
            f"min_diff = {min_diff:g}: it must be above 0",
            remedy="false_alarms covers no difference",
            argument="min_diff",
            value=min_diff,
        )
    check_level(alpha)
    check_level(level, "level")
    validate_count(repetitions, "repetitions")
    n_own = y.shape[0]
    x = (y - y.mean(axis=0)) * np.sqrt(n_own / (n_own - 1))
    planted = np.zeros(m)
    planted[0] = min_diff / 2.0 if plant == "pair" else min_diff
    planted[1] -= min_diff / 2.0 if plant == "pair" else 0.0
    partners = np.array([1]) if plant == "pair" else np.arange(1, m)

    results: dict[int, list[Results]] = {int(n): [] for n in counts}
    critical = {int(n): critical_value(test, m, int(n), alpha, x, seed) for n in counts}
    size = max(1, BLOCK // (n_own * m + m * m + int(counts[-1])))
    for start in range(0, repetitions, size):
        picked, drawn = draw_repetitions(
            seed, range(start, min(start + size, repetitions)), y.shape[1], m, n_own, counts[-1]
        )
        tables = np.moveaxis(x[:, picked], 1, 0)  # (repetitions, own topics, systems)
        for n, blocks in results.items():
            weights = count_occurrences(drawn[:, :n], n_own)
            blocks.append(run_tests(test, tables, weights, planted, partners, critical[n]))

    rows = [summarize_results(n, blocks, level) for n, blocks in results.items()]
    claim = Claim("topic").sentence(sizes_of(table), nouns_of(table))
    asked = f"difference {min_diff:g}, {m} systems, alpha {alpha:g}, {repetitions} repetitions, seed {seed}"
    lines = (f"{TESTS[test]}; {PLANTS[plant]}", asked, f"claim: {claim}")
    facts = {"min_diff": float(min_diff), "systems": m, "alpha": float(alpha)}
    return Plan("simulated", pd.DataFrame(rows), lines, facts=facts)


def draw_repetitions(
    seed: int, repetitions: range, available: int, m: int, n_own: int, most: int
) -> tuple[Ints, Ints]:
    """Systems and topics of each repetition, from (seed, repetition) alone."""
    picked = np.empty((len(repetitions), m), dtype=np.int64)
    drawn = np.empty((len(repetitions), most), dtype=np.int64)
    for row, repetition in enumerate(repetitions):
        rng = make_generator(seed, repetition)
        picked[row] = rng.permutation(available)[:m]
        drawn[row] = rng.integers(0, n_own, size=most)
    return picked, drawn


def count_occurrences(drawn: Ints, n_own: int) -> Floats:
    """(repetitions, own topics): how often each topic was drawn."""
    rows = np.arange(drawn.shape[0])[:, None] * n_own
    counts = np.bincount((rows + drawn).ravel(), minlength=drawn.shape[0] * n_own)
    return counts.reshape(-1, n_own).astype(float)


def critical_value(test: str, m: int, n: int, alpha: float, scores: Floats, seed: int) -> float:
    """Smallest significant difference in units of the standard error of a difference.

    The moderated test has the mean joint critical value of a dozen tables of n topics drawn from the scores.
    """
    if test == "t":
        return float(special.stdtrit(n - 1, 1.0 - alpha / 2.0))
    if test == "hsd":
        return float(studentized_range.isf(alpha, m, (n - 1) * (m - 1)) / np.sqrt(2.0))
    rng = make_generator(seed, n)
    return float(
        np.mean(
            [
                joint_critical(scores[:, rng.permutation(scores.shape[1])[:m]], n, rng, alpha)
                for _ in range(TABLES)
            ]
        )
    )


def run_tests(
    test: str, tables: Floats, weights: Floats, planted: Floats, partners: Ints, critical: float
) -> Results:
    """Tests of the planted pairs on resampled tables: were all found, mean width, coverage, false alarm."""
    n, m = weights[0].sum(), tables.shape[2]
    y = tables - tables.mean(axis=2, keepdims=True)
    means = np.einsum("bt,btm->bm", weights, y) / n
    gaps = means[:, :, None] - means[:, None, :]
    weight = {"t": 1.0, "hsd": 0.0, "moderated": float(moderated_df(n, m)[0])}[test]
    halves = critical * np.sqrt(pair_variances(y, weights, means, weight) / n)
    half, blur = halves[:, 0, partners], gaps[:, 0, partners]
    a, b = (np.zeros_like(partners), partners) if test == "t" else np.triu_indices(m, 1)
    false_alarm = (np.abs(gaps) > halves)[:, a, b].any(axis=1)
    detected = np.abs(blur + planted[0] - planted[partners]) > half
    return detected.all(axis=1), 2.0 * half.mean(axis=1), np.abs(blur) <= half, false_alarm


def pair_variances(y: Floats, weights: Floats, means: Floats, share: float) -> Floats:
    """(B, R, R) variances of differences over topics: a share of each pair's, the rest their mean.

    Rows of y sum to 0, so that the mean over pairs is twice the sum of the systems' variances over R - 1.
    """
    n, m = weights[0].sum(), y.shape[2]
    gram = np.swapaxes(y * weights[..., None], 1, 2) @ y / n - means[:, :, None] * means[:, None, :]
    single = np.maximum(np.diagonal(gram, axis1=1, axis2=2), 0.0)
    pairs = np.maximum(single[:, :, None] + single[:, None, :] - 2.0 * gram, 0.0)
    pooled = 2.0 * single.sum(axis=1)[:, None, None] / (m - 1.0)
    return np.asarray(shrink_variances(pairs, pooled, share) * n / (n - 1.0))


def summarize_results(n: int, blocks: list[Results], level: float) -> dict[str, float]:
    """One row of the table, with exact binomial limits for the power."""
    detected, width, covered, false_alarm = (np.concatenate(part) for part in zip(*blocks, strict=True))
    limits = scipy.stats.binomtest(int(detected.sum()), detected.size).proportion_ci(level)
    return {
        "topics": n,
        "power": float(detected.mean()),
        "power_low": float(limits.low),
        "power_high": float(limits.high),
        "width": float(width.mean()),
        "coverage": float(covered.mean()),
        "false_alarms": float(false_alarm.mean()),
    }
