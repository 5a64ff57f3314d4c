"""Corrections, pairs, intervals and groups, against R, statsmodels, published counts and their own logic."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

from procedure_tables import COLUMNS
from shardwise.comparing.compare import compare
from shardwise.comparing.comparisons import Comparisons
from shardwise.core.arrays import Floats, Ints
from shardwise.core.errors import InputError
from shardwise.methods.pairs import Means, Pairs, estimate_own_variances, ranked_pairs
from shardwise.stats import groups
from shardwise.stats.corrections import SIMULTANEOUS, STEPWISE

GOLD = Path(__file__).parent.parent / "gold"
ALL = [name for name in [*SIMULTANEOUS, *STEPWISE] if name != "dunnett"]


def two_way(y: Floats, labels: list[str]) -> Means:
    """MD1, topic + system, in five lines."""
    t, r = y.shape
    residuals = y - y.mean(axis=0) - y.mean(axis=1, keepdims=True) + y.mean()
    df = (t - 1) * (r - 1)
    ms = float((residuals**2).sum() / df)
    return Means(
        tuple(labels), y.mean(axis=0), ms / t, df, f"topics like these {t}", error="topic:system",
        scale=ms**0.5, own_sd=y.std(axis=0, ddof=1), own_count=np.full(r, float(t)),
    )  # fmt: skip


def read(path: Path) -> Means:
    wide = pd.read_csv(path)
    return two_way(wide.to_numpy(), list(wide.columns))


def simulated(seed: int, r: int, t: int = 12, spread: float = 0.1) -> Means:
    g = np.random.default_rng(seed)
    y = g.normal(size=(t, 1)) + spread * np.arange(r) + 0.3 * g.normal(size=(t, r))
    return two_way(y, [f"s{k}" for k in range(r)])


# --- published and R's numbers -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "pairs", "top"),
    [
        ("trec8/adhoc8_ap.csv", 3423, 7),  # F19 Table 1
        ("trec8/adhoc8_p10.csv", 3359, None),
        ("trec8/adhoc8_rr.csv", 2228, None),
    ],
)
def test_pairs_told_apart_on_trec(data: Path, file: str, pairs: int, top: int | None) -> None:
    found = compare(read(data / file), "hsd")
    assert int(found.reject().sum()) == pairs
    assert top is None or len(found.best()) == top


def test_pairs_told_apart_on_trec3(trec3: Path) -> None:
    assert int(compare(read(trec3), "hsd").reject().sum()) == 378


@pytest.mark.parametrize("size", ["small", "large"])
def test_hsd_agrees_with_r(size: str) -> None:
    found = compare(read(GOLD / f"paired_{size}.csv"), "hsd")
    rows = found.to_frame()
    gold = pd.read_csv(GOLD / "tukey_hsd.csv").query("size == @size")
    gold = {frozenset(row.pair.split("-")): row for row in gold.itertuples()}
    assert len(rows) == 10
    for row in rows.itertuples():
        other = gold[frozenset((row.a, row.b))]
        assert row.difference == pytest.approx(abs(other.difference), abs=1e-12)
        ours = sorted([abs(row.lower), abs(row.upper)])
        np.testing.assert_allclose(
            ours, sorted([abs(other.lower), abs(other.upper)]), rtol=1e-4
        )  # R's qtukey
        assert row.p_adjusted == pytest.approx(other.p, rel=1e-5, abs=1e-9)


@pytest.mark.parametrize("size", ["small", "large"])
def test_dunnett_agrees_with_multcomp(size: str) -> None:
    found = compare(read(GOLD / f"paired_{size}.csv"), "dunnett", baseline="A").to_frame()
    gold = pd.read_csv(GOLD / "dunnett_multcomp.csv").query("size == @size").set_index("system")
    other = np.where(found.a == "A", found.b, found.a)
    np.testing.assert_allclose(found.statistic, gold.loc[other, "t"].abs(), rtol=1e-9)
    np.testing.assert_allclose(
        found.p_adjusted, gold.loc[other, "p"], atol=2e-6
    )  # multcomp integrates at random


def test_dunnett_with_unequal_variances_agrees_with_multcomp() -> None:
    gold = pd.read_csv(GOLD / "dunnett_unequal.csv").set_index("system")
    variances = (gold.sigma**2 / gold.n).to_numpy()
    means = Means(
        tuple(gold.index), gold["mean"].to_numpy(), np.add.outer(variances, variances), float(gold.df.iloc[0]),
    )  # fmt: skip
    rows = compare(means, "dunnett", baseline="b0")
    pairs = rows.to_frame().set_index("a")
    for system in ("b1", "b2", "b3"):
        # multcomp integrates at random
        assert pairs.loc[system, "p_adjusted"] == pytest.approx(gold.loc[system, "p"], abs=2e-6)
        limits = pairs.loc[system, ["lower", "upper"]].astype(float)
        # its critical value is accurate to 0.001 only
        np.testing.assert_allclose(limits, gold.loc[system, ["lower", "upper"]], atol=2e-3)


def test_dunnett_agrees_with_scipy() -> None:
    g = np.random.default_rng(4)
    control, *others = (g.normal(loc=m, size=15) for m in (0, 0.5, 1, 0))
    y = np.column_stack([control, *others])
    variance = y.var(axis=0, ddof=1).mean() / 15
    means = Means(tuple("abcd"), y.mean(axis=0), variance, 4 * 14, "")
    ours = compare(means, "dunnett", baseline="a").to_frame()
    p = dict(zip("bcd", stats.dunnett(*others, control=control, rng=1).pvalue, strict=True))
    for row in ours.itertuples():
        assert row.p_adjusted == pytest.approx(p[row.b if row.a == "a" else row.a], abs=1e-3)


def test_scheffe_is_the_f_test_for_two_systems_and_its_definition_for_more() -> None:
    two = compare(simulated(1, 2), "scheffe")
    np.testing.assert_allclose(two.p_adjusted, two.p, rtol=1e-12)
    five = compare(simulated(1, 5), "scheffe")
    np.testing.assert_allclose(five.p_adjusted, stats.f.sf(five.statistic**2 / 4, 4, 44), rtol=1e-12)
    many = compare(replace(simulated(1, 5), df=1e9), "scheffe").p_adjusted
    np.testing.assert_allclose(
        compare(replace(simulated(1, 5), df=np.inf), "scheffe").p_adjusted, many, rtol=1e-6
    )


@given(p=st.lists(st.floats(0, 1), min_size=1, max_size=40))
@settings(max_examples=20, deadline=None)
def test_corrections_agree_with_statsmodels(p: list[float]) -> None:
    names = {"bonferroni": "bonferroni", "holm": "holm", "bh": "fdr_bh", "by": "fdr_by"}
    for ours, theirs in names.items():
        expected = multipletests(p, method=theirs)[1]
        np.testing.assert_allclose(STEPWISE[ours].adjust(np.array(p)), expected, rtol=1e-12, atol=1e-300)


# --- logic ---------------------------------------------------------------------------------------------------------


@given(seed=st.integers(0, 10_000), r=st.integers(2, 9), alpha=st.sampled_from([0.01, 0.05, 0.2]))
@settings(max_examples=30, deadline=None)
def test_rejections_nest_as_theory_says(seed: int, r: int, alpha: float) -> None:
    means = simulated(seed, r)
    found = {name: compare(means, name).reject(alpha) for name in ALL}
    for inner, outer in [("bonferroni", "holm"), ("holm", "none"), ("by", "bh"), ("bh", "none"), ("hsd", "none"),
                         ("holm", "bh"), ("scheffe", "hsd")]:  # fmt: skip
        assert not (found[inner] & ~found[outer]).any(), (inner, outer)


@given(seed=st.integers(0, 10_000), r=st.integers(2, 9), alpha=st.sampled_from([0.01, 0.05, 0.2]))
@settings(max_examples=30, deadline=None)
@pytest.mark.parametrize("method", ALL)
def test_intervals_overlap_exactly_when_not_significant(method: str, seed: int, r: int, alpha: float) -> None:
    found = compare(simulated(seed, r), method)
    box = found.intervals(1 - alpha, "comparison")
    frame = found.to_frame()
    apart = box.loc[frame.a, "lower"].to_numpy() > box.loc[frame.b, "upper"].to_numpy()
    np.testing.assert_array_equal(apart, found.reject(alpha))
    if method != "holm":
        np.testing.assert_array_equal(
            found.intervals(1 - alpha, kind="difference").lower > 0, found.reject(alpha)
        )


@pytest.mark.slow
@given(seed=st.integers(0, 1000), order=st.permutations(range(6)))
@settings(max_examples=30, deadline=None)
def test_order_of_systems_is_irrelevant(seed: int, order: list[int]) -> None:
    means = simulated(seed, 6)
    shuffled = replace(
        means,
        labels=tuple(means.labels[k] for k in order),
        values=means.values[order],
        own_sd=means.own_sd[order],
        own_count=means.own_count[order],
    )
    for method in ALL:
        pd.testing.assert_frame_equal(compare(means, method).to_frame(), compare(shuffled, method).to_frame())


def test_frame_is_best_first_and_complete() -> None:
    frame = compare(simulated(3, 4, spread=1.0)).to_frame()
    assert tuple(frame.columns) == COLUMNS
    assert list(zip(frame.a, frame.b, strict=True)) == list(combinations(["s3", "s2", "s1", "s0"], 2))
    assert (frame.difference >= 0).all()
    np.testing.assert_allclose(frame.statistic, frame.difference / frame.se)
    np.testing.assert_allclose(frame.p, 2 * stats.t.sf(frame.statistic, frame.df))


def test_ties_keep_the_order_given() -> None:
    means = Means(("x", "y", "z"), np.array([0.1, 0.5, 0.5]), 0.01, 20.0, "")
    assert compare(means).names == ("y", "z", "x")


def test_the_three_intervals_of_the_paper() -> None:
    means = simulated(5, 4, spread=1.0)
    found = compare(means, "hsd")

    def half(kind: str) -> Floats:
        box = found.intervals(0.9, kind=kind)
        np.testing.assert_allclose(box.estimate, found.estimates.values)
        return (box.upper - box.lower).to_numpy() / 2

    se = np.sqrt(means.variance)
    q = stats.studentized_range.isf(0.1, 4, means.df)
    np.testing.assert_allclose(half("comparison"), q / 2 * se, rtol=1e-6)
    np.testing.assert_allclose(half("tukey"), q / 2 * se, rtol=1e-6)  # F19 eq. 3
    np.testing.assert_allclose(half("anova"), stats.t.isf(0.05, means.df) * se)  # F19 eq. 5
    sem = stats.t.isf(0.05, 11) * means.own_sd / np.sqrt(12)  # F19 eq. 4
    np.testing.assert_allclose(half("sem"), sem[::-1])
    with pytest.raises(InputError, match="unknown interval"):
        half("bayes")


def test_only_confines_pairs_and_correction_but_not_the_error() -> None:
    means = simulated(6, 6)
    some = compare(means, "hsd", only=["s1", "s4", "s2"])
    assert some.names == ("s4", "s2", "s1")
    assert set(some.df) == {means.df}
    q = np.sqrt(2) * some.statistic
    np.testing.assert_allclose(some.p_adjusted, stats.studentized_range.sf(q, 3, means.df), rtol=1e-6)
    pairs = compare(means, "bonferroni", only=[("s0", "s5"), ("s5", "s1"), ("s1", "s5")])
    assert pairs.to_frame()[["a", "b"]].to_numpy().tolist() == [["s5", "s1"], ["s5", "s0"]]
    np.testing.assert_allclose(pairs.p_adjusted, np.minimum(2 * pairs.p, 1))


def test_baseline_confines_pairs_and_correction() -> None:
    found = compare(simulated(6, 6), "holm", baseline="s2")
    assert len(found) == 5
    assert ((found.to_frame()[["a", "b"]] == "s2").sum(axis=1) == 1).all()
    np.testing.assert_allclose(found.p_adjusted, multipletests(found.p, method="holm")[1])
    some = compare(simulated(6, 6), "dunnett", baseline="s2", only=["s0", "s1"])
    assert set(some.names) == {"s0", "s1", "s2"}
    t = compare(simulated(6, 6), "dunnett", baseline="s2").p_adjusted
    assert (t <= compare(simulated(6, 6), "bonferroni", baseline="s2").p_adjusted + 1e-12).all()


def test_unequal_variances_are_tukey_kramer() -> None:
    # one-way layout with unequal counts, judged by scipy's tukey_hsd
    g = np.random.default_rng(8)
    samples = [g.normal(loc=m, size=n) for m, n in ((0, 5), (0.8, 9), (1.0, 20))]
    n = np.array([len(s) for s in samples])
    df = n.sum() - 3
    ms = sum(((s - s.mean()) ** 2).sum() for s in samples) / df
    spread = ms * (1 / n[:, None] + 1 / n[None, :])
    means = np.array([s.mean() for s in samples])
    estimates = Means(tuple("abc"), means, spread, df)
    expected = stats.tukey_hsd(*samples).pvalue
    matrix = compare(estimates, "hsd").matrix().loc[list("abc"), list("abc")].to_numpy()
    np.testing.assert_allclose(matrix, expected, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(estimate_own_variances(estimates), ms / n)
    per_pair = replace(estimates, df=np.full((3, 3), 10.0))
    assert set(compare(per_pair).df) == {10.0}


def uniform_pairs(ia: Ints, ib: Ints) -> Pairs:
    """A distribution under which p falls linearly to 0 at a difference of 1."""
    values = np.array([1.0, 0.5, 0.01])
    difference = values[ia] - values[ib]
    pairs = ranked_pairs(difference, np.full(difference.shape, np.nan), np.clip(1 - difference, 0, 1))
    return replace(pairs, critical=lambda level: 1 - np.asarray(level), words="a uniform distribution")


def test_a_distribution_instead_of_t() -> None:
    means = Means(("x", "y", "z"), np.array([1.0, 0.5, 0.01]), 0.01, pairs=uniform_pairs)
    for method in STEPWISE:
        found = compare(means, method)
        np.testing.assert_allclose(found.p, [0.5, 0.01, 0.51])
        assert np.isnan(found.statistic).all()
        box = found.intervals(0.95, "comparison")
        frame = found.to_frame()
        apart = box.loc[frame.a, "lower"].to_numpy() > box.loc[frame.b, "upper"].to_numpy()
        np.testing.assert_array_equal(apart, found.reject())
    assert str(compare(means, "bh")) == "Benjamini–Hochberg, 3 systems, a uniform distribution; claim: "
    for method in SIMULTANEOUS:
        with pytest.raises(InputError, match="uniform distribution"):
            compare(means, method, baseline="x")


def test_the_claim_goes_to_the_fit() -> None:
    class Fit:
        def estimates(self, *, generalize: tuple[str, ...] = ()) -> Means:
            return replace(simulated(1, 3), claim=f"generalizing over {generalize}")

    assert compare(Fit(), generalize=("topic",)).claim == "generalizing over ('topic',)"
    with pytest.raises(InputError, match="generalize"):
        compare(simulated(1, 3), generalize=("topic",))


@pytest.mark.parametrize("method", ALL)
def test_without_spread_equal_is_equal_and_unequal_is_different(method: str) -> None:
    means = Means(("x", "y", "z"), np.array([0.3, 0.3 + 1e-17, 0.1]), 1e-40, 98.0, "")
    found = compare(means, method)
    np.testing.assert_array_equal(found.p_adjusted, [1.0, 0.0, 0.0])
    assert found.best() == ("x", "y")


# --- groups --------------------------------------------------------------------------------------------------------


def brute_force(differ: np.ndarray) -> list[list[int]]:
    r = len(differ)
    sets = [
        set(c) for k in range(1, r + 1) for c in combinations(range(r), k)
        if not any(differ[a, b] for a, b in combinations(c, 2))
    ]  # fmt: skip
    return sorted(sorted(s) for s in sets if not any(s < other for other in sets))


@given(r=st.integers(1, 7), seed=st.integers(0, 10_000), density=st.floats(0, 1))
@settings(max_examples=80, deadline=None)
def test_groups_are_the_maximal_ones(r: int, seed: int, density: float) -> None:
    upper = np.triu(np.random.default_rng(seed).random((r, r)) < density, 1)
    differ = upper | upper.T
    found = groups.maximal_groups(differ)
    assert found == brute_force(differ)
    letters = [set(word) for word in groups.assign_letters(found, r)]
    for a, b in combinations(range(r), 2):
        assert bool(letters[a] & letters[b]) != differ[a, b]


@given(r=st.integers(1, 8), seed=st.integers(0, 10_000), width=st.floats(0, 1))
@settings(max_examples=30, deadline=None)
def test_groups_by_one_critical_difference(r: int, seed: int, width: float) -> None:
    values = np.sort(np.random.default_rng(seed).random(r))[::-1]
    differ = np.abs(values[:, None] - values) > width
    assert groups.maximal_groups(differ) == brute_force(differ)


def test_letters_beyond_the_alphabet() -> None:
    values = np.arange(60.0)
    found = compare(Means(tuple(f"s{k}" for k in range(60)), values, 0.01, 500.0, ""))
    letters = found.letters()
    assert len(found.groups()) == len({word for words in letters.letters for word in words.split()}) > 52
    a, b = letters.letters.iloc[0].split(), letters.letters.iloc[-1].split()
    assert not set(a) & set(b)


def test_top_group_and_groups_agree() -> None:
    found = compare(simulated(9, 8))
    assert found.groups()[0] == found.best()
    with pytest.raises(InputError, match="every pair"):
        compare(simulated(9, 8), "none", baseline="s3").best()
    with pytest.raises(InputError, match="every pair"):
        compare(simulated(9, 8), "none", baseline="s3").groups()


# --- what it shows and refuses -------------------------------------------------------------------------------------


def test_words() -> None:
    found = compare(simulated(2, 5), "hsd")
    assert str(found) == "Tukey HSD, 5 systems, 44 df, error topic:system; claim: topics like these 12"
    lines = found.summary(0.05).splitlines()
    assert lines[0].startswith("Best: s4")
    assert f"{found.reject().sum()} of 10 pairs differ significantly (p < 0.05, corrected)." in lines
    assert "against s1" in str(compare(simulated(2, 5), "dunnett", baseline="s1"))
    assert repr(found).startswith("<Comparisons of 10 pairs: Tukey HSD")


def test_effect_sizes_and_matrix() -> None:
    means = simulated(2, 4, spread=0.15)
    found = compare(means, "holm")
    effects = found.effect_sizes()
    np.testing.assert_allclose(effects.effect_size, found.difference / means.scale)
    words = {w: effects.effect_size[effects["size"] == w] for w in ("large", "medium", "small", "negligible")}
    assert (words["large"] >= 0.8).all()
    assert ((words["medium"] >= 0.5) & (words["medium"] < 0.8)).all()
    square = found.matrix("difference")
    np.testing.assert_allclose(square, -square.T)
    np.testing.assert_allclose(found.matrix("p_adjusted").to_numpy().diagonal(), 1.0)
    frame = found.to_frame()
    assert square.loc[frame.a[0], frame.b[0]] == frame.difference[0]


def test_refusals() -> None:
    means = simulated(1, 3)
    for call, words in [
        (lambda: compare(means, "lsd"), "unknown method"),
        (lambda: compare(means, "dunnett"), "baseline"),
        (lambda: compare(means, "holm", baseline="zz"), "unknown system 'zz'"),
        (lambda: compare(means, "holm", only="s1"), "single name"),
        (lambda: compare(means, "holm", only=["s1"]), "nothing to compare"),
        (lambda: compare(means, "holm", only=[("s1", "s1")]), "with itself"),
        (lambda: compare(means, "holm", only=[("s1", "s2")], baseline="s1"), "one of the two"),
        (lambda: compare(3.0, "holm"), "holds no scores"),
        (lambda: compare(means).reject(5), "not between 0"),
        (lambda: compare(means).matrix("q"), "unknown column"),
        (lambda: compare(replace(means, labels=("x", "x", "y"))), "two systems"),
        (lambda: compare(replace(means, values=np.array([1, np.nan, 2]))), "not a number"),
        (lambda: compare(Means(("x",), np.ones(1), 1.0, 5.0, "")), "nothing to compare"),
        (lambda: compare(replace(means, own_sd=None)).intervals(kind="sem"), "standard deviations"),
        (lambda: compare(replace(means, scale=0.0)).effect_sizes(), "no spread"),
        (
            lambda: compare(replace(means, variance=np.nan, df=np.nan), "none").intervals(kind="anova"),
            "needs the error",
        ),
    ]:
        with pytest.raises(InputError, match=words):
            call()


@pytest.mark.calibration
def test_family_wise_error_of_hsd_is_nominal(repetitions: float) -> None:
    n, alpha = int(1500 * repetitions), 0.05
    g = np.random.default_rng(11)
    hits = 0
    for _ in range(n):
        y = g.normal(scale=0.2, size=(20, 1)) + g.normal(scale=0.1, size=(20, 6))
        hits += bool(compare(two_way(y, list("abcdef"))).reject(alpha).any())
    assert abs(hits / n - alpha) < 3.5 * np.sqrt(alpha * (1 - alpha) / n)


def test_comparisons_are_frozen() -> None:
    found = compare(simulated(1, 3))
    assert isinstance(found, Comparisons)
    with pytest.raises(AttributeError):
        found.title = "x"  # type: ignore[misc]
