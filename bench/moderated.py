"""The moderated test: its speed against max-t, and how well it keeps its promise.

python -m bench.moderated [folder of the data] [speed | topics | top | rejected | cells | effects | holes …]

Prints one table a part; docs/validation.md quotes them.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from scipy import optimize, special
from sklearn.covariance import LedoitWolf

from bench.crew import crew
from bench.replication import load, markdown
from shardwise.core.arrays import Floats
from shardwise.io.reader import read_collection
from shardwise.methods.moderated.method import resample_topics
from shardwise.methods.moderated.statistics import (
    SHARDS,
    Noise,
    cell_statistics,
    moderated_statistics,
    of_instances,
    of_shards,
    of_shards_with_gaps,
    pairs_of,
    run_stratified,
)
from shardwise.methods.paired.statistics import flip_topics
from shardwise.methods.repeats.unified import instance_spread
from shardwise.scoring.scoring import score
from shardwise.sharding.split import split
from shardwise.stats import studentized_range
from shardwise.stats.balanced import all_terms, decompose
from shardwise.stats.corrections import holm
from shardwise.stats.resampling import key_of
from shardwise.stats.student import t_statistic, two_sided

DRAWS = 499
REPETITIONS = int(os.environ.get("REPETITIONS", "1000"))
ALPHA = 0.05
SPLITS = 20
SHIFT = 0.25  # share of the real differences that is planted to see how many pairs are found

Case = tuple[
    tuple[int, int, int], float, list[float], float
]  # sizes; sd of topic:system, of effects, of errors
Methods = dict[str, Callable[[Floats, int], Floats]]  # (table, seed) -> adjusted p of all pairs


@dataclass(frozen=True)
class Scenario:
    """Where tables come from: equal systems, and how far apart they are when they are not."""

    draw: Callable[[np.random.Generator], Floats]  # a table without differences, systems on the second axis
    effects: Floats | None = None  # (R,)


def rates(scenario: Scenario, methods: Methods, chunk: tuple[int, int]) -> Floats:
    """(2, methods) sums over tables: any equal pair called different, share of pairs found when planted."""
    out = np.zeros((2, len(methods)))
    for i in range(*chunk):
        y = scenario.draw(np.random.default_rng(i))
        for m, method in enumerate(methods.values()):
            out[0, m] += np.nanmin(method(y, i)) <= ALPHA
            if scenario.effects is not None:
                moved = y + scenario.effects.reshape(-1, *[1] * (y.ndim - 2))
                out[1, m] += np.mean(method(moved, i) <= ALPHA)
    return out


def table_of(scenarios: dict[str, Scenario], methods: Methods, pool: Executor) -> str:
    """One row a scenario: family-wise error in per cent, and the per cent of pairs found where planted."""
    rows = []
    step = -(-REPETITIONS // 8)
    chunks = [(i, min(i + step, REPETITIONS)) for i in range(0, REPETITIONS, step)]
    for name, scenario in scenarios.items():
        error, found = 100 * sum(pool.map(partial(rates, scenario, methods), chunks)) / REPETITIONS
        planted = scenario.effects is not None
        rows.append(
            [name, *(f"{e:.1f}" + f" / {f:.0f}" * planted for e, f in zip(error, found, strict=True))]
        )
        print(rows[-1], flush=True)
    return markdown([f"{REPETITIONS} tables", *methods], rows)


def hsd(y: Floats, seed: int) -> Floats:
    found = moderated_statistics(y, d0=np.inf)
    return studentized_range.sf(np.sqrt(2) * np.abs(found.t), y.shape[1], found.df)


def t_holm(y: Floats, seed: int) -> Floats:
    return holm(moderated_statistics(y, d0=0.0).p)


def max_t(y: Floats, seed: int) -> Floats:
    paired = moderated_statistics(y, d0=0.0)
    return flip_topics(y, *pairs_of(y.shape[1]), paired.difference, paired.se, key_of(seed), DRAWS).p_adjusted


def moderated(y: Floats, seed: int) -> Floats:
    return resample_topics(
        y, *pairs_of(y.shape[1]), moderated_statistics(y), key_of(seed), DRAWS, jobs=1
    ).p_adjusted


def moderated_holm(y: Floats, seed: int) -> Floats:
    return holm(moderated_statistics(y).p)


TOPICS: Methods = {
    "HSD": hsd, "t holm": t_holm, "max-t": max_t, "moderated": moderated, "moderated holm": moderated_holm,
}  # fmt: skip


def redrawn(z: Floats, topics: int, g: np.random.Generator) -> Floats:
    """Topics of a table without system means, drawn with replacement."""
    return np.ascontiguousarray(z[g.integers(len(z), size=topics)])


def scenarios_of_topics(folder: Path) -> dict[str, Scenario]:
    y = np.genfromtxt(folder / "trec8" / "adhoc8_ap.csv", delimiter=",", skip_header=1)
    scenarios = {}
    for step, t in ((6, 50), (6, 25), (3, 50)):
        some = y[:, ::step]
        z = some - some.mean(axis=0)
        scenarios[f"TREC-8 AP, {t} topics × {some.shape[1]} systems"] = Scenario(partial(redrawn, z, t))
    return scenarios


def top_sizes(y: Floats, topics: int, chunk: tuple[int, int]) -> Floats:
    """(2, 2) sums over tables with the real differences: size of the top group and whether it holds the best.

    In the first row the moderated test's, in the second HSD's: the best by its mean and all that are not told from it.
    """
    out = np.zeros((2, 2))
    best, (ia, ib) = int(y.mean(axis=0).argmax()), pairs_of(y.shape[1])
    for i in range(*chunk):
        x = redrawn(y, topics, np.random.default_rng(i))
        group = resample_topics(x, ia, ib, moderated_statistics(x), key_of(i), DRAWS, jobs=1).best(ALPHA)
        first = int(x.mean(axis=0).argmax())
        with_first = ((ia == first) | (ib == first)) & (hsd(x, i) > ALPHA)
        alike = np.union1d(np.concatenate([ia[with_first], ib[with_first]]), first)
        out += [[one.size, best in one] for one in (group, alike)]
    return out


def top(folder: Path, pool: Executor) -> str:
    """How large the top group of a real table is, and how often it holds the truly best system."""
    y = np.genfromtxt(folder / "trec8" / "adhoc8_ap.csv", delimiter=",", skip_header=1)
    rows = []
    for step, t in ((1, 50), (1, 25), (6, 50), (6, 25), (13, 50), (13, 25)):
        some = y[:, ::step]
        chunks = [(i, min(i + 25, REPETITIONS)) for i in range(0, REPETITIONS, 25)]
        sums = sum(pool.map(partial(top_sizes, some, t), chunks)) / REPETITIONS
        cells = (f"{size:.1f} / {100 * held:.1f}" for size, held in sums)
        rows.append([f"TREC-8 AP, {t} topics × {some.shape[1]} systems", *cells])
        print(rows[-1], flush=True)
    return markdown([f"{REPETITIONS} tables", "moderated", "HSD"], rows)


def topics(folder: Path, pool: Executor) -> str:
    """TREC-8 AP: systems moved to one mean, topics redrawn."""
    return table_of(scenarios_of_topics(folder), TOPICS, pool)


def estimated(y: Floats, seed: int) -> Floats:
    """d0 from how the variances of pairs vary (Smyth 2004), and the distribution of the moderated test."""
    found = moderated_statistics(y)
    df = len(y) - 1.0
    e = np.log(found.own) - special.digamma(df / 2) + np.log(df / 2)
    more = float(e.var(ddof=1) - special.polygamma(1, df / 2))
    if more <= 0.0:
        d0 = 1e6
    else:
        d0 = 2.0 * optimize.brentq(lambda x: float(special.polygamma(1, x)) - more, 1e-3, 1e6)
    return resample_topics(
        y, *pairs_of(y.shape[1]), moderated_statistics(y, d0=d0), key_of(seed), DRAWS, jobs=1
    ).p_adjusted


def normal_distribution(y: Floats, seed: int) -> Floats:
    """Largest t under a normal distribution with Ledoit and Wolf's covariance of the systems."""
    covariance = LedoitWolf().fit(y).covariance_
    ia, ib = pairs_of(y.shape[1])
    spread = np.sqrt(covariance[ia, ia] + covariance[ib, ib] - 2.0 * covariance[ia, ib])
    t = np.sqrt(len(y)) * np.abs(y.mean(axis=0)[ia] - y.mean(axis=0)[ib]) / spread
    draws = np.random.default_rng(seed).multivariate_normal(np.zeros(y.shape[1]), covariance, 4 * DRAWS)
    largest = (np.abs(draws[:, ia] - draws[:, ib]) / spread).max(axis=1)
    return np.asarray((1 + (largest[:, None] >= t).sum(axis=0)) / (1 + len(largest)))


