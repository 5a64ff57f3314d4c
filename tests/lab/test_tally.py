"""Decisions held against the truth, worked by hand, and Monte-Carlo intervals against scipy."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from shardwise.comparing.decisions import Decisions
from shardwise.core.arrays import Floats
from shardwise.core.estimates import Outcome, Settled
from shardwise.lab.error_counts import Truth, joined, rate, ratio, tally
from shardwise.lab.verdict import status, summary, verdicts

# systems a, b equal and c better by .2: pairs ab (equal), ac, bc (-.2)
MEANS = np.array([0.3, 0.3, 0.5])


def decided(p: list[list[float]], adjusted: list[list[float]], difference: list[list[float]]) -> Decisions:
    return made(np.array(difference), np.array(p), np.array(adjusted), 0.1)


def made(difference: Floats, p: Floats, p_adjusted: Floats, half: float) -> Decisions:
    """Decisions whose intervals all have the same half-width."""
    nothing = np.full(p.shape, np.nan)
    joint = Settled(p_adjusted, lambda alpha: np.full(p.shape, half))
    outcome = Outcome(difference, nothing, nothing, nothing, p, joint)
    return Decisions(outcome, p_adjusted, "", 3, None)


def test_by_hand() -> None:
    truth = Truth.of(MEANS)
    assert truth.null.tolist() == [True, False, False]
    assert truth.sizes.tolist() == [0.2]
    found = tally(
        decided(
            p=[[0.03, 0.001, 0.2], [0.5, 0.04, 0.04], [0.01, 0.01, 0.01]],
            adjusted=[[0.06, 0.003, 0.2], [0.5, 0.05, 0.051], [0.01, 0.01, 0.01]],
            difference=[[0.05, -0.2, -0.05], [0.0, -0.25, -0.31], [-0.15, 0.2, -0.2]],
        ),
        truth,
        "family",
        0.05,
    )
    assert found.raw.tolist() == [1, 0, 1]
    assert found.family.tolist() == [0, 0, 1]
    assert found.discovery.tolist() == [0, 0, 1 / 3]
    assert found.coverage.tolist() == pytest.approx([2 / 3, 2 / 3, 1 / 3])
    assert found.together.tolist() == [0, 0, 0]
    assert found.wrong_way.tolist() == [0, 0, 1]  # ac called different with a ahead
    assert found.right_way.tolist() == [1, 1, 1]
    assert found.found[:, 0].tolist() == [0.5, 0.5, 0.5]


def test_coverage_of_a_discovery_method_is_of_what_it_found() -> None:
    truth = Truth.of(MEANS)
    one = decided(p=[[0.5, 0.01, 0.01]], adjusted=[[0.5, 0.01, 0.01]], difference=[[0.4, -0.2, -0.4]])
    assert tally(one, truth, "discovery", 0.05).coverage.tolist() == [
        0.5
    ]  # ac holds, bc does not, ab not asked
    assert tally(one, truth, "pair", 0.05).coverage.tolist() == pytest.approx([1 / 3])


def test_methods_without_intervals_have_no_coverage() -> None:
    d = np.zeros((2, 3))
    found = tally(made(d, d + 1, d + 1, np.nan), Truth.of(MEANS), "family", 0.05)
    assert np.isnan(found.coverage).all()
    assert rate(found.coverage).n == 0


def test_where_all_differ_there_is_no_false_alarm_to_count() -> None:
    d = np.zeros((2, 3))
    found = tally(made(d, d, d, 0.0), Truth.of(np.array([0.1, 0.2, 0.4])), "family", 0.05)
    assert np.isnan(found.family).all()
    assert np.isnan(found.raw).all()
    assert found.found.shape == (2, 3)


def test_chunks_join() -> None:
    truth = Truth.of(MEANS)
    p = [[0.03, 0.001, 0.2], [0.5, 0.04, 0.04]]
    whole = tally(decided(p, p, p), truth, "family", 0.05)
    parts = joined([tally(decided([row], [row], [row]), truth, "family", 0.05) for row in p])
    for name in whole.__slots__:
        np.testing.assert_array_equal(getattr(whole, name), getattr(parts, name))


@pytest.mark.parametrize(("hits", "n"), [(0, 40), (3, 50), (50, 50), (400, 1000)])
def test_intervals_of_yes_and_no_are_scipys(hits: int, n: int) -> None:
    found = rate(np.repeat([1.0, 0.0], [hits, n - hits]))
    wanted = stats.binomtest(hits, n).proportion_ci(0.95)
    assert (found.low, found.high) == pytest.approx((wanted.low, wanted.high))


def test_intervals_of_shares_rest_on_replicates() -> None:
    x = np.random.default_rng(1).beta(1, 19, 400)
    found = rate(x)
    wanted = stats.norm.interval(0.95, x.mean(), stats.sem(x))
    assert (found.low, found.high) == pytest.approx(wanted)
    assert not found.exceeds(x.mean() - stats.sem(x))
    assert found.exceeds(x.mean() - 3 * stats.sem(x))


def test_exceeding_is_an_exact_test() -> None:
    for hits in range(50, 80):
        wanted = stats.binomtest(hits, 1000, 0.05, alternative="greater").pvalue < 0.01
        assert rate(np.repeat([1.0, 0.0], [hits, 1000 - hits])).exceeds(0.05) == wanted


def test_ratio_of_sums() -> None:
    rng = np.random.default_rng(2)
    whole = rng.poisson(5, 3000).astype(float)
    part = rng.binomial(whole.astype(int), 0.1).astype(float)
    found = ratio(part, whole)
    wanted = np.sqrt(0.1 * 0.9 / whole.sum())  # binomial, as pairs here are independent
    assert found.se == pytest.approx(wanted, rel=0.05)
    assert np.isnan(ratio(np.zeros(3), np.zeros(3)).value)
    assert ratio(np.zeros(100), np.ones(100)).high == pytest.approx(
        stats.binomtest(0, 100).proportion_ci(0.95).high
    )


def rates(*rows: tuple[str, str, bool, float, float, bool]) -> pd.DataFrame:
    keys = ("method", "promise", "meant", "rate", "high", "exceeds")
    frame = pd.DataFrame([dict(zip(keys, row, strict=True)) for row in rows])
    figures = frame["promise"].map({"family": "family", "discovery": "discovery", "pair": "raw"})
    return frame.assign(
        figure=figures, claim="topics like these", null="normal", planted=False, low=frame["rate"] / 2
    )


def power(**values: float) -> pd.DataFrame:
    return pd.DataFrame(
        [{"method": m, "claim": "topics like these", "power": v} for m, v in values.items()],
        columns=["method", "claim", "power"],
    )


def test_the_most_powerful_of_those_that_hold_is_advised() -> None:
    found = rates(
        ("weak", "family", True, 0.01, 0.02, False),
        ("sound", "family", True, 0.05, 0.06, False),
        ("bold", "family", True, 0.30, 0.33, True),
        ("stray", "family", False, 0.04, 0.05, False),  # holds, but is not made for the claim
        ("bh", "discovery", True, 0.05, 0.11, False),
    )
    table = summary(found, power(weak=0.2, sound=0.5, bold=0.9, stray=0.8, bh=0.7), 0.05)
    (advice,) = verdicts(table, 0.05, 300)
    assert advice.use == {"family": "sound"}
    assert advice.holds == ("weak", "sound", "stray")
    assert advice.unclear == ("bh",)
    assert advice.fails == ("bold",)
    assert "use sound (5.0 % false, finds 50 %" in advice.text
    assert "may be as high as 11.0 %" in advice.text
    assert "do not use for this claim: bold 30.0 %" in advice.text


def test_where_nothing_holds_it_says_so() -> None:
    found = rates(("one", "family", True, 0.12, 0.14, True), ("two", "family", True, 0.30, 0.33, True))
    (advice,) = verdicts(summary(found, power(), 0.05), 0.05, 300)
    assert advice.use == {}
    assert "no method tried holds 5.0 %; the nearest is one with 12.0 %" in advice.text


def test_the_worst_world_counts() -> None:
    good = rates(("m", "family", True, 0.05, 0.06, False))
    bad = rates(("m", "family", True, 0.10, 0.12, True)).assign(null="flip")
    table = summary(pd.concat([good, bad]), power(m=0.4), 0.05)
    assert table[["null", "status", "rate"]].to_numpy().tolist() == [["flip", "fails", 0.10]]


def test_status() -> None:
    assert status(float("nan"), float("nan"), False, 0.05) == "unclear"
    assert status(0.0, 0.01, False, 0.05) == "holds"


def test_pairs_that_were_not_compared_do_not_count() -> None:
    """Against the first system only: ab (equal) and ac are asked, bc is not."""
    truth = Truth.of(MEANS)
    nan = float("nan")
    p = np.array([[0.01, 0.01, nan]])
    one = made(np.array([[0.3, -0.2, -0.2]]), p, p, 0.1)
    found = tally(one, truth, "family", 0.05)
    assert (found.raw[0], found.family[0], found.discovery[0]) == (1.0, 1.0, 0.5)
    assert (found.coverage[0], found.together[0], found.found[0, 0]) == (0.5, 0.0, 1.0)
