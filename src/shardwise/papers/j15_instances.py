"""Jayasinghe, Webber, Sanderson, Dharmasena & Culpepper (2015): systems whose results differ from run to run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import scipy
import xarray as xr

import shardwise as sw
from shardwise.core.arrays import Floats, make_generator
from shardwise.core.claim import format_count
from shardwise.core.errors import InputError, Option
from shardwise.papers.exhibit import Computed, Evidence, Exhibit, Form, Frames, Replication, make_claims
from shardwise.papers.experiment import (
    PaperData,
    PaperExperiment,
    Rows,
    Step,
    join_rows,
    name_topics,
    refuse_dimensions,
    replicate_paper,
)

DIMENSIONS = ("topic", "system", "instance")
MU, SIGMA = np.linspace(0.0, 1.0, 11), (0.02, 0.05, 0.1, 0.2, 0.4)
"""Grid of Figure 2."""
TOPICS = (10, 25, 50, 100, 200, 400, 800, 1600, 3200)
"""Topics of Figure 3."""
SIZES = (2, 5, 10, 20, 50)
"""Repeats of a pool, Figures 9 to 11."""
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

ABOUT_7 = (
    "J15 on GOV2 with a central index of .5%: of 100 repeats 3 are worse with p < .05 and 8 with p < .1, 2 better "
    "with p < .1, and 90 show no difference."
)
ABOUT_4 = (
    "J15 crosses the deterministic system with the repeats, so that their variance is lost: with few repeats false "
    "alarms double. Its degrees of freedom are the observations less one."
)
ABOUT_10 = (
    "J15 reads a lower curve as more power. That is right only for tests that control the false-alarm rate; the t-test "
    "of one repeat and the crossed mixed model do not where repeats vary. The unified test does."
)
ABOUT_12 = (
    "Intervals: 95% highest posterior density. 'No worse' is an interval above −δ (dashed, with 0), as J15 decides; "
    "its effect sizes at a rate of .1% are .52 for nDCG@10 and .41 for P@10."
)
ABOUT_13 = "The last system is compared with itself: the first half of its repeats against the second."


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
        scores = sw.as_scores(data).to_xarray()
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
        notes: tuple[str, ...] = ()
        if not kept.all():
            gaps = f"{int((~kept).sum())} of {format_count(kept.size, 'topic')}"
            if kept.sum() < 2:
                raise InputError(
                    f"{gaps} lack the score of some repeat, which leaves {int(kept.sum())}",
                    remedy="leave out the repeats with gaps",
                )
            notes = (
                f"{gaps} lack a score of some repeat and are left out: {name_topics(topics[~kept].tolist())}.",
            )
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
            own = xr.DataArray(y[:count], dims=("instance", "topic"))
            tests = sw.instances.single_instance_tests(own, xr.DataArray(base, dims=dims))
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

    def build_exhibits(self, frames: Frames, source: RepeatedScores) -> Iterator[Exhibit]:
        """Draw Figures 2 to 4 and 6 to 13."""
        form = Form(
            x="mu",
            y="share",
            titles=("mean of the repeats", "share significant"),
            series="sigma",
            rules=(0.05,),
        )
        title = "single repeats called different from a deterministic system, by the distribution of repeats"
        yield Exhibit("Figure 2", title, frames["figure_2"], form=form)
        form = Form(
            x="topics", y="difference", titles=("topics", "difference"), band=("lower", "upper"), rules=(0.0,)
        )
        yield Exhibit(
            "Figure 3", "95% interval of two equal systems by topics", frames["figure_3"], form=form
        )
        p_titles = ("p-value, mixed model", "p-value, bootstrap")
        form = Form(x=MIXED, y=BOOTSTRAP, titles=p_titles, mark="point")
        yield Exhibit(
            "Figure 4", "both tests of J15 on simulated systems", frames["figure_4"], (ABOUT_4,), form
        )
        if "figure_6" not in frames:
            return
        # Figures 6 to 13, from the repeats
        baseline = source.baseline
        form = Form(x="system", y="mean", titles=("system", "mean score"), series="kind", mark="point")
        yield Exhibit("Figure 6", "means of every repeat", frames["figure_6"], form=form)
        form = Form(x="system", y="instances", titles=("system", "repeats"), series="finding", mark="bar")
        title = f"what t-tests of single repeats find against {baseline}"
        yield Exhibit("Figure 7", title, frames["figure_7"], (ABOUT_7,), form)
        form = Form(x="position", y="median", titles=(f"topic, by its score of {baseline}", "score"), panel="system",
                    band=("least", "most"), mark="point")  # fmt: skip
        title = "scores of each topic over repeats: median, least and most"
        yield Exhibit("Figure 8", title, frames["figure_8"], form=form)
        pools = frames["pools"]
        long = pools.melt(id_vars=["system", "size", "pool"], var_name="test", value_name="p")
        nine = long[long["test"].isin([MIXED, BOOTSTRAP])].reset_index(drop=True)
        form = Form(x="size", y="p", titles=("repeats in the pool", "p-value"), panel="system", series="test",
                    mark="point", rules=(0.05,))  # fmt: skip
        yield Exhibit("Figure 9", "p-values from random pools of repeats, both tests of J15", nine, form=form)
        curves = []
        for test, part in long.groupby("test", sort=False):
            values = np.sort(part["p"].to_numpy())[::-1]
            share = (np.arange(values.size) + 0.5) / values.size
            curves.append(pd.DataFrame({"test": test, "share": share, "p": values}))
        form = Form(
            x="share", y="p", titles=("share of comparisons", "p-value"), series="test", rules=(0.05,)
        )
        ten = join_rows(curves)
        yield Exhibit("Figure 10", "p-values of all comparisons in descending order", ten, (ABOUT_10,), form)
        titles = ("p-value, mixed model", "p-value, bootstrap")
        form = Form(x=MIXED, y=BOOTSTRAP, titles=titles, series="system", mark="point")
        yield Exhibit("Figure 11", "both tests of J15 on the same pools", pools, form=form)
        rules = (0.0, -self.margin)
        form = Form(x="system", y="difference", titles=("system", f"difference from {baseline}"),
                    band=("lower", "upper"), series="verdict", mark="point", rules=rules)  # fmt: skip
        yield Exhibit("Figure 12", f"difference from {baseline}", frames["figure_12"], (ABOUT_12,), form)
        if frames["figure_13"].empty:
            return
        form = Form(x="system", y="difference", titles=("system", "difference from the last system"),
                    band=("lower", "upper"), series="verdict", mark="point", rules=rules)  # fmt: skip
        yield Exhibit(
            "Figure 13", "two systems with repeats compared", frames["figure_13"], (ABOUT_13,), form
        )


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


def drop_copies(y: Floats) -> Floats:
    """Return one repeat where all (repeats, topics) scores are copies of it: the system is deterministic.

    >>> drop_copies(np.array([[0.2, 0.4], [0.2, 0.4]]))
    array([[0.2, 0.4]])
    """
    return y[:1] if (y == y[:1]).all() else y


# Claims


def check_single_conflict(frames: Computed) -> Evidence:
    """Check that single repeats of one system lead to different conclusions."""
    table = frames["figure_7"].pivot(index="system", columns="finding", values="instances")
    significant = table[[FINDINGS[0], FINDINGS[4]]].sum(axis=1)
    mixed = (significant > 0) & (significant < table.sum(axis=1)) | (table[FINDINGS[0]] > 0) & (
        table[FINDINGS[4]] > 0
    )
    texts = [
        f"{name}: {row[FINDINGS[0]]} worse, {row[FINDINGS[4]]} better of {row.sum()}"
        for name, row in table.iterrows()
    ]
    return Evidence(bool(mixed.any()), "; ".join(texts))


def check_topics_vary(frames: Computed) -> Evidence:
    """Check that repeats spread on some topics far more than on others."""
    sd = frames["figure_8"]["sd"]
    low, high = float(sd.quantile(0.1)), float(sd.quantile(0.9))
    return Evidence(
        bool(high > 2.0 * low), f"standard deviation over repeats {low:.3f} (10%) to {high:.3f} (90%)"
    )


def check_steadier(frames: Computed) -> Evidence:
    """Check that p-values scatter less with more repeats, for both tests."""
    rows = frames["pools"]
    texts, holds, scatter = [], True, False
    for test in (MIXED, BOOTSTRAP):
        sd = rows.groupby(["system", "size"])[test].std().groupby("size").mean()
        texts.append(f"{test} {sd.iloc[0]:.3f} → {sd.iloc[-1]:.3f}")
        holds &= bool(sd.iloc[-1] < sd.iloc[0])
        scatter |= bool(sd.iloc[0] > 1e-3)
    if not scatter:
        return Evidence(None, "all p-values are near 0")
    return Evidence(holds, f"mean sd of p, {SIZES[0]} → {SIZES[-1]} repeats: {'; '.join(texts)}")


def _correlate(frame: Any) -> float:
    """Return the correlation of both tests' p-values, NaN where they do not vary."""
    both = frame[[MIXED, BOOTSTRAP]]
    return float(both.corr().iloc[0, 1]) if (both.std() > 1e-3).all() else float("nan")


