"""Jayasinghe, Webber, Sanderson, Dharmasena & Culpepper (2015): systems whose results differ from run to run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np
import scipy

import shardwise as sw
from shardwise.core.arrays import Floats, Ints, make_generator
from shardwise.core.errors import InputError, Option
from shardwise.core.libraries import pd, xr
from shardwise.papers.claims import (
    LEVEL,
    STREAM,
    CannotSayError,
    Figures,
    Parts,
    compare,
    draw_topics,
    list_parts,
    make_claims,
    spread_over_splits,
)
from shardwise.papers.exhibit import Exhibit, Frames, Replication
from shardwise.papers.experiment import (
    PaperData,
    PaperExperiment,
    Rows,
    Step,
    average_shards,
    describe_gaps,
    join_rows,
    refuse_dimensions,
    replicate_paper,
)
from shardwise.stats.student import student_critical

DIMENSIONS = ("topic", "system", "instance")
MU, SIGMA = np.linspace(0.0, 1.0, 11), (0.02, 0.05, 0.1, 0.2, 0.4)
"""Grid of Figure 2."""
TOPICS = (10, 25, 50, 100, 200, 400, 800, 1600, 3200)
"""Topics of Figure 3."""
SIZES = (2, 5, 10, 20, 50)
"""Repeats of a pool, Figures 9 to 11."""
CLAIM_SIZES = (2, 20)
"""Those of verdicts."""
FLAT = 1e-3
"""Spread of p-values below which they are near 0."""
TESTS = {
    "unified": "unified none",
    "mixed model, J15": "mixed paper none",
    "bootstrap, J15": "bootstrap pooled none",
    "t, one repeat": "t-single none",
}
UNIFIED, MIXED, BOOTSTRAP, SINGLE = TESTS
SINGLE_BOOTSTRAP = "bootstrap, one repeat"
FINDINGS = ("worse, p < .05", "worse, p < .1", "no difference", "better, p < .1", "better, p < .05")
NO_REPEATS = "J15 compares systems with repeats, and the scores have one per topic and system"


@dataclass(frozen=True, slots=True, eq=False)
class RepeatedScores(PaperData):
    """Scores of several systems with repeats, and of the baseline."""

    others: dict[str, Floats] = field(
        default_factory=dict
    )  # (repeats, topics) of every system but the baseline
    baseline: str = ""
    base: Floats = field(default_factory=lambda: np.empty((0, 0)))  # (repeats, topics); one if deterministic
    labels: tuple[str, ...] = ()  # names of the topics

    @property
    def is_fixed(self) -> bool:
        """Whether the baseline is deterministic."""
        return len(self.base) == 1


@dataclass(frozen=True, kw_only=True)
class J15(PaperExperiment):
    """Experiment of Jayasinghe et al. (2015): Figures 2 to 4 by simulation, Figures 6 to 13 from repeats.

    Parameters
    ----------
    baseline : str, optional
        System to compare with; the deterministic one, else the first, if None. A baseline with repeats of its own is
        taken as random, all repeats counting.
    margin : float
        Largest loss that does not matter (Figures 12 and 13).
    pools : int
        Pools of repeats drawn for each system and size (Figures 9 to 11).
    repetitions : int
        Simulated comparisons of Figure 4 (the paper has 5000), and a fifth as many tables per point of Figure 2.
    n_resamples : int
        Samples of each repeat by the bootstrap (Algorithm 2).
    """

    tag: ClassVar[str] = "J15"
    title: ClassVar[str] = "systems whose results differ from run to run"
    noun: ClassVar[str] = "draw"
    least: ClassVar[Mapping[str, int]] = {"pools": 1, "repetitions": 5}

    baseline: str | None = None
    margin: float = 0.01
    pools: int = 50
    repetitions: int = 500
    n_resamples: int = 200

    def gather_data(self, data: Any) -> RepeatedScores:
        """Take scores with repeats; topics with gaps are left out and named."""
        if data is None:
            if self.baseline is not None:
                raise InputError(
                    (Option("baseline"), " is for scores"), remedy="leave it out, or give scores"
                )
            return RepeatedScores(xr.Dataset())
        if isinstance(data, sw.Collection):
            raise InputError(
                "runs alone do not say which are repeats of one system",
                remedy="read them with read_instances, score and arrange them, or name the pattern by --instances",
            )
        if isinstance(data, xr.Dataset) and len(data.data_vars):
            data = data[next(iter(data.data_vars))]
        scores, averaged = average_shards(sw.as_scores(data).to_xarray())
        if "instance" not in scores.dims or scores.sizes["instance"] < 2:
            raise InputError(NO_REPEATS, remedy="give repeats, such as seeds, or use another paper")
        refuse_dimensions(scores, DIMENSIONS)
        table = scores.transpose("system", "instance", "topic")
        names, topics = (table[dim].to_numpy().astype(str) for dim in ("system", "topic"))
        # a repeat without any score was not run
        values = {
            name: y[np.isfinite(y).any(axis=1)]
            for name, y in zip(names.tolist(), table.to_numpy(), strict=True)
        }
        kept = np.all([np.isfinite(y).all(axis=0) for y in values.values()], axis=0)
        notes = averaged + describe_gaps(kept, topics, "repeat")
        values = {name: drop_copies(y[:, kept]) for name, y in values.items()}
        # the system to compare with: the one asked for, the only deterministic one, or the first
        fixed = [name for name, y in values.items() if len(y) == 1]
        name = self.baseline or (fixed[0] if len(fixed) == 1 else next(iter(values)))
        if name not in values:
            raise InputError(f"unknown system {name!r}", remedy="name one of the scores", argument="baseline",
                             value=name, choices=tuple(values))  # fmt: skip
        base = values.pop(name)
        if not any(len(y) > 1 for y in values.values()):
            raise InputError(
                "no system but the baseline has repeats that differ",
                remedy="name another baseline, or add seeds",
            )
        dataset = (
            table.isel(topic=np.flatnonzero(kept)).drop_attrs().to_dataset(name=str(scores.name or "score"))
        )
        labels = tuple(topics[kept].tolist())
        return RepeatedScores(dataset, notes=notes, others=values, baseline=name, base=base, labels=labels)

    def list_facts(self, source: RepeatedScores) -> dict[str, str]:
        """State the baseline and the seed."""
        if not source.others:
            return {"seed": str(self.seed)}
        kind = "deterministic" if source.is_fixed else f"random, {len(source.base)} repeats"
        return {
            "baseline": f"{source.baseline} ({kind})",
            "margin δ": f"{self.margin:g}",
            "seed": str(self.seed),
        }

    def explain_absence(self, source: RepeatedScores) -> str:
        """Say what needs scores."""
        return "" if source.others else "Figures 6 to 13 need scores of repeats"

    def list_steps(self, source: RepeatedScores) -> Mapping[str, Step]:
        """Simulate Figures 2 to 4, then test single repeats, pools of repeats and losses."""
        steps: dict[str, Step] = {
            "figure-2": self._simulate_single,
            "figure-3": self._simulate_intervals,
            "figure-4": self._simulate_both_tests,
        }
        if source.others:
            steps["instances"] = partial(self._test_singles, source)
            steps["pools"] = partial(self._draw_pools, source)
            steps["losses"] = partial(self._measure_losses, source)
        return steps

    def _simulate_single(self) -> dict[str, Rows]:
        """Simulate the share of significant t-tests of single repeats, by their distribution (Figure 2)."""
        rows = []
        count = max(self.repetitions // 5, 1)
        for sigma in SIGMA:
            for mu in MU:
                y = sw.simulate.j15_scenario("figure-2", mu=float(mu), sigma=sigma).draw(0, count, self.seed)
                p = scipy.stats.ttest_1samp(y[:, :, 0] - y[:, :, 1], 0.0, axis=1).pvalue
                rows.append({"mu": float(mu), "sigma": f"{sigma:g}", "share": float(np.mean(p <= 0.05))})
        return {"figure_2": rows}

    def _simulate_intervals(self) -> dict[str, Rows]:
        """Simulate a 95% interval of the difference of equal systems as topics are added (Figure 3)."""
        rows = []
        for n in TOPICS:
            y = sw.simulate.j15_scenario("figure-3", topics=n).draw(0, 1, self.seed)[0]
            low, high = scipy.stats.ttest_1samp(y[:, 0] - y[:, 1], 0.0).confidence_interval(0.95)
            middle = float((low + high) / 2)
            rows.append({"topics": n, "difference": middle, "lower": float(low), "upper": float(high)})
        return {"figure_3": rows}

    def _simulate_both_tests(self) -> dict[str, Rows]:
        """Simulate p-values of both tests of J15 in comparisons with a deterministic system (Figure 4)."""
        frames = []
        scenario = sw.simulate.j15_scenario("figure-4")
        for first in range(0, self.repetitions, 50):
            y = scenario.draw(first, min(50, self.repetitions - first), self.seed)
            frames.append(self._compute_p_values(y, first, (MIXED, BOOTSTRAP, UNIFIED), fixed=True))
        return {"figure_4": frames}

    def _compute_p_values(self, y: Floats, first: int, tests: Sequence[str], *, fixed: bool) -> pd.DataFrame:
        """Return p-values of tables (B, topics, 2, repeats), a column per test."""
        how: dict[str, Any] = {
            "n_resamples": self.n_resamples,
            "deterministic": (False, True) if fixed else (),
        }
        names = [TESTS[test] for test in tests]
        p = sw.simulate.p_values(y, names, DIMENSIONS, seed=self.seed, first=first, **how)
        return pd.DataFrame({test: p[TESTS[test]][:, 0] for test in tests})

    def _test_singles(self, source: RepeatedScores) -> dict[str, Rows]:
        """Test single repeats of every system against the baseline (Figures 6, 7 and 8)."""
        means, findings, spread = [], [], []
        topic_means = source.base.mean(axis=0)
        order = np.argsort(-topic_means, kind="stable")
        for name, y in source.others.items():
            means += [{"system": name, "mean": float(m), "kind": "repeat"} for m in y.mean(axis=1)]
            means.append({"system": name, "mean": float(topic_means.mean()), "kind": source.baseline})
            # repeats of a random baseline are paired in order
            count = len(y) if source.is_fixed else min(len(y), len(source.base))
            base = source.base[0] if source.is_fixed else source.base[:count]
            dims = ("topic",) if source.is_fixed else ("instance", "topic")
            repeats = xr.DataArray(y[:count], dims=("instance", "topic"))
            tests = sw.instances.single_instance_tests(repeats, xr.DataArray(base, dims=dims))
            sign = np.sign(tests["difference"])
            cases = [
                (tests["p"] < edge) & (sign == way)
                for way, edge in ((-1, 0.05), (-1, 0.1), (1, 0.05), (1, 0.1))
            ]
            kinds = np.select(cases, [FINDINGS[0], FINDINGS[1], FINDINGS[4], FINDINGS[3]], FINDINGS[2])
            counts = pd.Series(kinds).value_counts()
            findings += [
                {"system": name, "finding": kind, "instances": int(counts.get(kind, 0))} for kind in FINDINGS
            ]
            ends = np.quantile(y, [0.0, 0.25, 0.5, 0.75, 1.0], axis=0)[:, order]
            columns = dict(zip(("least", "lower", "median", "upper", "most"), ends, strict=True))
            spread.append(
                pd.DataFrame(columns).assign(
                    topic=np.array(source.labels)[order], position=np.arange(1, len(order) + 1), system=name,
                    sd=y.std(axis=0)[order], deterministic=topic_means[order],
                )
            )  # fmt: skip
        return {"figure_6": means, "figure_7": findings, "figure_8": spread}

    def _draw_pools(self, source: RepeatedScores) -> dict[str, Rows]:
        """Repeat the comparison with random pools of repeats, drawn with replacement (Figures 9, 10 and 11)."""
        frames = []
        for number, (name, y) in enumerate(source.others.items()):
            for size in SIZES:
                rng = make_generator(self.seed, number, size)
                pool = y[rng.integers(len(y), size=(self.pools, size))].swapaxes(1, 2)
                if source.is_fixed:
                    base = np.broadcast_to(source.base[0][None, :, None], pool.shape)
                else:
                    base = source.base[rng.integers(len(source.base), size=(self.pools, size))].swapaxes(1, 2)
                tables = np.stack([pool, base], axis=2)
                p = self._compute_p_values(tables, 0, tuple(TESTS), fixed=source.is_fixed)
                # J15 takes one repeat of the pool for the standard tests
                single = np.ascontiguousarray(tables[..., 0])
                how: dict[str, Any] = {"seed": self.seed, "n_resamples": max(self.n_resamples, 1000)}
                alone = sw.simulate.p_values(single, ["bootstrap none"], **how)
                p[SINGLE_BOOTSTRAP] = alone["bootstrap none"][:, 0]
                frames.append(p.assign(system=name, size=size, pool=np.arange(self.pools)))
        return {"pools": frames}

    def _measure_losses(self, source: RepeatedScores) -> dict[str, Rows]:
        """Measure differences from the baseline and from the last system, with intervals (Figures 12 and 13)."""
        against, between = [], []
        last = list(source.others)[-1]
        for name, y in source.others.items():
            against.append(self._measure_loss(name, y, source.base))
            other = source.others[last]
            if name == last:
                half = len(y) // 2
                if half < 2:
                    continue
                y, other = y[:half], y[half:]
            between.append(self._measure_loss(name, y, other))
        columns = ["system", "difference", "lower", "upper", "p", "effect_size", "verdict"]
        frames = {"figure_12": against, "figure_13": between}
        return {name: pd.DataFrame(rows, columns=columns) for name, rows in frames.items()}

    def _measure_loss(self, name: str, y: Floats, other: Floats) -> dict[str, Any]:
        """Return the difference of two systems with its interval and J15's decision."""
        first, second = (
            xr.DataArray(v, dims=("instance", "topic")) if len(v) > 1 else xr.DataArray(v[0], dims="topic")
            for v in (y, other)
        )
        result = sw.compare_instances(
            first, second, design="unified" if len(y) == len(other) == 1 else "paper"
        )
        row = result.to_frame().iloc[0]
        # a difference that is the same on every topic has an interval without width
        varies = bool(result.se[0] > 0.0)
        low, high = result.interval(0.95, "hpd") if varies else (row["difference"], row["difference"])
        decided = "no worse" if low > -self.margin else "worse" if high < -self.margin else "undecided"
        return {"system": name, "difference": float(row["difference"]), "lower": float(low), "upper": float(high),
                "p": float(row["p"]), "effect_size": float(row["effect_size"]), "verdict": decided}  # fmt: skip

    def measure_figures(self, source: RepeatedScores) -> Figures:
        """Measure what the claims are about: simulated ones over seeds, others over pools and resampled topics."""
        figures = Figures(self.explain_absence(source))
        self._simulate_figures(figures)
        if not source.others:
            return figures
        drawn = draw_topics(source.base.shape[1], self.claim_resamples, self.seed)
        self._test_figures(figures, source, drawn)
        self._pool_figures(figures, source, drawn)
        self._loss_figures(figures, source, drawn)
        return figures

    def _simulate_figures(self, figures: Figures) -> None:
        """Add Figures 2 to 4, for every seed and for resampled seeds."""
        seeds = range(self.seed * self.claim_splits, (self.seed + 1) * self.claim_splits)
        count = max(self.repetitions // 5 // self.claim_splits, 2)
        rows: dict[tuple[Any, ...], list[float]] = {}
        for seed in seeds:
            for mu in (0.0, 0.5, 1.0):
                y = sw.simulate.j15_scenario("figure-2", mu=mu, sigma=min(SIGMA)).draw(0, 5 * count, seed)
                p = scipy.stats.ttest_1samp(y[:, :, 0] - y[:, :, 1], 0.0, axis=1).pvalue
                rows.setdefault(("single", mu), []).append(float(np.mean(p <= LEVEL)))
            ends = []
            for n in (TOPICS[0], TOPICS[-1]):
                y = sw.simulate.j15_scenario("figure-3", topics=n).draw(0, 1, seed)[0]
                low, high = scipy.stats.ttest_1samp(y[:, 0] - y[:, 1], 0.0).confidence_interval(0.95)
                ends.append(float(high - low))
            rows.setdefault(("narrowing",), []).append(ends[0] - ends[1])
            y = sw.simulate.j15_scenario("figure-4").draw(0, count, seed)
            both = self._compute_p_values(y, 0, J15_TESTS, fixed=True).to_numpy()
            single = sw.simulate.p_values(np.ascontiguousarray(y[..., 0]), ["t none"])["t none"][:, 0]
            for name, gap in _measure_gaps(both, single).items():
                rows.setdefault(("simulated gap", *name), []).append(float(gap.mean()))
        places = draw_topics(len(seeds), self.claim_resamples, self.seed)
        for key, values in rows.items():
            figures[key] = np.array(values)[places]

    def _test_figures(self, figures: Figures, source: RepeatedScores, drawn: Ints) -> None:
        """Add what single repeats conclude, and how unequally topics vary."""
        minority, apart, unequal = [], [], []
        critical = float(student_critical(LEVEL, drawn.shape[1] - 1.0))
        for number, y in enumerate(source.others.values()):
            count = len(y) if source.is_fixed else min(len(y), len(source.base))
            difference = (y[:count] - source.base[:count])[:, drawn]
            mean, half = (
                difference.mean(axis=2),
                critical * difference.std(axis=2, ddof=1) / np.sqrt(drawn.shape[1]),
            )
            significant = np.abs(mean) > half
            kinds = [significant & (mean < 0), significant & (mean > 0), ~significant]
            minority.append(1.0 - np.max([kind.mean(axis=0) for kind in kinds], axis=0))
            # not significant, and yet not shown to be within the margin
            apart.append((~significant & (np.abs(mean) + half > self.margin)).mean(axis=0))
            if count > 1:
                unequal.append(self._compare_spreads(y, drawn, number))
        figures["minority",] = np.max(minority, axis=0)[:, None]
        figures["not equivalent",] = np.mean(apart, axis=0)[:, None]
        if unequal:
            figures["unequal",] = np.mean(unequal, axis=0)

    def _compare_spreads(self, y: Floats, drawn: Ints, number: int) -> Floats:
        """Return by how much repeats' sd varies more over topics than after shuffling, (resamples, shufflings)."""
        rng = make_generator(self.seed, STREAM, number)
        rest = y - y.mean(axis=0)
        spread = y.std(axis=0)[drawn].var(axis=1)
        shuffled = [
            rng.permutation(rest.ravel()).reshape(rest.shape).std(axis=0)[drawn].var(axis=1)
            for _ in range(self.claim_splits)
        ]
        return np.stack([spread - each for each in shuffled], axis=1)

    def _pool_figures(self, figures: Figures, source: RepeatedScores, drawn: Ints) -> None:
        """Add shares of significant pools, gaps between tests and scatter of p, for small and large pools."""
        tests = (*J15_TESTS, SINGLE, SINGLE_BOOTSTRAP)
        # (tests, systems × sizes, resamples, pools)
        cells = []
        for number, y in enumerate(source.others.values()):
            for size in CLAIM_SIZES:
                rng = make_generator(self.seed, STREAM, number, size)
                shape = (self.claim_splits, size)
                pool = y[rng.integers(len(y), size=shape)].swapaxes(1, 2)
                base = source.base[rng.integers(len(source.base), size=shape)].swapaxes(1, 2)
                tables = np.stack([pool, base], axis=2)
                # p-values of both tests, and of both tests of one repeat: (tests, resamples, pools)
                each = []
                for some in (tables[:, rows] for rows in drawn):
                    both = self._compute_p_values(some, 0, J15_TESTS, fixed=source.is_fixed).to_numpy().T
                    single = np.ascontiguousarray(some[..., 0])
                    how: dict[str, Any] = {"seed": self.seed, "n_resamples": self.n_resamples}
                    alone = sw.simulate.p_values(single, ["t none", "bootstrap none"], **how)
                    each.append(np.stack([*both, alone["t none"][:, 0], alone["bootstrap none"][:, 0]]))
                cells.append(np.stack(each, axis=1))
        p = np.stack(cells, axis=1)
        for name, values in zip(tests, p, strict=True):
            figures["significant", name] = (values <= LEVEL).mean(axis=0)
        gaps = _measure_gaps(np.moveaxis(p[:2], 0, -1), p[2])
        for key, gap in gaps.items():
            figures["gap", *key] = gap.mean(axis=0)
        for test, values in zip(J15_TESTS, p, strict=False):
            for k, size in enumerate(CLAIM_SIZES):
                pools = values[k :: len(CLAIM_SIZES)]
                each = [pools, *(np.delete(pools, pool, axis=2) for pool in range(pools.shape[2]))]
                scatter = np.stack([some.std(axis=2, ddof=1).mean(axis=0) for some in each], axis=1)
                figures["scatter", test, size] = spread_over_splits(scatter[:, 0], scatter[:, 1:])

    def _loss_figures(self, figures: Figures, source: RepeatedScores, drawn: Ints) -> None:
        """Add the best lower limit above the margin, and how often halves of the last system differ."""
        lower = [
            [
                self._measure_loss(name, y[:, rows], source.base[:, rows])["lower"] + self.margin
                for name, y in source.others.items()
            ]
            for rows in drawn
        ]
        figures["no worse",] = np.max(lower, axis=1)[:, None]
        last = list(source.others.values())[-1]
        half = len(last) // 2
        if half < 2:
            figures.reason = "the last system has fewer than four repeats"
            return
        rng = make_generator(self.seed, STREAM, 0, 0)
        orders = np.stack([rng.permutation(len(last))[: 2 * half] for _ in range(self.claim_splits)])
        halves = np.moveaxis(last[orders].reshape(self.claim_splits, 2, half, -1), 3, 1)
        p = [
            self._compute_p_values(np.ascontiguousarray(halves[:, rows]), 0, (MIXED,), fixed=False)[MIXED]
            for rows in drawn
        ]
        figures["itself",] = (np.stack(p) <= LEVEL).astype(float)

    def read_figures(self) -> Figures:
        """Return what the text prints of GOV2 with a central index of .5%: 3 of 100 repeats are worse (§4)."""
        figures = Figures("J15 does not print it")
        figures["minority",] = np.array([[0.03]])
        return figures

    def build_exhibits(self, frames: Frames, source: RepeatedScores) -> Iterator[Exhibit]:
        """Draw Figures 2 to 4 and 6 to 13."""
        for number in (2, 3, 4):
            yield self._show(f"Figure {number}", frames[f"figure_{number}"])
        if "figure_6" not in frames:
            return
        # Figures 6 to 13, from the repeats
        words = {"baseline": source.baseline}
        for number in (6, 7, 8):
            yield self._show(f"Figure {number}", frames[f"figure_{number}"], words=words)
        pools = frames["pools"]
        long = pools.melt(id_vars=["system", "size", "pool"], var_name="test", value_name="p")
        yield self._show("Figure 9", long[long["test"].isin([MIXED, BOOTSTRAP])].reset_index(drop=True))
        curves = []
        for test, part in long.groupby("test", sort=False):
            values = np.sort(part["p"].to_numpy())[::-1]
            share = (np.arange(values.size) + 0.5) / values.size
            curves.append(pd.DataFrame({"test": test, "share": share, "p": values}))
        yield self._show("Figure 10", join_rows(curves))
        yield self._show("Figure 11", pools)
        for number in (12, 13):
            if len(frame := frames[f"figure_{number}"]):
                yield self._show(f"Figure {number}", frame, words=words, rules=(0.0, -self.margin))


def j15(data: Any = None, baseline: str | None = None, **choices: Any) -> Replication:
    """Make the figures of Jayasinghe et al. (2015): 2 to 4 by simulation, 6 to 13 from repeats, with verdicts.

    Parameters
    ----------
    data : object, optional
        Any table that `as_scores` takes, with repeats: a system for each setting, in the order of the settings, and
        the baseline to compare with. Without it only the simulated figures are made.
    baseline : str, optional
        Name of the baseline; the deterministic system, else the first, if None.
    **choices : object
        Fields of `J15`, and ``executor``, ``folder`` and ``progress`` of its method ``run``.

    Returns
    -------
    Replication
        Verdicts and figures.
    """
    return replicate_paper(J15, data, baseline=baseline, **choices)


def _measure_gaps(p: Floats, single: Floats) -> dict[tuple[str, str], Floats]:
    """Return the distances between p-values of (…, tests) both tests, and of each from those of one repeat."""
    mixed, boot = p[..., 0], p[..., 1]
    return {
        (MIXED, BOOTSTRAP): np.abs(mixed - boot),
        (MIXED, SINGLE): np.abs(mixed - single),
        (BOOTSTRAP, SINGLE): np.abs(boot - single),
    }


def drop_copies(y: Floats) -> Floats:
    """Return one repeat where all (repeats, topics) scores are copies of it: the system is deterministic.

    >>> drop_copies(np.array([[0.2, 0.4], [0.2, 0.4]]))
    array([[0.2, 0.4]])
    """
    return y[:1] if (y == y[:1]).all() else y


# Claims


def steady_p(figures: Figures) -> Parts:
    """Return by how much p-values scatter less between large pools than between small ones."""
    if max(float(np.nanmax(figures["scatter", test, CLAIM_SIZES[0]][0])) for test in J15_TESTS) <= FLAT:
        raise CannotSayError("all p-values are near 0")
    return {
        f"{test}, {CLAIM_SIZES[0]} less {CLAIM_SIZES[-1]} repeats": figures["scatter", test, CLAIM_SIZES[0]]
        - figures["scatter", test, CLAIM_SIZES[-1]]
        for test in J15_TESTS
    }


def compare_power(figures: Figures, steps: Sequence[tuple[str, str]]) -> Parts:
    """Return by how much larger the share of significant pools is by one test than by another."""
    shares = [figures["significant", test] for test in dict.fromkeys(test for step in steps for test in step)]
    if all(share[0].max() == 0.0 for share in shares) or all(share[0].min() == 1.0 for share in shares):
        raise CannotSayError("no pool is significant, or all are")
    return compare(figures, [(("significant", more), ("significant", less)) for more, less in steps])


def agree_tests(figures: Figures, name: str) -> Parts:
    """Return how much nearer the p-values of both tests are to each other than to those of one repeat."""
    both = figures[name, MIXED, BOOTSTRAP]
    if float(figures[name, MIXED, SINGLE][0].max()) <= FLAT:
        raise CannotSayError("all p-values are near 0")
    return {
        f"{test} from one repeat less from each other": figures[name, test, SINGLE] - both
        for test in J15_TESTS
    }


def decide_means(figures: Figures) -> Parts:
    """Return how far the share of significant repeats is on the right side of one half (Figure 2)."""
    return {
        "μ = .5": 0.5 - figures["single", 0.5],
        **{f"μ = {mu:g}": figures["single", mu] - 0.5 for mu in (0.0, 1.0)},
    }


J15_TESTS = (MIXED, BOOTSTRAP)
J15.claims = make_claims(
    "J15",
    {
        "means decide in simulation": decide_means,
        "significance is not equivalence": partial(
            list_parts, name="not equivalent", part="share of repeats"
        ),
        "interval narrows with topics": partial(
            list_parts, name="narrowing", part="width, fewest less most topics"
        ),
        "both tests agree in simulation": partial(agree_tests, name="simulated gap"),
        "single repeats contradict each other": partial(
            list_parts, name="minority", part="share of the minority"
        ),
        "topics vary unequally": partial(list_parts, name="unequal", part="variance of sd, less by chance"),
        "more repeats, steadier p": steady_p,
        "more often significant than one repeat": partial(
            compare_power, steps=[(test, one) for test in J15_TESTS for one in (SINGLE, SINGLE_BOOTSTRAP)]
        ),
        "mixed model above bootstrap": partial(compare_power, steps=[(MIXED, BOOTSTRAP)]),
        "both tests agree": partial(agree_tests, name="gap"),
        "some setting is no worse": partial(list_parts, name="no worse", part="best lower limit + δ"),
        "equal to itself": partial(list_parts, name="itself", part="share significant"),
    },
)
