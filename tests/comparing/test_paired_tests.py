"""Paired tests of all pairs, against scipy, R, enumeration and the counts known for TREC-3."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from procedure_tables import COLUMNS, decide_all
from shardwise.comparing.compare import paired_tests
from shardwise.core.arrays import Floats
from shardwise.core.errors import InputError
from shardwise.methods.paired.kernels import sign_flips
from shardwise.methods.tables import TABLE
from shardwise.stats import resampling as kernels

GOLD = Path(__file__).parent.parent / "gold"
TESTS = ["t", "unpaired-t", "wilcoxon", "sign", "randomization", "bootstrap", "tukey"]


def table(seed: int, topics: int = 12, systems: int = 4, spread: float = 0.03) -> pd.DataFrame:
    g = np.random.default_rng(seed)
    y = (
        0.4
        + 0.1 * g.normal(size=(topics, 1))
        + spread * np.arange(systems)
        + 0.06 * g.normal(size=(topics, systems))
    )
    return pd.DataFrame(y, columns=[f"s{k}" for k in range(systems)])


@pytest.mark.parametrize(("test", "pairs"), [("t", 595), ("unpaired-t", 409), ("wilcoxon", 600)])
def test_pairs_told_apart_on_trec3(trec3: Path, test: str, pairs: int) -> None:
    found = paired_tests(pd.read_csv(trec3), test)
    assert len(found) == 780
    assert int(found.reject(0.05).sum()) == pairs


@pytest.mark.parametrize(
    ("table", "test", "alternative", "printed", "slack"),
    [  # V17 Table 4, at .05 and .01: the t rows are unpaired, and exact; the randomization rows one-sided, and drawn
        ("trec3/adhoc3_ap.csv", "unpaired-t", "two-sided", (409, 310), 0),
        ("trec8/adhoc8_ap.csv", "unpaired-t", "two-sided", (4164, 3437), 0),
        ("trec8/adhoc8_p10.csv", "unpaired-t", "two-sided", (4317, 3695), 0),
        ("trec3/adhoc3_ap.csv", "randomization", "greater", (619, 544), 0.01),
        ("trec8/adhoc8_ap.csv", "randomization", "greater", (6325, 5571), 0.01),
    ],
)
def test_the_rows_that_v17_printed(
    data: Path, table: str, test: str, alternative: str, printed: tuple[int, int], slack: float
) -> None:
    found = paired_tests(pd.read_csv(data / table), test, alternative=alternative, n_resamples=2_000)
    counts = [int(found.reject(alpha).sum()) for alpha in (0.05, 0.01)]
    assert counts == pytest.approx(printed, rel=slack)
    if alternative == "greater":  # two-sided counts are 4 to 6 percent off: it cannot have been that
        two = paired_tests(pd.read_csv(data / table), test, n_resamples=2_000)
        assert all(int(two.reject(a).sum()) < 0.97 * n for a, n in zip((0.05, 0.01), printed, strict=True))


@pytest.mark.parametrize("test", ["t", "unpaired-t", "randomization"])
def test_one_sided_p_values_are_scipys(test: str) -> None:
    scores = table(8, topics=9)
    found = paired_tests(scores, test, alternative="greater").to_frame()
    for row in found.itertuples():
        x, y = scores[row.a].to_numpy(), scores[row.b].to_numpy()
        if test == "randomization":
            flips = np.array(list(product((1, -1), repeat=len(x))))
            expected = ((flips @ (x - y)) >= (x - y).sum() - 1e-12).mean()
        else:
            own = stats.ttest_rel if test == "t" else stats.ttest_ind
            expected = own(x, y, alternative="greater").pvalue
        assert row.p == pytest.approx(expected, rel=1e-9)


def test_one_sided_where_it_means_nothing_is_refused() -> None:
    assert paired_tests(table(8), "t", alternative="greater").procedure == ""
    with pytest.raises(InputError, match="no one-sided form"):
        paired_tests(table(8), "wilcoxon", alternative="greater")
    with pytest.raises(InputError, match="alternative"):
        paired_tests(table(8), "t", alternative="less")


@pytest.mark.slow
def test_resampling_tests_find_about_as_many_as_t_on_trec3(trec3: Path) -> None:
    scores = pd.read_csv(trec3)
    for test in ("randomization", "bootstrap"):
        assert abs(int(paired_tests(scores, test).reject().sum()) - 595) <= 6
    # the distribution of the range under exchangeable systems is wider than HSD's, whose 378 the model's error term
    # gives
    assert 250 < int(paired_tests(scores, "tukey").reject().sum()) < 378


@pytest.mark.parametrize("size", ["small", "large"])
def test_agreement_with_r(size: str) -> None:
    gold = pd.read_csv(GOLD / "paired_gold.csv").query("size == @size")
    gold.index = pd.Index([frozenset(pair) for pair in zip(gold.x, gold.y, strict=True)])
    scores = pd.read_csv(GOLD / f"paired_{size}.csv")
    for test, column in [("t", "t"), ("unpaired-t", "unpaired"), ("wilcoxon", "wilcoxon"), ("sign", "sign")]:
        frame = paired_tests(scores, test).to_frame()
        expected = [gold.loc[[frozenset(pair)], column].item() for pair in zip(frame.a, frame.b, strict=True)]
        np.testing.assert_allclose(frame.p, expected, rtol=1e-9)
    for correction, column in [("bonferroni", "bonferroni"), ("holm", "holm"), ("bh", "BH"), ("by", "BY")]:
        frame = paired_tests(scores, "t", correction=correction).to_frame()
        expected = [gold.loc[[frozenset(pair)], column].item() for pair in zip(frame.a, frame.b, strict=True)]
        np.testing.assert_allclose(frame.p_adjusted, expected, rtol=1e-9)


def test_agreement_with_scipy() -> None:
    scores = table(1, topics=30)
    for row in paired_tests(scores, "t").to_frame().itertuples():
        other = stats.ttest_rel(scores[row.a], scores[row.b])
        assert (row.statistic, row.p) == pytest.approx((other.statistic, other.pvalue), rel=1e-9)
        assert row.df == other.df
        assert row.difference == pytest.approx(scores[row.a].mean() - scores[row.b].mean())
    for row in paired_tests(scores, "unpaired-t").to_frame().itertuples():
        other = stats.ttest_ind(scores[row.a], scores[row.b])
        assert (row.statistic, row.p, row.df) == pytest.approx(
            (other.statistic, other.pvalue, other.df), rel=1e-9
        )
    for row in paired_tests(scores, "wilcoxon").to_frame().itertuples():
        other = stats.wilcoxon(scores[row.a], scores[row.b], method="exact")
        assert (row.statistic, row.p) == pytest.approx((other.statistic, other.pvalue), rel=1e-9)
    for row in paired_tests(scores, "sign").to_frame().itertuples():
        won = int((scores[row.a] > scores[row.b]).sum())
        assert row.statistic == won
        assert row.p == pytest.approx(stats.binomtest(won, 30).pvalue)
    lower = paired_tests(scores, "t").intervals(0.9, kind="difference")
    for row in lower.itertuples():
        ends = stats.ttest_rel(scores[row.a], scores[row.b]).confidence_interval(0.9)
        assert (row.lower, row.upper) == pytest.approx(tuple(ends), rel=1e-9)


def signed(d: Floats) -> pd.DataFrame:
    """Two systems with these differences."""
    return pd.DataFrame({"x": 1.0 + d, "y": np.ones(len(d))})


@pytest.mark.slow
@given(st.lists(st.integers(-4, 4), min_size=2, max_size=9))
@settings(max_examples=60, deadline=None)
def test_exact_distributions_by_enumeration(whole: list[int]) -> None:
    d = np.array(whole) / 10.0
    flips = np.array(list(product([1, -1], repeat=len(d))))
    sums = np.abs(flips @ np.array(whole))
    expected = np.mean(sums >= abs(sum(whole)))
    assert paired_tests(signed(d), "randomization").p[0] == pytest.approx(expected)
    nonzero = np.array([k for k in whole if k])
    if not nonzero.size:
        assert paired_tests(signed(d), "wilcoxon").p[0] == 1.0
        return
    ranks = stats.rankdata(np.abs(nonzero))
    flips = np.array(list(product([0, 1], repeat=len(nonzero))))
    w = min(ranks[nonzero > 0].sum(), ranks[nonzero < 0].sum())
    expected = min(1.0, 2 * np.mean(flips @ ranks <= w))
    assert paired_tests(signed(d), "wilcoxon").p[0] == pytest.approx(expected)


def test_thirds_tie_in_spite_of_rounding() -> None:
    # differences 1/3, 1/3, -2/3: flips give 0 or more in size always; sizes 1/3 and 1/3 are one rank
    scores = pd.DataFrame({"x": [2 / 3, 1 / 3, 0.0], "y": [1 / 3, 0.0, 2 / 3]})
    assert paired_tests(scores, "randomization").p[0] == 1.0
    assert paired_tests(scores, "wilcoxon").statistic[0] == 3.0


def test_wilcoxon_beyond_the_exact_distribution_has_ties_and_zeros_as_scipy() -> None:
    d = np.round(np.random.default_rng(3).normal(0.3, 1, size=80), 1)
    other = stats.wilcoxon(d, zero_method="wilcox", correction=False, method="asymptotic")
    found = paired_tests(signed(d), "wilcoxon")
    assert found.p[0] == pytest.approx(other.pvalue, rel=1e-9)
    assert found.statistic[0] == other.statistic


def test_randomization_agrees_with_scipys_permutation_test() -> None:
    scores = table(5, topics=10, systems=3)
    for row in paired_tests(scores, "randomization").to_frame().itertuples():
        other = stats.permutation_test(
            (scores[row.a], scores[row.b]),
            lambda x, y: np.mean(x - y),
            permutation_type="samples",
            n_resamples=np.inf,
        )
        assert row.p == pytest.approx(other.pvalue)


def test_monte_carlo_flips_approach_the_exact_distribution() -> None:
    scores = table(6, topics=14, systems=3)
    exact = paired_tests(scores, "randomization").p
    units = np.rint(scores.to_numpy()[:, np.argsort(-scores.mean().to_numpy())] * 2.0**40).astype(np.int64)
    sums = units.sum(axis=0)
    counts = sign_flips(np.ascontiguousarray(units), np.abs(sums[:, None] - sums), kernels.key_of(1), 200_000)
    found = (counts[np.triu_indices(3, 1)] + 1) / 200_001
    assert (np.abs(found - exact) < 5 * np.sqrt(exact / 200_000)).all()


def test_bootstrap_is_algorithm_1() -> None:
    scores = table(7, topics=15, systems=3)
    b = 500
    counts = kernels.topic_counts(15, kernels.key_of(3), 0, b).astype(int)
    for row in paired_tests(scores, "bootstrap", n_resamples=b, seed=3).to_frame().itertuples():
        z = (scores[row.a] - scores[row.b]).to_numpy()
        samples = [np.repeat(z, c) for c in counts]
        shift = np.mean([s.mean() for s in samples])

        def t(x: Floats) -> float:
            return float(x.mean() / np.sqrt(x.var(ddof=1) / len(x)))

        count = sum(abs(t(s - shift)) >= abs(t(z)) for s in samples)
        assert row.p == pytest.approx((count + 1) / (b + 1))


def test_tukey_shuffles_within_topics() -> None:
    scores = table(8, topics=4, systems=3)
    y = scores.to_numpy()
    rows = [
        [[row[k] for k in p] for p in ([0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0])]
        for row in y
    ]
    ranges = np.array([np.ptp(np.mean(choice, axis=0)) for choice in product(*rows)])
    found = paired_tests(scores, "tukey", n_resamples=40_000)
    exact = np.array([np.mean(ranges >= d - 1e-12) for d in found.difference])
    np.testing.assert_allclose(found.p_adjusted, exact, atol=0.012)
    alpha = 0.3
    box = found.intervals(1 - alpha, "comparison")
    apart = box.loc[found.to_frame().a, "lower"].to_numpy() > box.loc[found.to_frame().b, "upper"].to_numpy()
    np.testing.assert_array_equal(apart, found.reject(alpha))


@pytest.mark.parametrize("test", TESTS)
def test_order_of_topics_and_systems_is_irrelevant(test: str) -> None:
    scores = table(9, topics=10)
    one = paired_tests(scores, test, n_resamples=300).to_frame()
    other = paired_tests(scores[["s2", "s0", "s3", "s1"]], test, n_resamples=300).to_frame()
    pd.testing.assert_frame_equal(one, other)
    if test not in {"bootstrap", "tukey"}:  # these draw topics or shuffles by position
        pd.testing.assert_frame_equal(one, paired_tests(scores[::-1], test).to_frame())


@pytest.mark.parametrize("test", ["t", "wilcoxon", "sign", "randomization", "bootstrap", "tukey"])
def test_an_easier_topic_changes_no_comparison(test: str) -> None:
    scores = table(10, topics=25)
    easier = scores.copy()
    easier.iloc[3] += 0.5
    one, other = (paired_tests(s, test, n_resamples=300) for s in (scores, easier))
    np.testing.assert_allclose(one.p_adjusted, other.p_adjusted, rtol=1e-6)


@pytest.mark.parametrize("test", ["randomization", "bootstrap", "tukey"])
def test_replicates_depend_on_seed_and_index_only(test: str) -> None:
    scores = table(11, topics=30)
    short, again, other = (paired_tests(scores, test, n_resamples=400, seed=s).p for s in (1, 1, 2))
    np.testing.assert_array_equal(short, again)
    assert (short != other).any()
    assert (short > 0).all()
    # the first 400 of 401 replicates are those of the run of 400: a count can rise by one at most
    longer = paired_tests(scores, test, n_resamples=401, seed=1).p
    if test != "bootstrap":  # whose common shift moves with every replicate
        rise = np.rint(longer * 402 - short * 401)
        assert set(rise) <= {0.0, 1.0}


@pytest.mark.parametrize("test", TESTS)
def test_identical_and_constantly_shifted_systems(test: str) -> None:
    scores = table(13, topics=30, systems=2)
    scores["copy"] = scores["s1"]
    scores["shifted"] = scores["s1"] + 0.5
    found = paired_tests(scores, test, n_resamples=999)
    p = found.matrix("p")
    assert p.loc["s1", "copy"] == 1.0
    assert p.loc["s1", "shifted"] <= (0.05 if test == "unpaired-t" else 0.001)
    assert found.to_frame().columns.tolist() == list(COLUMNS)


def test_scores_as_labelled_array() -> None:
    wide = table(14)
    array = xr.DataArray(wide.to_numpy(), dims=("topic", "system"), coords={"system": list(wide.columns)})
    pd.testing.assert_frame_equal(paired_tests(array.T).to_frame(), paired_tests(wide).to_frame())
    shards = xr.concat([array + 0.1, array - 0.1], "shard")
    averaged = paired_tests(shards, average=("shard",)).to_frame()
    pd.testing.assert_frame_equal(averaged, paired_tests(wide).to_frame())
    with pytest.raises(InputError, match="shard is unexpected here"):
        paired_tests(shards)


def test_only_and_words() -> None:
    found = paired_tests(table(15), "t", only=["s0", "s2"], correction="holm")
    assert len(found) == 1
    assert str(found) == "paired t-test with Holm, 2 systems; claim: new topics like these 12"
    assert "Fisher's randomization test, 4 systems, 100 resamples, seed 4" in str(
        paired_tests(table(15, topics=25), "randomization", n_resamples=100, seed=4)
    )
    pair = paired_tests(table(15), "tukey", only=[("s0", "s2")], n_resamples=2000)
    exact = paired_tests(table(15), "randomization", only=["s0", "s2"])
    assert pair.p[0] == pytest.approx(exact.p[0], abs=0.05)  # with two systems the shuffle is a sign flip
    # beyond 0 to 1, so that intervals are Student's
    sem = paired_tests(table(15) + 2.0).intervals(0.9)
    np.testing.assert_allclose(
        (sem.upper - sem.lower) / 2, stats.t.isf(0.05, 11) * table(15)[list(sem.index)].std() / np.sqrt(12)
    )
    with pytest.raises(InputError, match="no interval for a difference"):
        paired_tests(table(15), "sign").intervals(kind="difference")


def test_refusals() -> None:
    good = table(16)
    hole = good.copy()
    hole.iloc[2, 1] = np.nan
    for call, words in [
        (
            lambda: paired_tests(hole),
            "1 of 48 scores are undefined or missing, the first for topic 3, system s1",
        ),
        (lambda: paired_tests(good, "z"), "unknown test 'z'"),
        (lambda: paired_tests(good, correction="hsd"), "unknown correction"),
        (lambda: paired_tests(good, "tukey", correction="bh"), "corrected by construction"),
        (lambda: paired_tests(good.iloc[:1]), "the scores have 1 topic"),
        (lambda: paired_tests(good[["s1"]]), "1 system and 12 topics are too few"),
        (lambda: paired_tests(good.assign(topic="q")), "a second score"),
        (lambda: paired_tests(good, "bootstrap", n_resamples=0), "0 resamples"),
        (lambda: paired_tests(xr.DataArray(good.to_numpy(), dims=("quest", "system"))), "no topic"),
        (lambda: paired_tests(xr.DataArray(np.ones(3), dims=("topic",))), "no system"),
        (lambda: paired_tests(good, average=("shard",)), "cannot be averaged"),
    ]:
        with pytest.raises(InputError, match=words):
            call()


@pytest.mark.calibration
@pytest.mark.parametrize("test", TESTS)
def test_error_rates_are_nominal_without_differences(test: str, repetitions: float) -> None:
    n, alpha = int(400 * repetitions), 0.05
    y = np.random.default_rng(21).normal(size=(n, 25, 5 if test == "tukey" else 2))
    name = test if test == "tukey" else f"{test} none"
    (found,) = decide_all([name], y, TABLE, n_resamples=199)  # all at once what paired_tests says one by one
    hits = int((found.p_adjusted <= alpha).any(axis=1).sum())
    # the sign test's own level at 25 topics is .043, and Wilcoxon's .049, for their distributions are discrete
    nominal = {"sign": 2 * stats.binom.cdf(7, 25, 0.5)}.get(test, alpha)
    assert abs(hits / n - nominal) < 3.5 * np.sqrt(alpha * (1 - alpha) / n)


def labelled(table: pd.DataFrame) -> xr.DataArray:
    """A table as an array, which is taken as it is, whatever the scales of its systems."""
    return xr.DataArray(table.to_numpy(), dims=("topic", "system"), coords={"system": list(table.columns)})


@pytest.mark.parametrize("far", [1e9, 1e11, 1e30, 1e-30])
@pytest.mark.parametrize("test", ["t", "unpaired-t", "wilcoxon", "sign", "randomization", "bootstrap"])
def test_a_pair_does_not_depend_on_the_scale_of_another_system(test: str, far: float) -> None:
    y = table(3, topics=40, systems=3, spread=0.05)
    other = y.assign(s2=y["s2"] * far)
    before, after = (
        paired_tests(labelled(one), test, seed=1, n_resamples=999).to_frame().set_index(["a", "b"])
        for one in (y, other)
    )
    pair = ("s1", "s0") if ("s1", "s0") in before.index else ("s0", "s1")
    assert after.loc[pair, "p"] == before.loc[pair, "p"]
    assert after.loc[pair, "difference"] == before.loc[pair, "difference"]


def test_max_t_of_a_pair_by_itself_does_not_depend_on_the_scale_of_another_system() -> None:
    y = table(3, topics=40, systems=3, spread=0.05)
    other = y.assign(s2=y["s2"] * 1e11)
    p = [
        paired_tests(labelled(one), "max-t", seed=1, n_resamples=999)
        .to_frame()
        .set_index(["a", "b"])["p"]["s1", "s0"]
        for one in (y, other)
    ]
    assert p[0] == p[1]


@pytest.mark.parametrize("scale", [1e-90, 1e90])
@pytest.mark.parametrize("test", TESTS)
def test_p_values_do_not_depend_on_the_unit_of_scores(test: str, scale: float) -> None:
    y = table(5, topics=30, systems=3)
    p = [
        paired_tests(one, test, seed=1, n_resamples=999).to_frame().set_index(["a", "b"])["p"].sort_index()
        for one in (y, y * scale)
    ]
    np.testing.assert_allclose(p[1], p[0], rtol=1e-9)


@pytest.mark.parametrize("scale", [1.0, 1e-9, 1e-90])
@pytest.mark.parametrize("test", ["t", "wilcoxon", "sign", "randomization", "bootstrap"])
def test_a_system_without_any_success_has_the_scale_of_its_pair(test: str, scale: float) -> None:
    y = table(4, topics=15, systems=2)
    zero = pd.DataFrame({"a": y["s0"] * scale, "zero": 0.0 * y["s1"]})
    whole = pd.DataFrame({"a": y["s0"], "zero": 0.0 * y["s1"]})
    p = [float(paired_tests(one, test, n_resamples=999).to_frame()["p"].iloc[0]) for one in (zero, whole)]
    np.testing.assert_allclose(p[0], p[1], rtol=1e-9)
