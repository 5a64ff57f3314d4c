"""Power and interval width by simulation from one's own scores, skewed and uneven as they are.

Topics are drawn with replacement from the user's own, systems are made equal on average, a difference is
planted, and the laboratory tries the planned test on many such tables. So the claim is about topics like these.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from shardwise.core.arguments import validate_choice, validate_count
from shardwise.core.arguments import validate_level as check_level
from shardwise.core.claim import Claim
from shardwise.core.errors import InputError
from shardwise.core.libraries import pd
from shardwise.lab.scenarios.from_scores import drawn_scenario
from shardwise.lab.trial import FEW_RESAMPLES, Case, Trial, estimate_rate
from shardwise.methods.names import parse_procedure
from shardwise.planning.design import validate_numbers
from shardwise.planning.plans import Plan
from shardwise.planning.variances import table_of

TESTS = {
    "moderated": ("moderated", "moderated test of all pairs, the default"),
    "hsd": ("MD1 hsd", "Tukey HSD on two-way ANOVA (topic + system)"),
    "t": ("t none", "paired t-test of each planted pair, not corrected for their number"),
}
"""Procedures, and what they are, by what a user types."""
PLANTS = {
    "pair": "one system min_diff/2 up, one min_diff/2 down, all others equal between them",
    "one": "one system min_diff ahead of all others, which are equal",
}


def simulated_power(
    scores: Any,
    *,
    topics: int | Iterable[int],
    min_diff: float,
    systems: int | None = None,
    test: str = "moderated",
    plant: str = "pair",
    alpha: float = 0.05,
    repetitions: int = 1000,
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
        How many tables to draw; 1000 place a power of .8 within .025.
    level : float
        Confidence of the Monte-Carlo limits of the power.
    seed : int
        Where the random numbers start.

    Returns
    -------
    Plan
        One row a number of topics: ``power`` (share of repetitions in which every planted pair differs significantly,
        in the right direction) with its Monte-Carlo limits, mean ``width`` of the intervals of the pairs tested, their
        ``coverage`` of the true differences, and ``false_alarms``: how often equal systems differ significantly
        (moderated and HSD: any pair of all systems; t: any of the pairs tested).

    >>> import numpy as np
    >>> rng = np.random.default_rng(3)
    >>> y = rng.beta(1, 3, size=(50, 1)) + rng.normal(0, .1, (50, 6))
    >>> result = simulated_power(y, topics=[25, 50, 100], min_diff=.06, systems=2, test="t", seed=1)
    >>> result.table[["topics", "power", "width"]].round(2)
       topics  power  width
    0      25   0.54   0.11
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
    validate_numbers("min_diff", min_diff)
    check_level(alpha)
    check_level(level, "level")
    validate_count(repetitions, "repetitions")
    procedure = parse_procedure(TESTS[test][0])
    # an uncorrected test of one pair has nothing to do with the other systems
    tested = 2 if (test, plant) == ("t", "pair") else m
    planted = np.zeros(tested)
    planted[0] = min_diff / 2.0 if plant == "pair" else min_diff
    planted[1] -= min_diff / 2.0 if plant == "pair" else 0.0
    claim = Claim("topic")
    rows = []
    for n in counts.tolist():
        cases = [
            Case(drawn_scenario(y, n, truth), "resample", moved)
            for truth, moved in ((np.zeros(tested), False), (planted, True))
        ]
        baselines = (0,) if test == "t" else ()
        trial = Trial(cases, [procedure], alpha, seed, (repetitions,), baselines, FEW_RESAMPLES)
        (equal,), (apart,) = trial.run(None, None)
        detected = estimate_rate((apart["found"][:, -1] == 1.0).astype(float), (1.0 - level) / 2.0)
        rows.append(
            {
                "topics": n,
                "power": detected.value,
                "power_low": detected.low,
                "power_high": detected.high,
                "width": float(apart["width"].mean()),
                "coverage": float(apart["coverage"].mean()),
                "false_alarms": float(equal["family"].mean()),
            }
        )
    sentence = claim.sentence(table.sizes, table.nouns)
    asked = f"difference {min_diff:g}, {m} systems, alpha {alpha:g}, {repetitions} repetitions, seed {seed}"
    lines = (f"{TESTS[test][1]}; {PLANTS[plant]}", asked, f"claim: {sentence}")
    stated = {"min_diff": float(min_diff), "systems": m, "alpha": float(alpha)}
    return Plan("simulated", pd.DataFrame(rows), lines, facts=stated)