def skewed(y: Floats, seed: int, how: str) -> Floats:
    """Paired t corrected for skewness, with Holm: Johnson (1978), or Hall (1992)."""
    ia, ib = pairs_of(y.shape[1])
    d = y[:, ia] - y[:, ib]
    n, mean, s = len(d), d.mean(axis=0), d.std(axis=0, ddof=1)
    third = ((d - mean) ** 3).mean(axis=0)
    if how == "johnson":
        t = (mean + third / (6 * s**2 * n) + third * mean**2 / (3 * s**4)) * np.sqrt(n) / s
    else:
        skew, t0 = third / s**3, np.sqrt(n) * mean / s
        root = np.sqrt(n)
        t = t0 + skew * t0**2 / (3 * root) + skew**2 * t0**3 / (27 * n) + skew / (6 * root)
    return holm(two_sided(t, np.full(t.shape, n - 1.0)))


def trimmed(y: Floats, seed: int) -> Floats:
    """Yuen's t of differences without the outer tenth on either side, with Holm."""
    ia, ib = pairs_of(y.shape[1])
    d = np.sort(y[:, ia] - y[:, ib], axis=0)
    n, cut = len(d), len(d) // 10
    kept = d[cut : n - cut].mean(axis=0)
    wide = np.clip(d, d[cut], d[n - cut - 1]).std(axis=0, ddof=1)
    left = n - 2 * cut
    t = kept * left / (wide * np.sqrt(n))
    return holm(two_sided(t, np.full(t.shape, left - 1.0)))