def check_agreement_simulated(frames: Computed) -> Evidence:
    """Check that both tests have alike p-values in simulation."""
    r = _correlate(frames["figure_4"])
    return Evidence(r > 0.95, f"correlation {r:.4f} of {len(frames['figure_4'])} comparisons")


def check_agreement(frames: Computed) -> Evidence:
    """Check that both tests have alike p-values on the same pools."""
    r = _correlate(frames["pools"])
    if np.isnan(r):
        return Evidence(None, "all p-values are near 0")
    return Evidence(r > 0.95, f"correlation {r:.4f} of {len(frames['pools'])} pools")


def _share_significant(frames: Computed) -> Any:
    tests = [MIXED, BOOTSTRAP, SINGLE, SINGLE_BOOTSTRAP, UNIFIED]
    return (frames["pools"][tests] <= 0.05).mean()


def check_more_power(frames: Computed) -> Evidence:
    """Check that both tests find a difference more often than the standard tests of one repeat."""
    share = _share_significant(frames)
    numbers = ", ".join(f"{test} {100 * value:.0f}%" for test, value in share.items())
    if share.max() == 0.0 or share.min() == 1.0:
        return Evidence(None, f"significant: {numbers}")
    holds = share[[MIXED, BOOTSTRAP]].min() > share[[SINGLE, SINGLE_BOOTSTRAP]].max()
    return Evidence(bool(holds), f"significant: {numbers}")


