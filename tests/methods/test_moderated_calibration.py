"""Does the moderated test keep its 5 %? Seeded simulations of equal systems, short by default."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from bench.moderated_grid import similar_systems

from shardwise.core.arrays import Floats, Ints
from shardwise.lab.scenarios.from_scores import tilted_scenario
from shardwise.methods.moderated.method import ResampledDistribution, resample_topics
from shardwise.methods.moderated.statistics import (
    Noise,
    cell_statistics,
    moderated_statistics,
    of_instances,
    of_shards,
    of_shards_with_gaps,
    pairs_of,
)
from shardwise.methods.repeats.unified import instance_spread
from shardwise.stats.balanced import Decomposition, all_terms, decompose
from shardwise.stats.corrections import holm
from shardwise.stats.groups import count_wins
from shardwise.stats.resampling import key_of

pytestmark = pytest.mark.calibration
DRAWS = 239  # a single block of draws


def md6(y: Floats) -> Decomposition:
    dims = ("topic", "system", "shard")
    found = decompose(y, dims, all_terms(dims))
    assert found is not None
    return found


def alarm(y: Floats, seed: int, noise: Noise | None = None) -> bool:
    """Is any pair called different at .05?"""
    found = moderated_statistics(y, noise=noise)
    distribution = resample_topics(y, *pairs_of(y.shape[1]), found, key_of(seed), DRAWS, noise=noise, jobs=1)
    return bool(np.nanmin(distribution.p_adjusted) <= 0.05)


def rate(once: Callable[[np.random.Generator, int], bool], tables: float) -> tuple[float, float]:
    """Share of tables with an alarm, and 3.5 standard errors of a share of 5 %."""
    n = int(tables)
    found = np.mean([once(np.random.default_rng(i), i) for i in range(n)])
    return float(found), 3.5 * np.sqrt(0.05 * 0.95 / n)


def test_trec8_topics_redrawn(data: Path, repetitions: float) -> None:
    """METHODS §9 has 5.3 % for 22 systems, where HSD has 8.9 and max-t 15.6."""
    y = np.genfromtxt(data / "trec8" / "adhoc8_ap.csv", delimiter=",", skip_header=1)[:, ::6]
    z = y - y.mean(axis=0)
    found, error = rate(lambda g, i: alarm(z[g.integers(50, size=50)], i), 300 * repetitions)
    assert 0.053 - error < found < 0.053 + error


def best_set(x: Floats, distribution: ResampledDistribution) -> Ints:
    """Systems that no other is significantly better than."""
    systems = x.shape[1]
    significant = distribution.p_adjusted <= 0.05
    _, above = count_wins(significant, moderated_statistics(x).difference, *pairs_of(systems), systems)
    return np.flatnonzero(above == 0)


def test_the_best_set_holds_the_best(data: Path, repetitions: float) -> None:
    """All equal but one that is a little better: it is left out in at most 5 % of the tables."""
    y = np.genfromtxt(data / "trec8" / "adhoc8_ap.csv", delimiter=",", skip_header=1)[:, ::6]
    z = y - y.mean(axis=0) + 0.001 * (np.arange(22) == 7)

    def lost(g: np.random.Generator, seed: int) -> bool:
        x = z[g.integers(50, size=50)]
        distribution = resample_topics(x, *pairs_of(22), moderated_statistics(x), key_of(seed), DRAWS, jobs=1)
        return 7 not in best_set(x, distribution)

    found, error = rate(lost, 300 * repetitions)
    assert found < 0.05 + error


@pytest.mark.parametrize("systems", [5, 10])
def test_the_best_set_holds_equal_systems_on_few_topics(systems: int, data: Path, repetitions: float) -> None:
    """A few similar systems on 25 topics that are tilted until none differ: each is held in 95 % of the tables.

    By the quantile of the leads over a system alone, pilots of 1,000 tables (other seeds) held 91.9 and 91.8 %, with a
    spread of .15 and .13 over tables: 1,000 tables tell these from 95 % by 3.5 standard errors with a power of 99 %.
    """
    y = np.genfromtxt(data / "trec8" / "adhoc8_ap.csv", delimiter=",", skip_header=1)
    scenario = tilted_scenario(y[:, similar_systems(y, most=systems)], topics=25)
    held = []
    for seed, x in enumerate(scenario.draw(0, int(1000 * repetitions), 1)):
        distribution = resample_topics(
            x, *pairs_of(systems), moderated_statistics(x), key_of(seed), DRAWS, jobs=1
        )
        held.append(best_set(x, distribution).size / systems)
    assert np.mean(held) > 0.95 - 3.5 * np.std(held) / np.sqrt(len(held))


def scores(sizes: tuple[int, int, int], effect: Floats, g: np.random.Generator) -> Floats:
    """Topic:system, an effect of system and shard or instance, error; no differences."""
    t, r, m = sizes
    between = 0.1 * g.normal(size=(t, r, 1)) + effect[:, None] * g.normal(size=(1, r, m))
    return np.asarray(between + 0.08 * g.normal(size=sizes))


@pytest.mark.parametrize("noisy", [2, 3])
def test_five_seeds_and_a_few_noisier_systems(noisy: int, repetitions: float) -> None:
    effect = np.where(np.arange(10) < noisy, 0.03, 0.0)

    def with_effect(g: np.random.Generator, seed: int) -> bool:
        y = scores((50, 10, 5), effect, g)
        return alarm(y.mean(axis=-1), seed, of_instances(instance_spread(y[None])).select_part(0))

    found, error = rate(with_effect, 300 * repetitions)
    assert 0.035 - error < found < 0.05 + error
    without, _ = rate(lambda g, i: alarm(scores((50, 10, 5), effect, g).mean(axis=-1), i), 300 * repetitions)
    assert without > found + 0.02


def test_shards_like_these(repetitions: float) -> None:
    def with_effect(g: np.random.Generator, seed: int) -> bool:
        y = scores((50, 10, 5), np.full(10, 0.02), g)
        return alarm(y.mean(axis=-1), seed, of_shards(md6(y)))

    found, error = rate(with_effect, 300 * repetitions)
    assert 0.035 - error < found < 0.05 + error


def test_missing_scores(repetitions: float) -> None:
    spread = np.linspace(0.5, 2.0, 8)

    def holes(g: np.random.Generator, seed: int) -> bool:
        y = spread * g.normal(size=(40, 8))
        y[:20, ::3] = np.nan
        y[g.random(y.shape) < 0.1] = np.nan
        return alarm(y, seed)

    found, error = rate(holes, 300 * repetitions)
    assert 0.035 - error < found < 0.05 + error


def undefined(y: Floats, share: float, g: np.random.Generator) -> Floats:
    """Scores without some cells of topics and shards, for all systems; every topic keeps its first shard."""
    gone = g.random((y.shape[0], 1, y.shape[2])) < share
    gone[:, :, 0] = False
    return np.where(gone, np.nan, y)


def test_shards_that_topics_lack(repetitions: float) -> None:
    """A third of the cells but those of the first shard is undefined."""

    def with_effect(g: np.random.Generator, seed: int) -> bool:
        y = undefined(scores((30, 8, 5), np.full(8, 0.03), g), 0.33, g)
        return alarm(np.nanmean(y, axis=-1), seed, of_shards_with_gaps(y))

    found, error = rate(with_effect, 300 * repetitions)
    assert 0.035 - error < found < 0.05 + error


def test_cells_that_topics_lack(repetitions: float) -> None:
    n = int(300 * repetitions)
    g = np.random.default_rng(2)
    found = [cell_statistics(undefined(g.normal(size=(20, 8, 5)), 0.33, g)).p for _ in range(n)]
    alarms = np.mean([holm(p).min() <= 0.05 for p in found])
    assert alarms < 0.05 + 3.5 * np.sqrt(0.05 * 0.95 / n)


def test_cells_with_holm_where_topics_and_systems_are_unsteady(repetitions: float) -> None:
    spread = np.geomspace(1.0, 0.1, 30)[:, None, None] * np.where(np.arange(12) < 3, 4.0, 1.0)[:, None]
    n = int(1000 * repetitions)
    y = spread * np.random.default_rng(1).normal(size=(n, 30, 12, 4))
    found = cell_statistics(y)
    alarms = np.mean([holm(p).min() <= 0.05 for p in found.p])
    assert alarms < 0.05 + 3.5 * np.sqrt(0.05 * 0.95 / n)