REJECTED: Methods = {
    "moderated": moderated, "d0 estimated": estimated, "normal distribution": normal_distribution,
    "Johnson's t, holm": partial(skewed, how="johnson"), "Hall's t, holm": partial(skewed, how="hall"),
    "trimmed, holm": trimmed, "max-t": max_t,
}  # fmt: skip


def rejected(folder: Path, pool: Executor) -> str:
    """What else was tried, in the scenarios of `topics`."""
    return table_of(scenarios_of_topics(folder), REJECTED, pool)


def cells_hsd(y: Floats, seed: int) -> Floats:
    found = cell_statistics(y, d0=np.inf)
    return studentized_range.sf(np.sqrt(2) * np.abs(found.t), y.shape[1], found.df)


def cells_holm(y: Floats, seed: int) -> Floats:
    return holm(cell_statistics(y).p)


def strata_holm(y: Floats, seed: int) -> Floats:
    difference, se, df = run_stratified(y)
    return holm(two_sided(t_statistic(difference, se), df))


CELLS: Methods = {"MD6 HSD": cells_hsd, "cells holm": cells_holm, "strata holm": strata_holm}


def shards_of(z: Floats, shards: int, g: np.random.Generator) -> Floats:
    """(T, R, S): for every topic shards drawn out of its many; z is (T, R, N), its means over N all 0."""
    at = g.integers(z.shape[2], size=(len(z), 1, shards))
    return np.take_along_axis(z, np.broadcast_to(at, (*z.shape[:2], shards)), axis=2)