def check_mixed_above_bootstrap(frames: Computed) -> Evidence:
    """Check that the mixed model finds a difference more often than the bootstrap."""
    share = _share_significant(frames)
    numbers = f"significant: {100 * share[MIXED]:.0f}% against {100 * share[BOOTSTRAP]:.0f}%"
    if share[[MIXED, BOOTSTRAP]].max() == 0.0 or share[[MIXED, BOOTSTRAP]].min() == 1.0:
        return Evidence(None, numbers)
    return Evidence(bool(share[MIXED] > share[BOOTSTRAP]), numbers)


def check_itself(frames: Computed) -> Evidence:
    """Check that a system compared with itself shows no difference (Figure 13)."""
    rows = frames.get("figure_13", frames["figure_12"].iloc[:0])
    last = frames["figure_12"]["system"].iloc[-1]
    row = rows[rows["system"] == last]
    if row.empty:
        return Evidence(None, f"{last} has fewer than four repeats")
    low, high = float(row["lower"].iloc[0]), float(row["upper"].iloc[0])
    return Evidence(low <= 0.0 <= high, f"{last}: 95% HPD {low:.4f} to {high:.4f}")


def check_equal_means(frames: Computed) -> Evidence:
    """Check that with a small spread most tests of equal means find nothing, and most of unequal ones do (Figure 2)."""
    share = frames["figure_2"].query(f"sigma == '{min(SIGMA):g}'").set_index("mu")["share"]
    numbers = f"share significant {share[0.5]:.2f} at μ = .5, {share[0.0]:.2f} at 0, {share[1.0]:.2f} at 1"
    return Evidence(bool(share[0.5] < 0.5 < min(share[0.0], share[1.0])), numbers)


def check_narrowing(frames: Computed) -> Evidence:
    """Check that the interval of two equal systems narrows with topics (Figure 3)."""
    rows = frames["figure_3"]
    width = (rows["upper"] - rows["lower"]).to_numpy()
    topics = rows["topics"].to_numpy()
    numbers = f"width {width[0]:.4f} with {topics[0]} topics, {width[-1]:.4f} with {topics[-1]}"
    return Evidence(bool(width[-1] < width[0]), numbers)


J15.claims = make_claims(
    "J15",
    {
        "single repeats contradict each other": check_single_conflict,
        "topics vary unequally": check_topics_vary,
        "more repeats, steadier p": check_steadier,
        "both tests agree": check_agreement,
        "both tests agree in simulation": check_agreement_simulated,
        "more often significant than one repeat": check_more_power,
        "mixed model above bootstrap": check_mixed_above_bootstrap,
        "equal to itself": check_itself,
        "means decide in simulation": check_equal_means,
        "interval narrows with topics": check_narrowing,
    },
)
