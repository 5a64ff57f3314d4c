"""The step-down max-t test by sign flips, against plain numpy, enumeration and simulated equal systems."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from procedure_tables import ALPHA, COLUMNS, assert_same, decide_all, each, labelled, seeds_of, tables
from shardwise.comparing.compare import paired_tests
from shardwise.comparing.comparisons import Comparisons
from shardwise.core.arrays import Floats
from shardwise.core.errors import InputError
from shardwise.methods.paired import statistics as paired
from shardwise.methods.paired.kernels import sign_flips
from shardwise.methods.paired.statistics import flip_topics, u_of
from shardwise.methods.tables import SHARDS, TABLE
from shardwise.stats.resampling import key_of
from shardwise.stats.stepdown import TIE

KEYS = st.integers(0, 2**32 - 1)


def table(seed: int, topics: int = 12, systems: int = 4, spread: float = 0.03) -> pd.DataFrame:
    """Correlated systems with variances of their own and true differences."""
    g = np.random.default_rng(seed)
    y = 0.4 + 0.1 * g.normal(size=(topics, 1)) + spread * np.arange(systems)
    y = y + np.linspace(0.02, 0.1, systems) * g.normal(size=(topics, systems))
    return pd.DataFrame(y, columns=[f"s{k}" for k in range(systems)])


def signs_of(topics: int, seed: int, count: int) -> Floats:
    """(B, T) the flips of `randomization`, each up to a common sign, which changes no |t*|.

    System t scores 1 on topic t alone, and one more system does on the first: they are 2 apart if signs differ.
    """
    alone = np.eye(topics, dtype=np.int64)
    y = np.hstack([alone, alone[:, :1]])
    target = np.full((topics + 1, topics + 1), 2, dtype=np.int64)
    counts = [sign_flips(y, target, key_of(seed), n)[:topics, topics] for n in range(count + 1)]
    return np.asarray(1.0 - 2.0 * np.diff(counts, axis=0))


def by_hand(y: Floats, signs: Floats) -> tuple[Floats, Floats, Floats]:
    """p, step-down and single-step p of all pairs in the order of combinations, t* by t*."""
    topics, r = y.shape
    pairs = list(combinations(range(r), 2))

    def t(z: Floats) -> float:
        return float(abs(z.mean()) / (z.std(ddof=1) / np.sqrt(topics)))

    observed = np.array([t(y[:, a] - y[:, b]) for a, b in pairs])
    centred = y - y.mean(axis=0)
    with np.errstate(divide="ignore"):  # a flip without spread has an infinite t
        star = np.array([[t(w * (centred[:, a] - centred[:, b])) for a, b in pairs] for w in signs])
    b = len(signs)
    p = np.array([(np.sum(star[:, k] >= observed[k] * (1 - 1e-9)) + 1) / (b + 1) for k in range(len(pairs))])
    largest = star.max(axis=1)
    single = np.array([(np.sum(largest >= x * (1 - 1e-9)) + 1) / (b + 1) for x in observed])
    left = list(np.argsort(-observed))
    falling, step = np.empty(len(pairs)), 0.0
    while left:
        k = left[0]
        step = max(step, (np.sum(star[:, left].max(axis=1) >= observed[k] * (1 - 1e-9)) + 1) / (b + 1))
        falling[k] = step
        left.pop(0)
    return p, falling, single


def in_pairs(found: Comparisons, values: Floats, r: int) -> Floats:
    """Values of a result in the order of combinations of the systems s0, s1, …."""
    frame = found.to_frame()
    at = {frozenset((a, b)): v for a, b, v in zip(frame.a, frame.b, values, strict=True)}
    return np.array([at[frozenset((f"s{a}", f"s{b}"))] for a, b in combinations(range(r), 2)])


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MaxT(Comparisons):
    """A result with what its flips were."""

    maxima: Floats = field(default_factory=lambda: np.empty(0))
    topics: int = 0

    def single_step(self) -> Floats:
        """P-values against the largest |t| of all pairs, those found already included."""
        least = u_of(self.statistic, self.topics) * (1.0 - TIE)
        as_large = self.maxima.size - np.searchsorted(self.maxima, least)
        return np.asarray((as_large + 1) / (self.maxima.size + 1))


def max_t(scores: pd.DataFrame, n_resamples: int = 500, seed: int = 0) -> MaxT:
    found = paired_tests(scores, "max-t", n_resamples=n_resamples, seed=seed)
    y = scores[list(found.estimates.labels)].to_numpy()
    mean, se = (x[0] for x in paired.pair_moments(y[None], found.ia, found.ib))
    flips = flip_topics(y, found.ia, found.ib, mean, se, key_of(seed), n_resamples)
    given = {name: getattr(found, name) for name in Comparisons.__slots__}
    return MaxT(**given, maxima=flips.maxima, topics=len(y))


@pytest.mark.parametrize(("topics", "systems"), [(5, 3), (12, 5), (70, 4)])  # 70: signs from two words
def test_same_flips_by_hand(topics: int, systems: int) -> None:
    scores = table(topics, topics, systems)
    found = max_t(scores, 200, 3)
    p, falling, single = by_hand(scores.to_numpy(), signs_of(topics, 3, 200))
    np.testing.assert_allclose(in_pairs(found, found.p, systems), p, rtol=1e-12)
    np.testing.assert_allclose(in_pairs(found, found.p_adjusted, systems), falling, rtol=1e-12)
    np.testing.assert_allclose(in_pairs(found, found.single_step(), systems), single, rtol=1e-12)


def test_sampled_flips_approach_all_flips() -> None:
    scores = table(4, 8, 4)
    count = 40_000
    found = max_t(scores, count)
    wanted = by_hand(scores.to_numpy(), np.array(list(product([1.0, -1.0], repeat=8))))
    for mine, other in zip((found.p, found.p_adjusted, found.single_step()), wanted, strict=True):
        exact = (other * 257 - 1) / 256
        # five standard errors, and a flip of the sampled p-value
        away = 5 * np.sqrt(exact * (1 - exact) / count) + 1 / count
        assert (np.abs(in_pairs(found, mine, 4) - exact) <= away).all()


def test_two_systems_are_a_studentised_sign_flip_test() -> None:
    scores = table(5, 9, 2)
    z = (scores["s0"] - scores["s1"]).to_numpy()
    flips = np.array(list(product([1.0, -1.0], repeat=9))) * (z - z.mean())
    t = np.abs(flips.mean(axis=1)) / (flips.std(axis=1, ddof=1) / 3)
    exact = np.mean(t >= abs(z.mean()) / (z.std(ddof=1) / 3))
    found = max_t(scores, 40_000)
    assert found.p[0] == found.p_adjusted[0] == found.single_step()[0]
    assert found.p[0] == pytest.approx(exact, abs=5 * np.sqrt(exact * (1 - exact) / 40_000) + 1 / 40_000)


@settings(max_examples=25)
@given(seed=KEYS, topics=st.integers(3, 30), systems=st.integers(2, 6), steps=st.sampled_from([0, 1, 2]))
def test_p_values_are_in_order(seed: int, topics: int, systems: int, steps: int) -> None:
    scores = table(seed, topics, systems)
    scores = scores.round(steps) if steps else scores  # scores in steps have ties and pairs without spread
    found = max_t(scores, 99, seed % 7)
    single = found.single_step()
    assert (found.p <= found.p_adjusted).all()
    assert (found.p_adjusted <= single).all()
    assert (found.p >= 0.01).all()
    assert (single <= 1.0).all()
    by_t = np.argsort(-np.abs(found.statistic), kind="stable")
    assert (np.diff(found.p_adjusted[by_t]) >= 0).all()


@settings(max_examples=15)
@given(seed=KEYS, order=st.permutations(range(4)))
def test_topic_effects_and_order_of_systems_change_nothing(seed: int, order: list[int]) -> None:
    scores = table(seed)
    found = max_t(scores).to_frame()
    shared = np.random.default_rng(seed).normal(0, 0.5, (len(scores), 1))
    easier = max_t(scores + shared).to_frame()
    np.testing.assert_array_equal(found[["p", "p_adjusted"]], easier[["p", "p_adjusted"]])
    pd.testing.assert_frame_equal(found, max_t(scores.iloc[:, order]).to_frame())
    # neither does the unit of the scores, but for what rounding leaves of ties
    np.testing.assert_array_equal(found.p_adjusted, max_t(scores * 100.0).to_frame().p_adjusted)


def test_true_differences_do_not_widen_the_distribution() -> None:
    scores = table(6, 20, 5, spread=0.0)
    apart = scores + 3.0 * np.arange(5)
    one, other = max_t(scores), max_t(apart)
    np.testing.assert_allclose(one.maxima, other.maxima, rtol=1e-9)


def test_intervals_hold_zero_where_the_single_step_tells_nothing() -> None:
    found = max_t(table(7, 15, 6, 0.02), 399)
    single = found.single_step()
    for level in (0.6, 0.8, 0.95):
        frame = found.intervals(level, kind="difference")
        np.testing.assert_array_equal(frame.lower > 0, single <= 1 - level + 1e-12)
        half = found.pairs.half_widths(1 - level)[0] / found.se
        np.testing.assert_allclose(half, half[0])
    assert np.isinf(
        max_t(table(7), 9).intervals(0.95, kind="difference").upper
    ).all()  # nine flips cannot reach .05
    with pytest.raises(InputError, match="level 95 is not between"):
        found.intervals(95, kind="difference")


def test_identical_and_constantly_shifted_systems() -> None:
    scores = table(8, 30, 3)
    plain = max_t(scores, 999)
    more = scores.assign(copy=scores["s1"], shifted=scores["s1"] + 0.5)
    found = max_t(more, 999)
    p, adjusted = found.matrix("p"), found.matrix("p_adjusted")
    assert p.loc["s1", "copy"] == adjusted.loc["s1", "copy"] == 1.0
    assert p.loc["s1", "shifted"] == adjusted.loc["s1", "shifted"] == 0.001
    with_copy = max_t(
        scores.assign(copy=scores["s1"]), 999
    )  # rounding aside, the copy adds nothing to the maxima
    np.testing.assert_allclose(plain.maxima, with_copy.maxima, rtol=1e-9)
    frame = found.intervals(kind="difference").set_index(["a", "b"])
    row = frame.loc[("shifted", "s1")]
    # nothing varies, and the scores have no range: not estimable
    assert np.isnan(row.lower)
    assert np.isnan(row.upper)
    equal = max_t(pd.DataFrame({"x": [0.1, 0.2, 0.3], "y": [0.1, 0.2, 0.3]}), 99)
    assert (equal.p[0], equal.p_adjusted[0], equal.single_step()[0]) == (1.0, 1.0, 1.0)
    two = max_t(pd.DataFrame({"x": [0.5, 0.7], "y": [0.4, 0.2]}), 199)  # half of all flips have an infinite t
    assert 0.3 < two.p[0] < 0.7
    assert np.isinf(two.intervals(kind="difference").upper).all()


def test_replicates_depend_on_seed_and_index_only() -> None:
    scores = table(9, 30)
    short, again, other = (max_t(scores, 400, s).p_adjusted for s in (1, 1, 2))
    np.testing.assert_array_equal(short, again)
    assert (short != other).any()
    rise = np.rint(max_t(scores, 401, 1).p * 402 - max_t(scores, 400, 1).p * 401)
    assert set(rise) <= {0.0, 1.0}


def test_a_chosen_family_is_the_family() -> None:
    scores = table(10, 20, 5)
    some = paired_tests(scores, "max-t", n_resamples=300, only=["s0", "s1", "s3"])
    alone = max_t(scores[["s0", "s1", "s3"]], 300).to_frame()
    own = [name for name in COLUMNS if name != "effect_size"]  # measured by the spread of all systems
    pd.testing.assert_frame_equal(some.to_frame()[own], alone[own])
    pair = paired_tests(scores, "max-t", n_resamples=300, only=[("s0", "s1")])
    assert pair.p[0] == pair.p_adjusted[0]


def test_words_and_refusals() -> None:
    found = max_t(table(11), 100, 4)
    assert str(found) == (
        "step-down max-t by sign flips, 4 systems, 100 resamples, seed 4; claim: new topics like these 12"
    )
    assert tuple(found.to_frame().columns) == COLUMNS
    t = paired_tests(table(11), "t")
    np.testing.assert_array_equal(found.statistic, t.statistic)
    np.testing.assert_array_equal(found.se, t.se)
    pd.testing.assert_frame_equal(found.intervals(0.9, "sem"), t.intervals(0.9, "sem"))
    with pytest.raises(InputError, match="test='max-t' is corrected by construction"):
        paired_tests(table(11), "max-t", correction="holm")


@pytest.mark.parametrize("topics", [6, 30])
def test_batches_say_what_single_tables_say(topics: int) -> None:
    y = tables(6, topics, 5, 2)
    (found,) = decide_all(["max-t"], y, SHARDS, ALPHA, 3, 5)
    seeds = seeds_of(len(y), 3, 5)

    def make(i: int, one: Floats) -> Comparisons:
        scores = labelled(one, *SHARDS)
        return paired_tests(scores, "max-t", n_resamples=99, seed=seeds[i], average=("shard",))

    assert_same(found, each(y, make))


def test_more_pairs_ask_for_a_larger_t() -> None:
    y = np.random.default_rng(12).normal(size=(20, 6))
    a, b = np.triu_indices(6, 1)
    z = y[:, a] - y[:, b]
    mean, se = z.mean(axis=0), z.std(axis=0, ddof=1) / np.sqrt(20)
    key = key_of(0)
    few = flip_topics(y, a[:5], b[:5], mean[:5], se[:5], key, 200)
    many = flip_topics(y, a, b, mean, se, key, 200)
    assert (many.maxima >= few.maxima).all()
    assert (many.p_adjusted[:5] >= few.p_adjusted).all()
    np.testing.assert_array_equal(many.p[:5], few.p)


@pytest.mark.calibration
def test_unequal_variances_leave_the_family_error_at_its_level(repetitions: float) -> None:
    """Ten equal systems, two of them wild: a common variance is too small for the wild ones, their own is not."""
    count = int(1500 * repetitions)
    spread = np.where(np.arange(10) < 2, 0.3, 0.02)
    names = ("max-t", "t holm", "MD1 hsd topic", "tukey")
    y = np.random.default_rng(31).normal(0, 0.2, (count, 50, 1))
    y = y + spread * np.random.default_rng(32).normal(size=(count, 50, 10))
    found = decide_all(names, y, TABLE, 0.05, 1, n_resamples=399)
    rate = {name: np.mean((d.p_adjusted <= 0.05).any(axis=1)) for name, d in zip(names, found, strict=True)}
    error = np.sqrt(0.05 * 0.95 / count)
    assert rate["max-t"] <= 0.05 + 3.5 * error
    assert rate["max-t"] >= 0.05 - 3.5 * error  # nor is the level bought by saying nothing
    assert rate["MD1 hsd topic"] > 0.15
    assert rate["tukey"] > 0.15
    covered = ((found[0].lower <= 0) & (found[0].upper >= 0)).all(axis=1).mean()
    assert abs(covered - 0.95) <= 3.5 * error


@pytest.mark.calibration
def test_some_equal_systems_among_different_ones(repetitions: float) -> None:
    """The family error counts equal pairs alone, whatever the others are."""
    count = int(1500 * repetitions)
    means = np.array([0.0, 0.0, 0.0, 0.0, 0.1, 0.1, 0.1, 0.4])
    y = means + np.linspace(0.02, 0.2, 8) * np.random.default_rng(33).normal(size=(count, 50, 8))
    (found,) = decide_all(["max-t"], y, TABLE, 0.05, 1, n_resamples=399)
    a, b = np.triu_indices(8, 1)
    false = (found.p_adjusted <= 0.05)[:, means[a] == means[b]].any(axis=1).mean()
    assert false <= 0.05 + 3.5 * np.sqrt(0.05 * 0.95 / count)


@pytest.mark.calibration
def test_more_is_found_than_by_holm_where_systems_are_alike(repetitions: float) -> None:
    """Systems in three families of near relatives: few different pairs, which Holm counts as all of them."""
    count = int(200 * repetitions)
    rng = np.random.default_rng(34)
    family = np.arange(12) // 4
    y = rng.normal(0, 0.1, (count, 50, 3))[:, :, family] + rng.normal(0, 0.02, (count, 50, 12))
    y = y + np.array([0.0, 0.04, 0.08])[family]
    names = ("max-t", "t holm")
    mine, holm = decide_all(names, y, TABLE, 0.05, 1, n_resamples=1000)
    a, b = np.triu_indices(12, 1)
    true = family[a] != family[b]
    more = (mine.p_adjusted <= 0.05)[:, true].mean(axis=1) - (holm.p_adjusted <= 0.05)[:, true].mean(axis=1)
    assert more.mean() > 3.5 * more.std() / np.sqrt(count)