def steady_or_not(spread: Floats, shards: int, systems: int, g: np.random.Generator) -> Floats:
    """Normal errors with a standard deviation of their own on every topic and for every system."""
    return np.asarray(spread * g.normal(size=(len(spread), systems, shards)))


def scored(folder: Path, shards: int) -> Iterator[tuple[str, Floats]]:
    """(T, R, SPLITS · S) AP of Robust 2003 and of every seventh run of TREC-COVID; undefined cells count as 0."""
    robust = folder / "robust2003"
    runs = read_collection(sorted(robust.glob("input.*.gz")), robust / "robust03_qrels.txt.gz")
    made = split(runs, shards, n_splits=SPLITS, seed=0)
    order = ("topic", "system", "split", "shard")
    ap = score(runs, ["AP"], made)["AP"].transpose(*order).to_numpy()
    yield "Robust 2003", np.nan_to_num(ap).reshape(*ap.shape[:2], -1)
    runs, corpus = load(folder / "trec-covid-r1")
    made = split(runs, shards, n_splits=SPLITS, seed=0, corpus=corpus, unlisted="add")
    ap = score(runs, ["AP"], made)["AP"].transpose(*order).to_numpy()[:, ::7]
    yield "TREC-COVID", np.nan_to_num(ap).reshape(*ap.shape[:2], -1)


def cells(folder: Path, pool: Executor) -> str:
    """Claims about these topics: scores on real shards, and normal errors that differ by topic and system."""
    scenarios = {}
    for shards in (2, 5):
        for name, y in scored(folder, shards):
            mean = y.mean(axis=(0, 2))
            z = y - y.mean(axis=2, keepdims=True)
            title = f"{name}, {y.shape[0]} × {y.shape[1]} × {shards}"
            scenarios[title] = Scenario(partial(shards_of, z, shards), SHIFT * (mean - mean.mean()))
    for title, ratio in (("errors alike", 1.0), ("errors by topic", 10.0)):
        spread = 0.1 * np.geomspace(1.0, 1.0 / ratio, 50)[:, None, None] * np.ones((1, 20, 1))
        scenarios[f"{title}, 50 × 20 × 5"] = Scenario(partial(steady_or_not, spread, 5, 20))
    spread = spread * np.where(np.arange(20) < 4, 4.0, 1.0)[:, None]
    scenarios["errors by topic and system, 50 × 20 × 5"] = Scenario(partial(steady_or_not, spread, 5, 20))
    return table_of(scenarios, CELLS, pool)


def noise_of(y: Floats, own: bool) -> Noise:
    if own:
        return of_instances(instance_spread(y[None])).select_part(0)
    found = decompose(y, SHARDS, all_terms(SHARDS))
    return of_shards_with_gaps(y) if found is None else of_shards(found)


def chance(y: Floats, seed: int, own: bool) -> Floats:
    noise = noise_of(y, own)
    x = np.ascontiguousarray(np.nanmean(y, axis=-1))
    ia, ib = pairs_of(x.shape[1])
    return resample_topics(
        x, ia, ib, moderated_statistics(x, noise=noise), key_of(seed), DRAWS, noise=noise, jobs=1
    ).p_adjusted


def chance_holm(y: Floats, seed: int, own: bool) -> Floats:
    noise = noise_of(y, own)
    return holm(moderated_statistics(np.nanmean(y, axis=-1), noise=noise).p)


def averaged(y: Floats, seed: int) -> Floats:
    return moderated(np.ascontiguousarray(np.nanmean(y, axis=-1)), seed)


