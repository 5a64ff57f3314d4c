"""How often each statement is false, and how often it is made: margins, intervals, sequential gates, planned power.

python -m bench.statements [part …] [--repetitions 10000] [--data folder]

Parts: margins, seeds, means, differences, sequential, needed, planning; all of them by default. Each writes
docs/bench/statements_<part>.csv, one row a cell with its Monte-Carlo standard error; docs/bench/statements.md sums
them up.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import scipy

import shardwise as sw
from shardwise.core.arrays import Floats, Ints
from shardwise.io.scores import read_scores
from shardwise.lab.scenarios.from_scores import effective_topics, tilted_weights
from shardwise.methods.moderated.statistics import moderated_statistics, of_instances
from shardwise.methods.repeats.unified import instance_spread
from shardwise.stats import intervals, sequential, units

ROOT = Path(__file__).parent.parent
OUT = ROOT / "docs" / "bench"
ALPHA = 0.05
BLOCK = 2000

Draw = Callable[[np.random.Generator, int, int, int, float], tuple[Floats, Floats]]
Pairs = Callable[[np.random.Generator, int, int], tuple[Floats, Floats]]


@dataclass(frozen=True)
class Cell:
    """One row of the table of margins: pairs with a known true difference."""

    kind: str
    items: int
    margin: float
    # function of (rng, count, items) that draws (count, items) scores of new and base, by true difference
    draw: Callable[[float], Pairs]
    cluster: Ints | None = None


def nested(accuracy: float) -> Callable[[float], Pairs]:
    """New is right only where base is; at equality both always agree."""

    def at(difference: float) -> Pairs:
        def draw(rng: np.random.Generator, count: int, items: int) -> tuple[Floats, Floats]:
            base = rng.random((count, items)) < accuracy
            new = base & (rng.random((count, items)) >= -difference / accuracy)
            return new.astype(float), base.astype(float)

        return draw

    return at


def correlated(accuracy: float, only_new: float) -> Callable[[float], Pairs]:
    """Right or wrong; new alone is right on a share of the items, base alone on that share less the difference."""

    def at(difference: float) -> Pairs:
        def draw(rng: np.random.Generator, count: int, items: int) -> tuple[Floats, Floats]:
            u = rng.random((count, items))
            only_base = only_new - difference
            a, b = u < only_new, (u >= only_new) & (u < only_new + only_base)
            both = (u >= only_new + only_base) & (u < accuracy)
            return (a | both).astype(float), (b | both).astype(float)

        return draw

    return at


def population(new: Floats, base: Floats) -> Callable[[float], Pairs]:
    """Items of a finite population drawn with the chances closest to equal ones that give the difference."""

    def at(difference: float) -> Pairs:
        weights = tilted_weights(np.stack([new, base], axis=1), np.array([difference, 0.0]))
        if weights is None:
            raise ValueError(f"no chances of items give a difference of {difference}")

        def draw(rng: np.random.Generator, count: int, items: int) -> tuple[Floats, Floats]:
            rows = rng.choice(len(weights), size=(count, items), p=weights)
            return new[rows], base[rows]

        return draw

    return at


def graded_population(ties: float, seed: int) -> tuple[Floats, Floats]:
    """Scores of 0, .25 … 1 on 2,000 items; new is another draw of the same grade distribution where it is not tied."""
    rng = np.random.default_rng(seed)
    chances = np.array([0.1, 0.1, 0.15, 0.25, 0.4])
    grades = np.arange(5) / 4.0
    base = rng.choice(grades, 2000, p=chances)
    new = np.where(rng.random(2000) < ties, base, rng.choice(grades, 2000, p=chances))
    return new, base


def real_pairs(table: Floats, margins: tuple[float, ...], seed: int, most: int = 150) -> list[Ints]:
    """Pairs of a real table that chances of topics can set apart by the margins, counting as half the topics."""
    rng = np.random.default_rng(seed)
    found: list[Ints] = []
    for _ in range(20 * most):
        pair = rng.choice(table.shape[1], 2, replace=False)
        counts = []
        for difference in (*(-m for m in margins), 0.0):
            weights = tilted_weights(table[:, pair], np.array([difference, 0.0]))
            counts.append(0.0 if weights is None else effective_topics(weights))
        if min(counts) >= 0.5 * len(table):
            found.append(pair)
        if len(found) == most:
            break
    return found


def real(table: Floats, pairs: list[Ints]) -> Callable[[float], Pairs]:
    """Topics of a real table, another pair of systems in every table of scores."""

    def at(difference: float) -> Pairs:
        weights = [tilted_weights(table[:, pair], np.array([difference, 0.0])) for pair in pairs]
        edges = np.array([np.cumsum(w) / np.sum(w) for w in weights if w is not None])
        both = np.array([table[:, pair].T for pair in pairs])

        def draw(rng: np.random.Generator, count: int, items: int) -> tuple[Floats, Floats]:
            new, base = np.empty((count, items)), np.empty((count, items))
            which = rng.integers(len(pairs), size=count)
            for k in np.unique(which):
                rows = np.flatnonzero(which == k)
                topics = np.searchsorted(edges[k], rng.random((len(rows), items)), side="right")
                topics = np.minimum(topics, table.shape[0] - 1)
                new[rows], base[rows] = both[k, 0][topics], both[k, 1][topics]
            return new, base

        return draw

    return at


def clustered(cluster: Ints, inner: Callable[[float], Pairs], together: float) -> Callable[[float], Pairs]:
    """Items of a cluster share one draw with the probability `together`, and have their own otherwise."""

    def at(difference: float) -> Pairs:
        draw_pairs = inner(difference)

        def draw(rng: np.random.Generator, count: int, items: int) -> tuple[Floats, Floats]:
            own = draw_pairs(rng, count, items)
            common = draw_pairs(rng, count, int(cluster.max()) + 1)
            shared = rng.random((count, items)) < together
            return np.where(shared, common[0][:, cluster], own[0]), np.where(
                shared, common[1][:, cluster], own[1]
            )

        return draw

    return at


def sampled(samples: int, steady: float) -> Callable[[float], Pairs]:
    """Means of right or wrong samples an item; a share of the items is always right for both."""

    def at(difference: float) -> Pairs:
        def draw(rng: np.random.Generator, count: int, items: int) -> tuple[Floats, Floats]:
            chance = np.where(rng.random((count, items)) < steady, 1.0, rng.beta(1.0, 1.0, (count, items)))
            lower = np.clip(chance * (1.0 + difference / (steady + (1.0 - steady) / 2.0)), 0.0, 1.0)
            return rng.binomial(samples, lower) / samples, rng.binomial(samples, chance) / samples

        return draw

    return at


def sizes(count: int, mean: int, uneven: bool) -> Ints:
    """Clusters of one size, or of sizes from 1 to five times the mean."""
    if not uneven:
        return np.repeat(np.arange(count), mean)
    numbers = np.maximum(1, np.round(mean * np.geomspace(0.2, 3.0, count)).astype(int))
    return np.repeat(np.arange(count), numbers)


def tables(folder: Path) -> dict[str, Floats]:
    """Real AP by collection, (T, R)."""
    found = {
        "TREC-8 AP": read_scores(folder / "trec8" / "adhoc8_ap.csv").to_numpy(),
        "TREC-3 AP": read_scores(folder / "trec3" / "adhoc3_ap.csv").to_numpy(),
    }
    kept = ROOT / ".cache" / "covid-ap.npy"
    if kept.exists():
        found["TREC-COVID AP"] = np.load(kept)
    else:
        from bench.replication import load
        from shardwise.scoring.scoring import score

        covid = score(load(folder / "trec-covid-r1")[0], ["AP"])["AP"].transpose("topic", "system").to_numpy()
        np.save(kept, covid)
        found["TREC-COVID AP"] = covid
    return found


def margin_cells(folder: Path) -> Iterator[Cell]:
    """The grid of gates."""
    for items in (20, 50, 100, 200, 500):
        for margin in (0.01, 0.02, 0.05):
            yield Cell("right/wrong, nested, accuracy .95", items, margin, nested(0.95))
    for items in (20, 50, 100, 200, 500):
        for margin in (0.01, 0.05):
            yield Cell("right/wrong, accuracy .7, new alone 2%", items, margin, correlated(0.7, 0.02))
            yield Cell("right/wrong, accuracy .8, new alone 15%", items, margin, correlated(0.8, 0.15))
    for ties in (0.95, 0.6):
        whole = graded_population(ties, seed=17)
        for items in (20, 50, 100, 200, 500):
            for margin in (0.01, 0.05):
                if ties == 0.95 and margin == 0.05:
                    continue
                yield Cell(f"graded, {ties:.0%} ties", items, margin, population(*whole))
    for name, table in tables(folder).items():
        pairs = real_pairs(table, (0.01, 0.05), seed=23)
        for items in (20, 50, 100, 200, 500):
            for margin in (0.01, 0.05):
                yield Cell(f"{name}, tilted, {len(pairs)} pairs", items, margin, real(table, pairs))
    for count, mean, uneven in ((10, 5, False), (10, 5, True), (40, 5, False), (40, 5, True), (100, 3, True)):
        cluster = sizes(count, mean, uneven)
        name = f"{count} {'unequal' if uneven else 'equal'} clusters"
        for margin in (0.02, 0.05):
            for kind, pairs_of in (
                ("right/wrong, nested", nested(0.95)),
                ("right/wrong, new alone 2%", correlated(0.8, 0.02)),
                ("graded, 60% ties", population(*graded_population(0.6, 17))),
            ):
                inner = clustered(cluster, pairs_of, 0.5)
                yield Cell(f"{kind}, {name}", len(cluster), margin, inner, cluster)
    for samples in (3, 10):
        for items in (50, 200):
            for margin in (0.02, 0.05):
                yield Cell(f"means of {samples} samples", items, margin, sampled(samples, 0.6))


def passes(cell: Cell, difference: float, repetitions: int, rng: np.random.Generator) -> tuple[float, float]:
    """Share of tables found "no worse" by the rule and by Student's t."""
    draw = cell.draw(difference)
    ours = students = 0
    for start in range(0, repetitions, BLOCK):
        count = min(BLOCK, repetitions - start)
        new, base = draw(rng, count, cell.items)
        moments = intervals.pair_moments(new, base)
        precision = intervals.independent_items(moments)
        if cell.cluster is not None:
            k = np.maximum(*intervals.failure_costs(moments))
            found = units.cluster_variance(new - base, cell.cluster)
            effect = units.design_effect(new - base, cell.cluster, np.ones(cell.items), k)
            precision = intervals.Precision(found.variance, found.df, cell.items / effect)
        ours += int((intervals.p_no_worse(moments, cell.margin, precision) <= ALPHA / 2).sum())
        c = scipy.stats.t.isf(ALPHA / 2, precision.df)
        students += int((moments.mean - c * np.sqrt(precision.variance) > -cell.margin).sum())
    return ours / repetitions, students / repetitions


