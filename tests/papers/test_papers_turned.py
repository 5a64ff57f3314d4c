"""Every claim that scores can contradict fails on scores that do: from the scores by the paper's own figures.

Scores on documents, parts and shards are given instead of being scored from runs, so that a few numbers say what
they contradict; figures, statistics and verdicts are the experiments' own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pytest
import xarray as xr

import shardwise as sw
from shardwise.core.arrays import Floats
from shardwise.papers import F19, FF21, J15, S14, V17
from shardwise.papers.claims import FAILS
from shardwise.papers.exhibit import ClaimVerdict
from shardwise.papers.experiment import PaperData

TOPICS, SYSTEMS, SPLITS = 20, 8, 4
FEW: dict[str, Any] = {"claim_resamples": 12, "claim_splits": SPLITS, "jobs": 1}
LEVELS = np.linspace(0.0, 0.35, SYSTEMS)[:, None]
DIMS = ("split", "topic", "system", "shard")


def name_scores(values: Floats) -> xr.DataArray:
    """Scores with names: (topics, systems), or (splits, topics, systems, shards)."""
    dims = DIMS if values.ndim == 4 else DIMS[1:3]
    sizes = dict(zip(dims, values.shape, strict=True))
    names = {dim: [f"{dim}{k}" for k in range(sizes[dim])] for dim in DIMS[1:3]}
    return xr.DataArray(values, dims=dims, coords=names)


def make_dataset(measures: Iterable[str], make: Callable[[str], Floats]) -> xr.Dataset:
    return xr.Dataset({measure: name_scores(make(measure)) for measure in measures})


def draw_errors(
    rng: np.random.Generator, sd: float, shards: int, *cancel: int, topics: int = TOPICS
) -> Floats:
    """Normal errors of all splits that cancel out over some axes: 1 topics, 2 systems, 3 shards."""
    errors = rng.normal(0.0, sd, (SPLITS, topics, SYSTEMS, shards))
    for axis in cancel:
        errors = errors - errors.mean(axis=axis, keepdims=True)
    return errors


def list_turned(*verdicts: Iterable[ClaimVerdict]) -> set[str]:
    return {verdict.name for each in verdicts for verdict in each if verdict.verdict == FAILS}


def list_claims(paper: Any) -> set[str]:
    return {claim.name for claim in paper.claims}


@pytest.fixture(scope="module")
def runs() -> sw.Collection:
    """Runs that say that there are documents; their scores do not count."""
    return sw.simulate.collection(topics=6, systems=3, depth=60, seed=1).collection()


def test_f19(monkeypatch: pytest.MonkeyPatch, runs: sw.Collection) -> None:
    rng, four = np.random.default_rng(1), ("AP", "P@10", "RBP", "nDCG")

    def judge(whole: xr.Dataset, shards: Mapping[int, xr.Dataset]) -> tuple[ClaimVerdict, ...]:
        monkeypatch.setattr(F19, "gather_data", lambda *_: PaperData(whole, runs))
        monkeypatch.setattr(F19, "_score_shards", lambda _self, _source, count, _splits: shards[count])
        return F19(shards=tuple(shards), samples=SPLITS, **FEW).judge(None)

    # clear on the whole collection, two of the systems best; the more shards, the more noise, and by split
    best = np.minimum(LEVELS, LEVELS[-2])
    wild = np.array([0.5, 1.0, 1.5, 2.0])[:, None, None, None]
    errors = rng.normal(0.0, 0.05, (TOPICS, SYSTEMS))
    clear = make_dataset(four, lambda _: best[:, 0] + errors - errors.mean(axis=1, keepdims=True))
    level = rng.normal(0.0, 0.4, (SPLITS, 1, 1, 2))
    noisy = {
        2: make_dataset(four, lambda _: best + draw_errors(rng, 0.02, 2) + level),
        5: make_dataset(four, lambda _: draw_errors(rng, 0.5, 5) * wild),
        10: make_dataset(four, lambda name: 0.4 * best * (name == "AP") + draw_errors(rng, 0.3, 10) * wild),
    }
    # noise on the whole collection; errors that cancel out over two shards, which larger models take for more
    blurred = make_dataset(four, lambda _: best[:, 0] + rng.normal(0.0, 0.4, (TOPICS, SYSTEMS)))
    cancelling = {
        2: make_dataset(four, lambda _: LEVELS + draw_errors(rng, 0.4, 2, 1, 2, 3)),
        5: make_dataset(four, lambda _: 0.6 * LEVELS + draw_errors(rng, 0.4, 5, 3)),
        10: make_dataset(four, lambda _: LEVELS + draw_errors(rng, 0.02, 10, 3)),
    }
    assert list_turned(judge(clear, noisy), judge(blurred, cancelling)) == list_claims(F19)


def test_ff21(monkeypatch: pytest.MonkeyPatch, runs: sw.Collection) -> None:
    rng, measures = np.random.default_rng(1), ("AP", "P@10")
    covered = {n: make_dataset(measures, lambda _, n=n: LEVELS + draw_errors(rng, 0.2, n, 3)) for n in (2, 3)}

    def judge(even: Mapping[int, xr.Dataset]) -> tuple[ClaimVerdict, ...]:
        whole = even[5].mean(("split", "shard"))
        monkeypatch.setattr(FF21, "gather_data", lambda *_: PaperData(whole, runs))
        monkeypatch.setattr(FF21, "_score_even", lambda _self, _source, count, _splits: even[count]["AP"])
        monkeypatch.setattr(
            "shardwise.papers.ff21_bootstrap.score_covered",
            lambda _, count, *_more, **_how: (covered[count], None),
        )
        return FF21(shards=(2, 3), fill_shards=(6,), samples=SPLITS, **FEW).judge(None)

    def leave_undefined(values: Floats) -> xr.Dataset:
        values[:, :7, :, 0] = np.nan
        return make_dataset(("AP",), lambda _: values)

    # each split has another order of the systems, more or less noise, and errors that cancel out over shards
    orders = np.stack([rng.permutation(LEVELS) for _ in range(SPLITS)])[:, None]
    wild = np.array([0.3, 0.6, 1.0, 2.0])[:, None, None, None]
    moving = {
        5: make_dataset(("AP",), lambda _: orders + draw_errors(rng, 0.3, 5, 3) * wild),
        6: leave_undefined(0.3 * orders + draw_errors(rng, 0.1, 5)),
    }
    # copies of one topic: of two splits Tukey's q finds the largest difference, the first step of BH does not
    errors = np.random.default_rng(5).normal(0.0, 0.1, (4, 5))
    errors -= errors.mean(axis=1, keepdims=True)
    gaps = 0.027 * np.array([1.0, 1.0, 1.3, 1.3])[:, None] * np.array([1.0, 0.0, 0.0, -0.2])
    copies = np.broadcast_to(gaps[:, None, :, None] + errors, (SPLITS, TOPICS, 4, 5))
    # differences between what the bootstrap finds and what Tukey finds, lost where undefined scores are 1
    small = 0.1 + LEVELS * 0.04 / 0.35
    near = {
        5: make_dataset(("AP",), lambda _: copies),
        6: leave_undefined(small + draw_errors(rng, 0.1, 5, 1, 3)),
    }
    # two groups far apart; MD6 alone is rid of the topics' shards, and finds a split's own differences within groups
    within = rng.normal(0.0, 1.0, (SPLITS, TOPICS, 1, 5)) + rng.normal(0.0, 0.1, (SPLITS, 1, SYSTEMS, 5))
    groups = 1.5 * (LEVELS > 0.17) + within + draw_errors(rng, 0.14, 5)
    grouped = {5: make_dataset(("AP",), lambda _: groups), 6: moving[6]}
    # Never so on scores: print alone is compared with print; a term more cannot leave larger residuals, so that
    # widths tie at most; the bootstrap's cut is below that of t by 1/√2 at least; MD6 takes any fill for topic:shard.
    never = {"two tails nearer to print", "interaction narrows intervals", "t with BH within the bootstrap",
             "MD6 independent of fills"}  # fmt: skip
    assert list_turned(judge(moving), judge(near), judge(grouped)) == list_claims(FF21) - never


def test_v17(monkeypatch: pytest.MonkeyPatch, runs: sw.Collection) -> None:
    rng, measures = np.random.default_rng(1), ("AP", "P@10")
    related = {"team": [f"system{k}" for k in range(4)]}

    def judge(whole: xr.Dataset, parts: Mapping[int, xr.Dataset]) -> tuple[ClaimVerdict, ...]:
        monkeypatch.setattr(V17, "gather_data", lambda *_: PaperData(whole, runs))
        monkeypatch.setattr(
            V17, "_score_parts", lambda _self, _runs, _names, count, _splits: (parts[count], None)
        )
        return V17(sets=related, shards=tuple(parts), n_splits=SPLITS, **FEW).judge(None)

    def vary(count: int, size: float, sd: Floats, _measure: str) -> Floats:
        return size * LEVELS + draw_errors(rng, 1.0, count) * sd

    clear = make_dataset(measures, lambda _: LEVELS[:, 0] + rng.normal(0.0, 0.02, (TOPICS, SYSTEMS)))
    # AP has another order in every split, and much noise on two parts
    orders = np.stack([rng.permutation(LEVELS) for _ in range(SPLITS)])[:, None]
    two = {"AP": orders + draw_errors(rng, 0.6, 2, 3), "P@10": 0.2 * LEVELS + draw_errors(rng, 0.6, 2, 1, 3)}
    three = {"AP": orders + draw_errors(rng, 0.15, 3, 3), "P@10": LEVELS + draw_errors(rng, 0.01, 3)}
    moving = {2: make_dataset(measures, two.__getitem__), 3: make_dataset(measures, three.__getitem__)}
    # related runs vary much more, and much less, than the others
    sds = np.repeat([[0.4, 0.01], [0.01, 0.6]], 4, axis=1)[..., None]
    unlike = [
        {n: make_dataset(measures, partial(vary, n, size, sd)) for n in (2, 3)}
        for size, sd in zip((0.5, 0.15), sds, strict=True)
    ]
    # of two topics no randomization test of one side finds anything: its largest ratio is √2
    ends = np.array([[-0.01], [0.01]])
    pair = make_dataset(measures, lambda _: 3.0 * LEVELS[:, 0] + ends + rng.normal(0.0, 0.001, (2, SYSTEMS)))
    noise = {n: make_dataset(measures, lambda _, n=n: draw_errors(rng, 0.3, n, topics=2)) for n in (2, 3)}
    found = [judge(clear, moving), *(judge(clear, parts) for parts in unlike), judge(pair, noise)]
    assert list_turned(*found) == list_claims(V17)


def test_s14(monkeypatch: pytest.MonkeyPatch, runs: sw.Collection) -> None:
    errors, all_judged = np.random.default_rng(2).normal(0.0, 1.0, (TOPICS, 6)), len(runs.qrel_docs)
    four, diverse = ("AP", "Q", "nDCG", "nERR"), ("alpha-nDCG", "nERR-IA", "D-nDCG", "D♯-nDCG")
    tasks = {"deep": (four, ""), "depth 10": (four, "cut"), "diversity, depth 10": (diverse, "i")}
    one_wild = np.array([6.0, 1.0, 1.0, 1.0, 1.0, 1.0])

    def judge(choose_sds: Callable[[sw.Collection, str], tuple[float, ...]], factors: Any) -> Any:
        """Judge scores whose standard deviations depend on the judgments left and on the task."""

        def score(_self: S14, each: sw.Collection, names: Mapping[str, str]) -> xr.Dataset:
            sds = dict(zip(names, choose_sds(each, next(iter(names.values()))), strict=True))
            return make_dataset(names, lambda name: sds[name] * errors * (factors if "AP" in names else 1.0))

        monkeypatch.setattr(S14, "_score_named", score)
        return S14(depths=(2, 10, 60), **FEW).judge(runs)

    def vary_most_deep(each: sw.Collection, task: str) -> tuple[float, ...]:
        """AP varies more than nERR, D-measures more than others, deep pools more than shallow ones."""
        sd = 0.5 if len(each.qrel_docs) == all_judged else 0.2 * (len(each.qrel_docs) / all_judged + 0.1)
        return {"i": (0.2, 0.2, 0.4, 0.4), "cut": (0.02, 0.03, 0.03, 0.01)}.get(task, (sd, sd, sd, 0.5 * sd))

    def vary_most_shallow(each: sw.Collection, task: str) -> tuple[float, ...]:
        """With all judgments a few topics are enough, with few judgments thousands are not."""
        return (0.02,) * 4 if len(each.qrel_docs) == all_judged else (1.5,) * 4

    monkeypatch.setattr("shardwise.papers.s14_topic_sets.list_tasks",
                        lambda _: {task: dict.fromkeys(*names) for task, names in tasks.items()})  # fmt: skip
    assert list_turned(judge(vary_most_deep, one_wild), judge(vary_most_shallow, 1.0)) == list_claims(S14)


class Contrary:
    """Stands for J15's simulations: unequal systems where they are equal, wider with more topics, few topics."""

    def __init__(self, figure: str, mu: float = 0.0, topics: int = 50, **_: Any) -> None:
        self.figure, self.mu, self.topics = figure, mu, topics

    def draw(self, first: int, count: int, seed: int) -> Floats:
        rng = np.random.default_rng([seed, first])
        if self.figure == "figure-2":
            return (
                rng.normal(0.0, 0.1, (count, TOPICS, 2, 5)) + np.array([0.3 * (self.mu == 0.5), 0.0])[:, None]
            )
        if self.figure == "figure-3":
            return rng.normal(0.0, 0.01 if self.topics < 50 else 20.0, (count, self.topics, 2))
        topic = rng.normal(0.15, 0.3, (count, 6, 1))
        repeats = topic + rng.normal(0.0, 0.001, (count, 6, 10))
        return np.stack([repeats, np.zeros_like(repeats)], axis=2)