def mixed_scores(
    sizes: tuple[int, int, int], ts: float, effect: Floats, e: float, g: np.random.Generator
) -> Floats:
    """(T, R, S or M): topic:system, an effect of system and shard (or instance), error; equal systems."""
    t, r, m = sizes
    return np.asarray(
        ts * g.normal(size=(t, r, 1))
        + effect[:, None] * g.normal(size=(1, r, m))
        + e * g.normal(size=(t, r, m))
    )


SHARD_EFFECTS: tuple[Case, ...] = (
    ((50, 10, 5), 0.08, [0.005] * 10, 0.06),
    ((50, 10, 5), 0.08, [0.02] * 10, 0.06),
    ((50, 10, 2), 0.08, [0.02] * 10, 0.06),
)
INSTANCE_EFFECTS: tuple[Case, ...] = (
    ((50, 10, 5), 0.1, [0.03] * 3 + [0.0] * 7, 0.08),
    ((50, 10, 5), 0.1, [0.03] * 10, 0.08),
    ((25, 10, 3), 0.1, [0.04] * 2 + [0.01] * 8, 0.08),
    ((100, 10, 5), 0.05, [0.05] * 3 + [0.02] * 7, 0.08),
)


def effects(folder: Path, pool: Executor) -> str:
    """Claims about shards, or instances, like these: with and without their effects in the error."""
    parts = []
    for own, cases in ((False, SHARD_EFFECTS), (True, INSTANCE_EFFECTS)):
        methods: Methods = {
            "moderated on means": averaged,
            "with the effect": partial(chance, own=own),
            "with the effect, holm": partial(chance_holm, own=own),
        }
        scenarios = {}
        for sizes, ts, sd, e in cases:
            what = "instances" if own else "shards"
            spread = " and ".join(f"{v:g} ({sd.count(v)})" for v in dict.fromkeys(sd))
            scenarios[f"{what}, {' × '.join(map(str, sizes))}, sd {spread}"] = Scenario(
                partial(mixed_scores, sizes, ts, np.array(sd), e)
            )
        parts.append(table_of(scenarios, methods, pool))
    return "\n\n".join(parts)


def undefined(scenario: Callable[[np.random.Generator], Floats], g: np.random.Generator) -> Floats:
    """A third of the cells of topics and shards is undefined for all systems, but no topic loses all."""
    y = scenario(g)
    gone = g.random((y.shape[0], 1, y.shape[2])) < 1 / 3
    np.put_along_axis(gone, g.integers(y.shape[2], size=(len(y), 1, 1)), False, axis=2)
    return np.where(gone, np.nan, y)


def gaps(folder: Path, pool: Executor) -> str:
    """Shards on which some topics have no relevant documents: claims about shards, and about these topics."""
    scenarios = {
        f"{' × '.join(map(str, sizes))}, sd {sd[0]:g}": Scenario(
            partial(undefined, partial(mixed_scores, sizes, ts, np.array(sd), e))
        )
        for sizes, ts, sd, e in SHARD_EFFECTS[:2]
    }
    methods: Methods = {
        "moderated on means": averaged,
        "with the effect": partial(chance, own=False),
        "with the effect, holm": partial(chance_holm, own=False),
    }
    of_shards_too = table_of(scenarios, methods, pool)
    here = {}
    for title, ratio in (("errors alike", 1.0), ("errors by topic", 10.0)):
        spread = 0.1 * np.geomspace(1.0, 1.0 / ratio, 50)[:, None, None] * np.ones((1, 10, 1))
        here[f"{title}, 50 × 10 × 5"] = Scenario(partial(undefined, partial(steady_or_not, spread, 5, 10)))
    of_cells = table_of(here, {"MD6 HSD": cells_hsd, "cells holm": cells_holm}, pool)
    return f"{of_shards_too}\n\n{of_cells}"


