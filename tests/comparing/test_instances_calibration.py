"""False alarms of every test of instances, and J15's simulations; all vectorised and seeded."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

import instance_results as tests
from shardwise.core.arrays import Floats
from shardwise.methods.mixed import balanced

# deterministic?, M, N, sd of instances, and the rates of 10,000 simulated nulls at .05: mixed with the paper's df,
# mixed with Satterthwaite's, unified (below for two random systems), Algorithm 2 per instance, t on topic means,
# t on one instance
TABLE = [
    (True, 100, 50, 0.01, (0.059, 0.054, 0.053, 0.007, 0.054, 0.073)),
    (True, 100, 25, 0.01, (0.063, 0.050, 0.049, 0.008, 0.050, 0.062)),
    (True, 10, 200, 0.01, (0.062, 0.060, 0.049, 0.004, 0.060, 0.140)),
    (True, 5, 50, 0.03, (0.104, 0.097, 0.047, 0.014, 0.097, 0.222)),
    (True, 3, 25, 0.03, (0.102, 0.091, 0.052, 0.027, 0.091, 0.146)),
    (False, 100, 50, 0.01, (0.052, 0.047, np.nan, 0.001, 0.048, 0.083)),
    (False, 100, 25, 0.01, (0.062, 0.051, np.nan, 0.002, 0.052, 0.065)),
    (False, 5, 50, 0.03, (0.062, 0.052, np.nan, 0.023, 0.144, 0.301)),
    (False, 3, 25, 0.03, (0.071, 0.051, np.nan, 0.030, 0.123, 0.190)),
]
TOPIC, SYSTEM_TOPIC, RESIDUAL = 0.20, 0.10, 0.08


def null(
    rng: np.random.Generator, size: int, fixed: bool, m: int, n: int, sd: float
) -> tuple[Floats, Floats]:
    """Two systems without a difference: (size, M, N) and (size, M or 1, N)."""
    topic = rng.normal(0, TOPIC, (size, 1, n))

    def system(noisy: bool) -> Floats:
        y = topic + rng.normal(0, SYSTEM_TOPIC, (size, 1, n))
        if not noisy:
            return np.asarray(y)
        return np.asarray(y + rng.normal(0, sd, (size, m, 1)) + rng.normal(0, RESIDUAL, (size, m, n)))

    return system(True), system(not fixed)


def rates(seed: int, repetitions: int, fixed: bool, m: int, n: int, sd: float) -> Floats:
    """Share of p ≤ .05 for the six tests of the table."""
    rng = np.random.default_rng(seed)
    counts, done = np.zeros(6), 0
    while done < repetitions:
        size = min(repetitions - done, max(20, 2_000_000 // (m * n)))
        a, b = null(rng, size, fixed, m, n, sd)
        both = np.stack((a, np.broadcast_to(b, a.shape)), axis=1)  # a deterministic system copied, as in J15
        fit = balanced.restricted_maximum(balanced.split_lines(both, "crossed" if fixed else "nested"))
        difference, se = fit.lines.means[:, 0] - fit.lines.means[:, 1], np.sqrt(fit.difference_variance)
        z = a - b
        mean, spread, _ = tests.paired_t(z.mean(axis=1))
        one, one_spread, one_t = tests.paired_t(z)
        p = (
            tests.t_p(difference, se, both[0].size - 1.0),
            tests.t_p(difference, se, fit.satterthwaite()),
            tests.unified(a, b, deterministic=(False, fixed)).p,
            # the bootstrap of an instance's own t follows Student's distribution up to what the resampling adds
            (2.0 * stats.t.sf(np.abs(one_t), n - 1.0)).mean(axis=1),
            tests.t_p(mean, spread, n - 1.0),
            tests.t_p(one[:, 0], one_spread[:, 0], n - 1.0),
        )
        counts += [(each <= 0.05).sum() for each in p]
        done += size
    return counts / repetitions


def leave_near_ones(rows: list[Any]) -> list[Any]:
    """Rows of the table; those of 25 topics that others have with 50 wait for make full."""
    near = [(row[:2], row[3]) for row in TABLE if row[2] == 50]
    return [
        pytest.param(*row, marks=pytest.mark.full if row[2] == 25 and (row[:2], row[3]) in near else [])
        for row in rows
    ]


@pytest.mark.calibration
@pytest.mark.parametrize(("fixed", "m", "n", "sd", "gold"), leave_near_ones(TABLE))
def test_false_alarms(
    fixed: bool, m: int, n: int, sd: float, gold: tuple[float, ...], repetitions: float
) -> None:
    size = int((600 if m * n > 1000 else 4000) * repetitions)
    found, wanted = rates(m * n, size, fixed, m, n, sd), np.array(gold)
    error = np.sqrt(wanted * (1 - wanted) * (1 / size + 1 / 10_000))
    # 50 rates are looked at: four standard errors let one in three hundred such tables fail by chance
    given = np.isfinite(wanted)
    assert np.all(np.abs(found - wanted)[given] < (4 * error + 0.001)[given]), (found, wanted, error)


@pytest.mark.calibration
@pytest.mark.parametrize(("fixed", "m", "n", "sd"), [row[:4] for row in TABLE if not row[0]])
def test_the_default_keeps_its_level(fixed: bool, m: int, n: int, sd: float, repetitions: float) -> None:
    """Two random systems; against a deterministic one the table above has its rate."""
    rng = np.random.default_rng(m + n)
    size = int((1000 if m * n > 1000 else 6000) * repetitions)
    hits, done = 0, 0
    while done < size:
        step = min(size - done, max(20, 2_000_000 // (m * n)))
        a, b = null(rng, step, fixed, m, n, sd)
        hits += int((tests.unified(a, b, deterministic=(False, fixed)).p <= 0.05).sum())
        done += step
    # 10,000 repetitions a row gave rates from .045 to .052, simulation error on top
    assert hits / size == pytest.approx(0.05, abs=0.005 + 4 * np.sqrt(0.05 * 0.95 / size))


@pytest.mark.calibration
@pytest.mark.parametrize(
    ("reading", "wanted"), [("pooled", 0.097), ("averaged", 0.097), ("per-instance", 0.014)]
)
def test_false_alarms_of_the_bootstrap_itself(reading: str, wanted: float, repetitions: float) -> None:
    """Five noisy instances against a deterministic system: two readings of Algorithm 2 are like t on topic means."""
    size = int(300 * repetitions)
    a, b = null(np.random.default_rng(6), size, True, 5, 50, 0.03)
    hits = 0
    for z in a - b:
        mean = z.mean(axis=0, keepdims=True)
        own = tests.paired_t(z if reading == "per-instance" else mean)[2]
        rows, against = (mean, own) if reading == "averaged" else (z, np.broadcast_to(own, 5).copy())
        hits += tests.bootstrap_p(rows, against, 2000 // len(rows), 3) <= 0.05
    # a studentised bootstrap of 50 topics is itself a little off Student's distribution
    assert hits / size == pytest.approx(wanted, abs=4 * np.sqrt(wanted * (1 - wanted) / size) + 0.01)


@pytest.mark.calibration
def test_all_scores_as_independent_is_no_test(repetitions: float) -> None:
    a, b = null(np.random.default_rng(5), int(300 * repetitions), True, 100, 50, 0.01)
    z = (a - b).reshape(len(a), -1)
    mean, se, _ = tests.paired_t(z)
    rate = (tests.t_p(mean, se, z.shape[1] - 1.0) <= 0.05).mean()
    assert rate == pytest.approx(0.80, abs=4 * np.sqrt(0.16 / len(a)) + 0.01)


@pytest.mark.calibration
def test_unequal_instances_and_variances(repetitions: float) -> None:
    rng = np.random.default_rng(8)
    size = int(6000 * repetitions)
    topic = rng.normal(0, TOPIC, (size, 1, 40))
    parts = []
    for m, sd, residual in ((4, 0.04, 0.12), (12, 0.01, 0.05)):
        y = topic + rng.normal(0, SYSTEM_TOPIC, (size, 1, 40)) + rng.normal(0, sd, (size, m, 1))
        parts.append(y + rng.normal(0, residual, (size, m, 40)))
    rate = (tests.unified(*parts).p <= 0.05).mean()
    assert rate == pytest.approx(0.05, abs=0.006 + 4 * np.sqrt(0.05 * 0.95 / size))


@pytest.mark.calibration
def test_intervals_at_the_margin(repetitions: float) -> None:
    """With a true difference of δ, TOST errs in 5 %, the 95 % interval in 2.5 %, "not significant" far more often."""
    rng = np.random.default_rng(9)
    size, delta = int(4000 * repetitions), 0.04
    a, b = null(rng, size, False, 10, 100, 0.01)
    found = tests.unified(a + delta, b)
    se = np.sqrt(found.variance)
    for level, wanted in ((0.90, 0.05), (0.95, 0.025)):
        half = stats.t.isf((1 - level) / 2, found.df) * se
        inside = ((found.difference + half < delta) & (found.difference - half > -delta)).mean()
        assert inside == pytest.approx(wanted, abs=4 * np.sqrt(wanted * (1 - wanted) / size) + 0.004)
    not_significant = (found.p > 0.05).mean()
    assert not_significant > 0.15


def effectiveness(
    rng: np.random.Generator, size: int, m: int, mu: Floats, sigma: Floats
) -> tuple[Floats, Floats]:
    """J15 §1, §4: Euclidean length of a topic's and an instance's effect against uniform scores, 50 topics."""
    topic = rng.random((size, 1, 50))
    instance = np.clip(rng.normal(mu, sigma, (m, size)).T, 0.0, 1.0)[:, :, None]
    return np.sqrt((topic**2 + instance**2) / 2.0), rng.random((size, 1, 50))


def test_single_instances_contradict_each_other_as_they_vary() -> None:
    """J15 Fig. 2: without variation all instances agree; the more of it, the more conclusions are contradicted."""
    contradicted = []
    for sigma in (0.0, 0.05, 0.15, 0.3):
        rng = np.random.default_rng(2)
        a, b = effectiveness(rng, 300, 100, np.full(300, 0.2), np.full(300, sigma))
        mean, se, _ = tests.paired_t(a - b)
        share = (tests.t_p(mean, se, 49.0) <= 0.05).mean(axis=1)  # of the instances of one system
        contradicted.append(np.minimum(share, 1 - share).mean())
    assert contradicted[0] == 0.0
    assert np.all(np.diff(contradicted) > 0.01), contradicted
    assert contradicted[-1] > 0.15


@pytest.mark.parametrize(("mu", "low", "high"), [(0.05, 0.4, 0.8), (0.5, 0.0, 0.25), (0.95, 0.97, 1.0)])
def test_hill_of_figure_2(mu: float, low: float, high: float) -> None:
    """With little variation the share of significant tests has its valley where the expected scores are equal."""
    rng = np.random.default_rng(3)
    a, b = effectiveness(rng, 300, 20, np.full(300, mu), np.full(300, 0.02))
    mean, se, _ = tests.paired_t(a - b)
    assert low <= (tests.t_p(mean, se, 49.0) <= 0.05).mean() <= high


@pytest.mark.calibration
def test_bootstrap_and_mixed_model_agree(repetitions: float) -> None:
    """J15 Fig. 4: over random comparisons (5,000 at full length) the two p-values lie along the diagonal."""
    size = int(500 * repetitions)
    rng = np.random.default_rng(4)
    mu, sigma = rng.random(size), np.sqrt(rng.random(size))
    a, b = effectiveness(rng, size, 100, mu, sigma)
    fit = balanced.restricted_maximum(
        balanced.split_lines(np.stack((a, np.broadcast_to(b, a.shape)), axis=1), "crossed")
    )
    mixed = tests.t_p(fit.lines.means[:, 0] - fit.lines.means[:, 1], np.sqrt(fit.difference_variance), 9999.0)
    t = tests.paired_t((a - b).mean(axis=1))[2]
    # the same 20 resamples of each of 100 instances are as good as 2,000 of one
    boot = np.array(
        [tests.bootstrap_p(z, np.repeat(x, len(z)), 20, 1) for z, x in zip(a - b, t, strict=True)]
    )
    assert np.corrcoef(boot, mixed)[0, 1] > 0.99
    assert np.abs(boot - mixed).mean() < 0.02
    assert ((boot <= 0.05) == (mixed <= 0.05)).mean() > 0.95