def error(share: float, repetitions: int) -> float:
    """Monte-Carlo standard error of a share."""
    return float(np.sqrt(max(share * (1.0 - share), 1.0 / repetitions) / repetitions))


def run_margins(folder: Path, repetitions: int) -> pd.DataFrame:
    """False "no worse" at a loss of exactly the margin, and power at equality."""
    rows = []
    for number, cell in enumerate(margin_cells(folder)):
        rng = np.random.default_rng([31, number])
        false, student_false = passes(cell, -cell.margin, repetitions, rng)
        right, student_right = passes(cell, 0.0, max(repetitions // 4, 1000), rng)
        rows.append(
            {
                "kind": cell.kind,
                "items": cell.items,
                "margin": cell.margin,
                "false_no_worse": false,
                "error": error(false, repetitions),
                "student_false": student_false,
                "power_at_equality": right,
                "student_power": student_right,
                "repetitions": repetitions,
            }
        )
        print(rows[-1], flush=True)
    return pd.DataFrame(rows)


def seeded_answers(accuracy: float, between: float) -> Draw:
    """Right or wrong: hard items are hard for both, seeds move the chance of all items of a system together."""

    def draw(
        rng: np.random.Generator, count: int, items: int, seeds: int, difference: float
    ) -> tuple[Floats, Floats]:
        hard = rng.normal(size=(count, items, 1))

        def answers(share: float) -> Floats:
            threshold = scipy.stats.norm.ppf(share) * np.sqrt(1.0 + between**2)
            own = np.sqrt(0.7) * hard + np.sqrt(0.3) * rng.normal(size=(count, items, seeds))
            return (own < threshold + rng.normal(0.0, between, (count, 1, seeds))).astype(float)

        return answers(accuracy + difference), answers(accuracy)

    return draw


def seeded_grades(between: float) -> Draw:
    """Scores well within [0, 1] with effects of items, of items by system, and of seeds."""

    def draw(
        rng: np.random.Generator, count: int, items: int, seeds: int, difference: float
    ) -> tuple[Floats, Floats]:
        easy = rng.beta(2.0, 3.0, (count, items, 1)) * 0.5 + 0.25

        def scores(shift: float) -> Floats:
            effects = rng.normal(0.0, 0.05, (count, items, 1)) + rng.normal(0.0, between, (count, 1, seeds))
            return easy + shift + effects + rng.normal(0.0, 0.03, (count, items, seeds))

        return scores(difference), scores(0.0)

    return draw


def run_seeds(folder: Path, repetitions: int) -> pd.DataFrame:
    """False "no worse" at a loss of exactly the margin with two and three training seeds, and power at equality."""
    cells = [
        ("right/wrong, accuracy .9, no seed effect", 0.05, seeded_answers(0.9, 0.0)),
        ("right/wrong, accuracy .9, small seed effect", 0.05, seeded_answers(0.9, 0.1)),
        ("right/wrong, accuracy .9, large seed effect", 0.05, seeded_answers(0.9, 0.3)),
        ("right/wrong, accuracy .97, small seed effect", 0.02, seeded_answers(0.97, 0.1)),
        ("graded, no seed effect", 0.02, seeded_grades(0.0)),
        ("graded, small seed effect", 0.02, seeded_grades(0.01)),
        ("graded, large seed effect", 0.05, seeded_grades(0.03)),
    ]
    rows = []
    for number, (kind, margin, draw) in enumerate(cells):
        for seeds in (2, 3):
            for items in (30, 100, 300):
                rng = np.random.default_rng([59, number, seeds, items])
                shares = []
                for difference, count in ((-margin, repetitions), (0.0, max(repetitions // 4, 1000))):
                    ours = students = 0
                    for start in range(0, count, 500):
                        size = min(500, count - start)
                        new, base = draw(rng, size, items, seeds, difference)
                        y = np.stack([new, base], axis=2)
                        found = moderated_statistics(y.mean(axis=-1), noise=of_instances(instance_spread(y)))
                        moments = intervals.pair_moments(new.mean(axis=-1), base.mean(axis=-1))
                        precision = intervals.Precision(found.se[:, 0] ** 2, found.df[:, 0], moments.items)
                        ours += int((intervals.p_no_worse(moments, margin, precision) <= ALPHA / 2).sum())
                        half = scipy.stats.t.isf(ALPHA / 2, items - 1) * np.sqrt(moments.variance / items)
                        students += int((moments.mean - half > -margin).sum())
                    shares.extend([ours / count, students / count])
                rows.append(
                    {
                        "kind": kind,
                        "seeds": seeds,
                        "items": items,
                        "margin": margin,
                        "false_no_worse": shares[0],
                        "error": error(shares[0], repetitions),
                        "student_false": shares[1],
                        "power_at_equality": shares[2],
                        "student_power": shares[3],
                        "repetitions": repetitions,
                    }
                )
                print(rows[-1], flush=True)
    return pd.DataFrame(rows)


def run_means(folder: Path, repetitions: int) -> pd.DataFrame:
    """Coverage of 95% intervals of a mean: right/wrong by summing over all outcomes, others by simulation."""
    rows = []
    for items in (20, 50, 100, 200, 500):
        c = float(scipy.stats.t.isf(ALPHA / 2, items - 1))
        right = np.arange(items + 1.0)
        moments = intervals.BoundedMoments(np.full(items + 1, float(items)), right, right)
        lower, upper = intervals.mean_limits(moments, c)
        se = np.sqrt(moments.variance / items)
        for accuracy in (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98):
            chance = scipy.stats.binom.pmf(right, items, accuracy)
            within = (lower <= accuracy) & (accuracy <= upper)
            student = np.abs(right / items - accuracy) <= c * se
            rows.append(
                {
                    "kind": f"right/wrong, accuracy {accuracy:.2f}",
                    "items": items,
                    "coverage": float(chance[within].sum()),
                    "error": 0.0,
                    "student_coverage": float(chance[student].sum()),
                    "width_ratio": float((chance * (upper - lower)).sum() / (chance * 2 * c * se).sum()),
                    "repetitions": 0,
                }
            )
    sources: dict[str, list[Floats]] = {
        f"graded, {ties:.0%} ties": [graded_population(ties, 17)[0]] for ties in (0.6,)
    }
    sources["near the ceiling: 80% ones"] = [np.r_[np.ones(800), np.random.default_rng(5).beta(2, 2, 200)]]
    for name, table in tables(folder).items():
        sources[name] = list(table.T)
    for number, (name, systems) in enumerate(sources.items()):
        for items in (10, 20, 50, 100, 200):
            rng = np.random.default_rng([37, number, items])
            inside = student_inside = 0
            width = student_width = 0.0
            c = float(scipy.stats.t.isf(ALPHA / 2, items - 1))
            per = max(repetitions // len(systems), 50)
            for scores in systems:
                drawn = scores[rng.integers(len(scores), size=(per, items))]
                moments = intervals.score_moments(drawn)
                lower, upper = intervals.mean_limits(moments, c)
                half = c * np.sqrt(moments.variance / items)
                inside += int(((lower <= scores.mean() + 1e-12) & (scores.mean() <= upper + 1e-12)).sum())
                student_inside += int((np.abs(moments.mean - scores.mean()) <= half + 1e-12).sum())
                width += float((upper - lower).sum())
                student_width += float(2.0 * half.sum())
            total = per * len(systems)
            rows.append(
                {
                    "kind": name,
                    "items": items,
                    "coverage": inside / total,
                    "error": error(inside / total, total),
                    "student_coverage": student_inside / total,
                    "width_ratio": width / student_width,
                    "repetitions": total,
                }
            )
            print(rows[-1], flush=True)
    return pd.DataFrame(rows)


def run_differences(folder: Path, repetitions: int) -> pd.DataFrame:
    """Coverage of 95% intervals of the difference of two systems, by the sparse rule."""
    rows = []
    cells = [
        *(
            Cell(f"right/wrong, accuracy .8, new alone {share:.0%}", items, 0.0, correlated(0.8, share))
            for share in (0.02, 0.05, 0.15)
            for items in (20, 50, 100, 200)
        ),
        *(
            Cell("right/wrong, nested, accuracy .95", items, 0.03, nested(0.95))
            for items in (20, 50, 100, 200)
        ),
        *(
            Cell(f"graded, {ties:.0%} ties", items, 0.0, population(*graded_population(ties, 17)))
            for ties in (0.95, 0.6)
            for items in (20, 50, 100)
        ),
    ]
    for name, table in tables(folder).items():
        pairs = real_pairs(table, (0.01,), seed=29)
        cells.extend(Cell(name, items, 0.0, real(table, pairs)) for items in (20, 50, 100))
    for number, cell in enumerate(cells):
        rng = np.random.default_rng([41, number])
        truth = -cell.margin
        draw = cell.draw(truth)
        inside = student_inside = sparse_tables = 0
        width = student_width = 0.0
        c = float(scipy.stats.t.isf(ALPHA / 2, cell.items - 1))
        for start in range(0, repetitions, BLOCK):
            count = min(BLOCK, repetitions - start)
            new, base = draw(rng, count, cell.items)
            moments = intervals.pair_moments(new, base)
            half = c * np.sqrt(moments.variance / cell.items)
            sparse = intervals.pair_sparseness(new - base) < intervals.SPARSE
            limits = intervals.difference_limits(moments, c)
            lower = np.where(sparse, limits[0], moments.mean - half)
            upper = np.where(sparse, limits[1], moments.mean + half)
            inside += int(((lower <= truth + 1e-12) & (truth <= upper + 1e-12)).sum())
            student_inside += int((np.abs(moments.mean - truth) <= half + 1e-12).sum())
            sparse_tables += int(sparse.sum())
            width += float((upper - lower).sum())
            student_width += float(2.0 * half.sum())
        rows.append(
            {
                "kind": cell.kind,
                "items": cell.items,
                "truth": truth,
                "coverage": inside / repetitions,
                "error": error(inside / repetitions, repetitions),
                "student_coverage": student_inside / repetitions,
                "sparse_share": sparse_tables / repetitions,
                "width_ratio": width / student_width,
                "repetitions": repetitions,
            }
        )
        print(rows[-1], flush=True)
    return pd.DataFrame(rows)


def run_sequential(folder: Path, repetitions: int) -> pd.DataFrame:
    """False passes of the sequential gate under 100 looks up to 2,000 items, and items until equal systems pass."""
    most, looks = 2000, 100
    rows = []
    cells = [
        Cell("right/wrong, nested, accuracy .95", most, 0.02, nested(0.95)),
        Cell("right/wrong, nested, accuracy .95", most, 0.05, nested(0.95)),
        Cell("right/wrong, accuracy .8, new alone 5%", most, 0.02, correlated(0.8, 0.05)),
        Cell("right/wrong, accuracy .8, new alone 15%", most, 0.05, correlated(0.8, 0.15)),
        Cell("graded, 60% ties", most, 0.05, population(*graded_population(0.6, 17))),
    ]
    for name, table in tables(folder).items():
        cells.append(Cell(name, most, 0.05, real(table, real_pairs(table, (0.05,), seed=23))))
    level = np.log(2.0 / ALPHA)
    for number, cell in enumerate(cells):
        figures = {}
        for case, truth in (("margin", -cell.margin), ("equal", 0.0)):
            rng = np.random.default_rng([43, number, int(case == "equal")])
            draw = cell.draw(truth)
            first = np.full(repetitions, np.inf)
            student = 0
            wrong_better = wrong_worse = 0
            for start in range(0, repetitions, 100):
                count = min(100, repetitions - start)
                new, base = draw(rng, count, most)
                d = (new - base).reshape(count, looks, most // looks)
                growth = sequential.log_growth(d, cell.margin)
                shown = [sequential.log_evidence(np.cumsum(g, axis=1)) >= level for g in growth]
                hit = shown[1].any(axis=1)
                first[start : start + count] = np.where(
                    hit, (shown[1].argmax(axis=1) + 1) * (most // looks), np.inf
                )
                wrong_better += int(shown[0].any(axis=1).sum())
                wrong_worse += int(shown[2].any(axis=1).sum())
                n = np.arange(1, looks + 1) * (most // looks)
                total, squares = np.cumsum(d.sum(axis=2), axis=1), np.cumsum((d**2).sum(axis=2), axis=1)
                se = np.sqrt(np.maximum(squares - total**2 / n, 0.0) / (n - 1) / n)
                c = scipy.stats.t.isf(ALPHA / 2, n - 1)
                student += int((total / n - c * se > -cell.margin).any(axis=1).sum())
            figures[case] = (np.isfinite(first).mean(), float(np.median(first)), student / repetitions,
                             wrong_better / repetitions, wrong_worse / repetitions)  # fmt: skip
        new, base = cell.draw(0.0)(np.random.default_rng(number), 1, 100_000)
        pilot = intervals.pair_moments(new[0], base[0])
        planned = intervals.items_needed(pilot, cell.margin)
        rows.append(
            {
                "kind": cell.kind,
                "margin": cell.margin,
                "false_pass": figures["margin"][0],
                "error": error(figures["margin"][0], repetitions),
                "student_false_pass": figures["margin"][2],
                "pass_at_equality": figures["equal"][0],
                "false_better": figures["equal"][3],
                "false_worse": figures["equal"][4],
                "median_items": figures["equal"][1],
                "fixed_plan": float(planned),
                "repetitions": repetitions,
            }
        )
        print(rows[-1], flush=True)
    return pd.DataFrame(rows)


def run_needed(folder: Path, repetitions: int) -> pd.DataFrame:
    """Power of "no worse" reached with the items that a pilot of 200 asks for, for equal systems."""
    pilots = 40
    cells = [
        ("right/wrong, nested, accuracy .95", 0.02, [nested(0.95)]),
        ("right/wrong, accuracy .8, new alone 5%", 0.02, [correlated(0.8, 0.05)]),
        ("right/wrong, accuracy .8, new alone 15%", 0.05, [correlated(0.8, 0.15)]),
        ("graded, 95% ties", 0.02, [population(*graded_population(0.95, 17))]),
        ("graded, 60% ties", 0.05, [population(*graded_population(0.6, 17))]),
    ]
    for name, table in tables(folder).items():
        some = real_pairs(table, (0.05,), seed=23)[:pilots]
        # a pilot and what is planned from it are of one pair of systems
        cells.append((name, 0.05, [real(table, [pair]) for pair in some]))
    rows = []
    for number, (name, margin, draws) in enumerate(cells):
        rng = np.random.default_rng([47, number])
        reached, asked = [], []
        for k in range(pilots):
            draw = draws[k % len(draws)](0.0)
            new, base = draw(rng, 1, 200)
            items = int(intervals.items_needed(intervals.pair_moments(new[0], base[0]), margin))
            asked.append(items)
            new, base = draw(rng, max(repetitions // pilots, 50), items)
            p = intervals.p_no_worse(intervals.pair_moments(new, base), margin)
            reached.append(float((p <= ALPHA / 2).mean()))
        rows.append(
            {
                "kind": name,
                "margin": margin,
                "items_median": float(np.median(asked)),
                "power_mean": float(np.mean(reached)),
                "error": float(np.std(reached, ddof=1) / np.sqrt(len(reached))),
                "repetitions": repetitions,
            }
        )
        print(rows[-1], flush=True)
    return pd.DataFrame(rows)


def run_planning(folder: Path, repetitions: int) -> pd.DataFrame:
    """Planned power .80 of any pair among R systems of a pilot, and the share of new tables in which one is found."""
    rows = []
    pilots = {**tables(folder)}
    for name in ("p10", "rr"):
        pilots[f"TREC-8 {name}"] = read_scores(folder / "trec8" / f"adhoc8_{name}.csv").to_numpy()
    robust = ROOT / ".cache" / "robust-ap.npy"
    if not robust.exists():
        from shardwise.io.reader import read_collection
        from shardwise.scoring.scoring import score

        place = folder / "robust2003"
        runs = read_collection(sorted(place.glob("input.*.gz")), place / "robust03_qrels.txt.gz")
        np.save(robust, score(runs, ["AP"])["AP"].transpose("topic", "system").to_numpy())
    pilots["Robust 2003 AP"] = np.load(robust)
    for number, (name, whole) in enumerate(pilots.items()):
        for systems in (2, 5, 10, 30):
            if whole.shape[1] < systems:
                continue
            rng = np.random.default_rng([53, number, systems])
            table = whole[:, rng.choice(whole.shape[1], systems, replace=False)]
            topics = 50
            # the difference that the plan finds with power .80
            spread = sw.planning.variance(table)
            difference = sw.planning.Design(spread, topics, systems, method="moderated").detectable
            how = {"topics": topics, "min_diff": difference, "repetitions": repetitions, "seed": number}
            share = float(sw.planning.simulated_power(table, **how).table["power"].iloc[0])
            rows.append(
                {
                    "pilot": name,
                    "systems": systems,
                    "topics": topics,
                    "difference": difference,
                    "planned": 0.8,
                    "reached": share,
                    "error": error(share, repetitions),
                    "repetitions": repetitions,
                }
            )
            print(rows[-1], flush=True)
    return pd.DataFrame(rows)


def percent(values: pd.Series, digits: int = 1) -> str:
    """Lowest to highest of shares, in per cent."""
    low, high = 100 * values.min(), 100 * values.max()
    return (
        f"{low:.{digits}f}"
        if f"{low:.{digits}f}" == f"{high:.{digits}f}"
        else f"{low:.{digits}f}–{high:.{digits}f}"
    )


def write_page() -> None:
    """Write docs/bench/statements.md: nominal and measured figures of every statement."""
    found = {
        part: pd.read_csv(OUT / f"statements_{part}.csv")
        for part in PARTS
        if (OUT / f"statements_{part}.csv").exists()
    }
    margins, seeds, means = found["margins"], found["seeds"], found["means"]
    gaps, looks, needed, plans = (found[name] for name in ("differences", "sequential", "needed", "planning"))
    right = means["kind"].str.startswith("right/wrong")
    kinds = (
        (
            "right/wrong",
            margins["kind"].str.startswith("right/wrong") & ~margins["kind"].str.contains("cluster"),
        ),
        (
            "graded with ties",
            margins["kind"].str.startswith("graded") & ~margins["kind"].str.contains("cluster"),
        ),
        ("AP of TREC-8, TREC-3 and TREC-COVID", margins["kind"].str.contains("AP")),
        ("clusters", margins["kind"].str.contains("cluster")),
        ("means of samples", margins["kind"].str.contains("samples")),
    )
    rows = []
    for name, which in kinds:
        part = margins[which]
        rows.append(
            (f"no worse, loss = margin: {name}", "at most 2.5", percent(part["false_no_worse"]), len(part),
             100 * part["error"].max(), percent(part["student_false"]),
             f"{100 * part['power_at_equality'].mean():.0f} (Student {100 * part['student_power'].mean():.0f})")
        )  # fmt: skip
    rows.append(
        ("no worse, loss = margin: two and three seeds", "at most 2.5", percent(seeds["false_no_worse"]), len(seeds),
         100 * seeds["error"].max(), percent(seeds["student_false"]),
         f"{100 * seeds['power_at_equality'].mean():.0f} (Student {100 * seeds['student_power'].mean():.0f})")
    )  # fmt: skip
    rows.append(
        ("no worse, 100 interim looks", "at most 2.5", percent(looks["false_pass"]), len(looks),
         100 * looks["error"].max(), percent(looks["student_false_pass"]),
         f"{100 * looks['pass_at_equality'].mean():.0f}")
    )  # fmt: skip
    for name, part in (
        ("interval of a mean: right/wrong, accuracy .50–.98", means[right]),
        ("interval of a mean: graded, AP", means[~right]),
        ("interval of a difference of two systems", gaps),
    ):
        rows.append(
            (name, "95", f"{percent(part['coverage'])}, mean {100 * part['coverage'].mean():.1f}", len(part),
             100 * part["error"].max(), percent(part["student_coverage"]), "")
        )  # fmt: skip
    rows.append(
        ("items needed for no worse", "power 80", percent(needed["power_mean"], 0), len(needed),
         100 * needed["error"].max(), "", "")
    )  # fmt: skip
    rows.append(
        ("planned power of a pair, R = 2–30", "power 80",
         f"{percent(plans['reached'], 0)}, mean {100 * plans['reached'].mean():.1f}", len(plans),
         100 * plans["error"].max(), "", "")
    )  # fmt: skip
    lines = [
        "| statement | nominal, % | measured, % (lowest–highest) | settings | Monte-Carlo error, at most |"
        " Student's t | power at equality, % |",
        "|---|---|---|---|---|---|---|",
        *(f"| {a} | {b} | {c} | {d} | {e:.1f} | {f} | {g} |" for a, b, c, d, e, f, g in rows),
    ]
    (OUT / "statements.md").write_text("\n".join(lines) + "\n")


PARTS = {
    "margins": run_margins,
    "seeds": run_seeds,
    "means": run_means,
    "differences": run_differences,
    "sequential": run_sequential,
    "needed": run_needed,
    "planning": run_planning,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=[])
    parser.add_argument("--repetitions", type=int, default=10_000)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("SHARDWISE_DATA", "/data")))
    arguments = parser.parse_args()
    for part in arguments.parts or PARTS:
        begun = time.perf_counter()
        frame = PARTS[part](arguments.data, arguments.repetitions)
        frame.round(5).to_csv(OUT / f"statements_{part}.csv", index=False)
        print(f"{part}: {time.perf_counter() - begun:.0f} s", flush=True)
    write_page()


if __name__ == "__main__":
    main()