def punched(z: Floats, topics: int, share: float, few: bool, g: np.random.Generator) -> Floats:
    """Redrawn topics with holes: at random, or a third of the systems without half of the topics."""
    y = redrawn(z, topics, g)
    if few:
        y[: topics // 2, ::3] = np.nan
    else:
        y[g.random(y.shape) < share] = np.nan
    return y


def holes(folder: Path, pool: Executor) -> str:
    """Missing scores: TREC-8 AP redrawn as in `topics`, and normal scores."""
    y = np.genfromtxt(folder / "trec8" / "adhoc8_ap.csv", delimiter=",", skip_header=1)[:, ::12]
    real = y - y.mean(axis=0)
    normal = np.random.default_rng(0).normal(size=(2000, 11)) * np.linspace(0.5, 2.0, 11)
    scenarios = {}
    for name, z in (("TREC-8 AP", real), ("normal", normal - normal.mean(axis=0))):
        scenarios[f"{name}, 50 × 11, full"] = Scenario(partial(redrawn, z, 50))
        scenarios[f"{name}, 20 % missing"] = Scenario(partial(punched, z, 50, 0.2, False))
        scenarios[f"{name}, a third without half"] = Scenario(partial(punched, z, 50, 0.0, True))
    return table_of(scenarios, {"moderated": moderated, "moderated holm": moderated_holm}, pool)


def clocked(work: Callable[[], object], repetitions: int = 5) -> tuple[float, float]:
    """Least seconds, and processor seconds, of several calls after one that compiles."""
    work()
    wall, processor = [], []
    for _ in range(repetitions):
        began, own = time.perf_counter(), time.process_time()
        work()
        wall.append(time.perf_counter() - began)
        processor.append(time.process_time() - own)
    return min(wall), min(processor)


def speed(folder: Path, pool: Executor) -> str:
    """TREC-8 AP with 9,999 draws against max-t with as many flips, and a table of 500 systems."""
    y = np.genfromtxt(folder / "trec8" / "adhoc8_ap.csv", delimiter=",", skip_header=1)
    ia, ib = pairs_of(y.shape[1])
    paired, found = moderated_statistics(y, d0=0.0), moderated_statistics(y)
    flips = clocked(lambda: flip_topics(y, ia, ib, paired.difference, paired.se, key_of(1), 9999))
    rows = [["max-t, 129 × 50, 9,999 flips", *(f"{v:.2f}" for v in flips), "1", "1"]]
    for jobs in (1, 2):
        took = clocked(partial(resample_topics, y, ia, ib, found, key_of(1), 9999, jobs=jobs))
        ratio = (f"{a / b:.2f}" for a, b in zip(took, flips, strict=True))
        rows.append(
            [f"moderated, 129 × 50, 9,999 draws, {jobs} threads", *(f"{v:.2f}" for v in took), *ratio]
        )
    y = np.random.default_rng(1).normal(size=(200, 500))
    ia, ib = pairs_of(500)
    took = clocked(partial(resample_topics, y, ia, ib, moderated_statistics(y), key_of(1), 1999, jobs=2), 1)
    rows.append(["moderated, 500 × 200, 1,999 draws, 2 threads", *(f"{v:.1f}" for v in took), "", ""])
    return markdown(["", "seconds", "processor seconds", "ratio", "ratio, processor"], rows)


PARTS = {
    "speed": speed,
    "topics": topics,
    "top": top,
    "rejected": rejected,
    "cells": cells,
    "effects": effects,
    "holes": holes,
    "gaps": gaps,
}


def main() -> None:
    words = sys.argv[1:]
    chosen = [w for w in words if w in PARTS] or list(PARTS)
    folders = [w for w in words if w not in PARTS]
    folder = Path(folders[0] if folders else os.environ.get("SHARDWISE_DATA", "../shared/data"))
    with crew() as pool:
        for name in chosen:
            began = time.perf_counter()
            table = PARTS[name](folder, pool)
            print(f"\n## {name} ({time.perf_counter() - began:.0f} s)\n\n{table}\n", flush=True)


if __name__ == "__main__":
    main()