def make_repeats(*systems: Floats) -> xr.DataArray:
    """Scores of a deterministic baseline, and of systems that are (repeats, topics) above it."""
    base = np.random.default_rng(6).uniform(0.2, 0.6, systems[0].shape[1])
    values = np.stack([np.broadcast_to(base, systems[0].shape), *(base + each for each in systems)])
    names = ["base", *(f"s{k}" for k in range(len(systems)))]
    return xr.DataArray(values, dims=("system", "instance", "topic"), coords={"system": names}, name="nDCG")


@pytest.mark.slow
def test_j15(monkeypatch: pytest.MonkeyPatch) -> None:
    rng, signs = np.random.default_rng(5), np.resize([1.0, -1.0], (6, 30))
    signs[1::2] *= -1.0
    # repeats that are much worse on every topic, the same distance from their mean everywhere, and unlike each other
    levels = np.array([-0.3, -0.25, -0.2, -0.15, -0.1, -0.05])[:, None]
    worse = make_repeats(-0.2 + 0.02 * signs, levels + 0.002 * rng.normal(size=(6, 30)))
    # half of the repeats is better and half is worse, each significantly
    halves = [0.03 + np.resize([0.1, -0.1], (20, 1)) + 0.02 * rng.normal(size=(20, 12)) for _ in range(2)]
    # eight topics, repeats that are nearly copies: the mixed model is a t-test, and the bootstrap has smaller p
    standard = rng.normal(size=(8, 8))
    standard = (standard - standard.mean(axis=1, keepdims=True)) / standard.std(axis=1, ddof=1, keepdims=True)
    copies = [0.08 + 0.1 * each + 0.0001 * rng.normal(size=(4, 8)) for each in standard]
    how: dict[str, Any] = {"claim_resamples": 8, "n_resamples": 20, "repetitions": 100, "jobs": 1}
    monkeypatch.setattr(sw.simulate, "j15_scenario", Contrary)
    found = [
        J15(claim_splits=splits, **how).judge(data)
        for splits, data in ((4, worse), (8, make_repeats(*halves)), (4, make_repeats(*copies)))
    ]
    assert list_turned(*found) == list_claims(J15)
    # and nothing fails where topics vary unequally and differences are small
    monkeypatch.undo()
    uneven = np.where(np.arange(30) < 15, 0.2, 0.001)
    alike = make_repeats(*(0.005 + uneven * rng.normal(size=(2, 6, 30))))
    assert not list_turned(J15(claim_splits=4, **how | {"repetitions": 5}).judge(alike))
