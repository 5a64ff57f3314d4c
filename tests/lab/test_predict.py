"""Decide on one half, verify on the other: worked by hand, by `compare` half by half, and on simulated futures."""

from __future__ import annotations

from functools import partial
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from shardwise.comparing.compare import compare
from shardwise.core.arrays import Ints, make_generator
from shardwise.core.claim import Claim
from shardwise.core.errors import InputError
from shardwise.io.scores import read_scores
from shardwise.lab.holdout import (
    RATES,
    HoldoutPlan,
    PredictiveCheck,
    across_collections,
    add_tallies,
    build_tables,
    split_half,
)
from shardwise.methods.anova.fit import anova
from shardwise.methods.method import Method
from shardwise.methods.names import DEFAULTS, Procedure
from shardwise.methods.names import parse_procedure as parse_procedure
from shardwise.methods.paired.method import estimate_means
from shardwise.methods.pairs import JointDraws, Pairs
from shardwise.methods.tables import Tables

TABLE, SHARDS = ("topic", "system"), ("topic", "system", "shard")


def find_apart(never: int, tables: Tables, claim: Claim, ia: Ints, ib: Ints) -> Pairs:
    """Call a pair different if its means are .2 apart; one pair never."""
    means = tables.y.mean(axis=1)
    d = means[:, ia] - means[:, ib]
    p = np.where((np.abs(d) >= 0.2) & (np.arange(ia.size) != never), 0.0, 1.0)
    nothing = np.full_like(d, np.nan)
    return Pairs(d, nothing, nothing, nothing, p, JointDraws(lambda: p, lambda alpha: nothing))


def make_rule(name: str, never: int = -1) -> Method:
    """A method of one's own."""
    return Method(
        name=name,
        title="means .2 apart",
        layouts_by_claim=((Claim("topic"), (TABLE,)),),
        means=estimate_means,
        pairs=partial(find_apart, never),
        text="a rule of thumb",
        joint=True,
        stepwise=False,
    )


RULE = Procedure(make_rule("far apart"), "", Claim("topic"))
WORKED = xr.DataArray(
    [[0.9, 0.5, 0.1], [0.7, 0.6, 0.2], [0.5, 0.6, 0.1], [0.3, 0.7, 0.2]],
    dims=TABLE,
    coords={"system": ["A", "B", "C"]},
)
# Pairs AB, AC, BC. Topics 12|34: .25 .65 .40 and -.25 .25 .50, so AB is found twice, in opposite directions.
# 13|24: .15 .60 .45 and -.15 .30 .45, so AB turns but is not found. 14|23: 0 .45 .45 and 0 .45 .45.
BY_HAND = {
    frozenset((0, 1)): {
        "found": 3,
        "agreement": 2 / 3,
        "found_again": 2 / 3,
        "reversal": 1 / 3,
        "opposed": 1 / 3,
    },
    frozenset((0, 2)): {"found": 2, "agreement": 1, "found_again": 1, "reversal": 0, "opposed": 0},
    frozenset((0, 3)): {"found": 2, "agreement": 1, "found_again": 1, "reversal": 0, "opposed": 0},
}


def halving(seed: int, i: int) -> frozenset[int]:
    """The half with the first topic."""
    half = frozenset(make_generator(seed, i).permutation(4)[:2].tolist())
    return half if 0 in half else frozenset(range(4)) - half


def cauchy(mean: float, variance: float) -> float:
    """Predicted reversal from two topics, for two others: Student's t with one degree of freedom."""
    return 0.5 - np.arctan(mean / np.sqrt(variance)) / np.pi


def test_the_worked_example() -> None:
    check = split_half(WORKED, RULE, repeats=30, seed=5)
    seen = set()
    for row in check.repeats.itertuples():
        half = halving(5, row.repeat)
        seen.add(half)
        want = BY_HAND[half]
        got = (row.found, row.agreement, row.found_again, row.reversal, row.significant_reversal)
        assert got == pytest.approx(tuple(want.values()))
        if half == frozenset((0, 3)):  # AC: .8 .1 and .5 .4 over the two topics; BC: .4 .5 and .4 .5
            p = [cauchy(0.45, 0.245), *[cauchy(0.45, 0.005)] * 3]
            assert row.predicted_reversal == pytest.approx(np.mean(p))
            assert row.brier == pytest.approx(np.mean(np.square(p)))  # AB has no order to reverse
            assert row.coverage == 1
    assert seen == set(BY_HAND)
    halves = [halving(5, i) for i in range(30)]
    turned = sum(2 for half in halves if half == frozenset((0, 1)))
    found = sum(2 * int(BY_HAND[half]["found"]) for half in halves)
    assert check.table.loc["far apart", "reversal"] == pytest.approx(turned / found)  # pooled over repeats


def test_extra_pairs_are_those_the_reference_lacks() -> None:
    strict = Procedure(make_rule("all but AB", never=0), "", Claim("topic"))
    check = split_half(WORKED, [RULE, strict], repeats=30, seed=5, reference="all but AB")
    apart = sum(halving(5, i) == frozenset((0, 1)) for i in range(30)) / 30
    assert check.table["extra"].tolist() == pytest.approx([apart, 0])
    assert check.table.loc["far apart", "extra_reversal"] == 1
    assert np.isnan(check.table.loc["all but AB", "extra_reversal"])
    assert "100.0% are in the opposite order" in str(check)
    assert "extra" not in split_half(WORKED, RULE, repeats=2).repeats


def simulated(shape: tuple[int, ...] = (21, 6, 4), seed: int = 2) -> xr.DataArray:
    rng = np.random.default_rng(seed)
    t, r, s = shape
    y = rng.normal(0, 0.2, (t, 1, 1)) + 0.03 * np.arange(r)[:, None] + rng.normal(0, 0.08, (t, r, 1))
    y = y + rng.normal(0, 0.05, (t, 1, s)) + rng.normal(0, 0.01, (1, r, s)) + rng.normal(0, 0.06, shape)
    return xr.DataArray(y, dims=SHARDS, coords={"system": [f"s{k}" for k in range(r)]})


@pytest.mark.parametrize("over", ["topic", "shard"])
@pytest.mark.parametrize("generalize", [(), ("topic",)])
def test_counts_are_those_of_comparing_each_half(over: str, generalize: tuple[str, ...]) -> None:
    """The same from `compare`, half by half and pair by pair."""
    y = simulated()
    n = y.sizes[over]
    name = "MD6 holm topic" if generalize else "MD6 holm"
    check = split_half(y, name, over=over, repeats=3, seed=8)  # type: ignore[arg-type]
    for i, row in check.repeats.iterrows():
        order = make_generator(8, int(str(i))).permutation(n)
        halves = [y.isel({over: sorted(part)}) for part in (order[: n // 2], order[n // 2 :])]
        decided = [_decisions(half, generalize) for half in halves]
        found = again = turned = alike = 0
        for k in (0, 1):
            means = halves[1 - k].mean([d for d in SHARDS if d != "system"])
            for a, b in combinations(y["system"].values.tolist(), 2):
                here, there = decided[k].get((a, b), 0), decided[1 - k].get((a, b), 0)
                found += here != 0
                again += here != 0 and here == there
                alike += here == there
                turned += here * float(means.sel(system=a) - means.sel(system=b)) < 0
        assert row["found"] == found / 2
        assert row["agreement"] == pytest.approx(alike / 30)
        assert row["found_again"] == pytest.approx(again / found)
        assert row["reversal"] == pytest.approx(turned / found)


def _decisions(half: xr.DataArray, generalize: tuple[str, ...]) -> dict[tuple[str, str], int]:
    pairs = compare(anova(half, "MD6"), "holm", generalize=generalize)
    frame = pairs.to_frame()[pairs.reject(0.05)]
    better = dict.fromkeys(zip(frame["a"], frame["b"], strict=True), 1)
    return better | {(b, a): -1 for a, b in better}


def test_repeats_depend_on_seed_and_number_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["MD6 hsd", "MD6 hsd topic", "MD1 bh", "t none", "randomization none"]
    y = simulated()
    whole = split_half(y, names, repeats=12, seed=3, jobs=2)
    pd.testing.assert_frame_equal(
        split_half(y, names, repeats=5, seed=3).repeats,
        whole.repeats[whole.repeats["repeat"] < 5].reset_index(drop=True),
    )
    monkeypatch.setattr("shardwise.lab.holdout.CHUNK", 60)  # four repeats at a time
    seen: list[tuple[int, int]] = []
    chunked = split_half(y, names, repeats=12, seed=3, jobs=1, progress=lambda *at: seen.append(at))
    assert seen == [(4, 12), (8, 12), (12, 12)]
    pd.testing.assert_frame_equal(chunked.repeats, whole.repeats)
    pd.testing.assert_frame_equal(chunked.curve, whole.curve)
    other = split_half(y, names, repeats=12, seed=4)
    assert not other.repeats.equals(whole.repeats)


@settings(max_examples=10)
@given(st.integers(0, 10_000))
@pytest.mark.slow
def test_what_changes_nothing(seed: int) -> None:
    """Harder topics, other units, and systems in another order: the same figures."""
    rng = np.random.default_rng(seed)
    y = simulated((9, 4, 2), seed)
    names = ["MD6 hsd", "MD6 hsd topic", "MD2 bh", "t holm"]
    plain = split_half(y, names, repeats=3, seed=seed)
    moved = y * 3 + xr.DataArray(rng.normal(size=9), dims="topic")
    shuffled = y.isel(system=rng.permutation(4)).transpose("shard", "system", "topic")
    figures = [name for name in RATES if name in plain.table]
    for other in (moved, shuffled):
        again = split_half(other, names, repeats=3, seed=seed)
        np.testing.assert_allclose(again.table[figures], plain.table[figures], rtol=1e-7, atol=1e-9)
    table = plain.table.dropna()
    assert (table["found_again"] + table["significant_reversal"] <= 1 + 1e-12).all()
    assert (table["significant_reversal"] <= table["reversal"] + 1e-12).all()
    assert plain.table["brier"].between(0, 1).all()


def test_curve_and_table_tell_the_same() -> None:
    check = split_half(simulated(), ["MD6 hsd", "MD6 none topic"], repeats=20)
    for _, part in check.curve.groupby("prediction"):
        assert part["pairs"].sum() == pytest.approx(15)  # every pair of every half is in one bin
        assert part["predicted"].between(part["low"], part["high"]).all()
        assert part["observed"].between(0, 1).all()
    assert list(check.spread.columns) == [name for name in RATES if name in check.table]
    sd = check.repeats.groupby("procedure")["coverage"].std()
    assert check.spread.loc["MD6 hsd", "coverage"] == pytest.approx(sd["MD6 hsd"])
    assert "not a standard error" in str(check)
    assert "21 topics halved at random 20 times (10 and 11 a half)" in str(check)


@pytest.mark.calibration
def test_topics_that_vary_are_predicted_and_fixed_topics_are_not(repetitions: float) -> None:
    """Two samples of fresh topics for the same systems: 95 % intervals and reversals of the topic claim hold.

    System effects spread widely (sd .3 against a standard error of .02), so that any difference is as likely as its
    neighbours, as the predicted reversals take it. Tolerance: four standard errors between independent scenarios.
    """
    n, t, r, s = round(600 * repetitions), 25, 6, 4
    check = futures(n, t, r, s, spread=0.3, same_topics=False)
    each = check.repeats.groupby("procedure")
    mean, error = each["coverage"].mean(), each["coverage"].std() / np.sqrt(n)
    for name in ("MD6 hsd topic", "MD1 hsd", "t none", "MD6 hsd topic+shard"):
        assert abs(mean[name] - 0.95) < 4 * error[name]
    assert (
        mean["MD6 hsd"] < 0.7
    )  # sd of a new difference / the fixed model's: sqrt((.08² + .06²/4) / (.06²/4)) = 2.9
    curve = check.curve[check.curve["prediction"].str.startswith("topics vary")]
    for row in curve.itertuples():
        # scenarios are independent, pairs within one are not: a scenario's pairs in a bin count as one at worst
        tolerance = 4 * np.sqrt(row.predicted * (1 - row.predicted) / max(1.0, min(n, n * row.pairs)))
        assert abs(row.observed - row.predicted) < tolerance + 0.003  # .003: the prior is not quite flat
    found = check.table.loc["MD6 none topic"]
    assert abs(found["reversal"] - found["predicted_reversal"]) < 0.003
    fixed = check.table.loc["MD6 none"]
    assert fixed["reversal"] > 3 * fixed["predicted_reversal"]


@pytest.mark.calibration
def test_fixed_topics_are_predicted_by_the_fixed_model(repetitions: float) -> None:
    """The same topics with other errors: now the fixed claim's interval holds, and the topic claim's is too wide."""
    n = round(400 * repetitions)
    check = futures(n, 25, 6, 4, spread=0.3, same_topics=True)
    each = check.repeats.groupby("procedure")["coverage"]
    assert abs(each.mean()["MD6 hsd"] - 0.95) < 4 * each.std()["MD6 hsd"] / np.sqrt(n)
    assert each.mean()["MD6 hsd topic"] > 0.99


@pytest.mark.calibration
def test_equal_systems_turn_half_the_time_whatever_is_predicted(repetitions: float) -> None:
    """The limit of such predictions: with no differences at all, every order is chance."""
    n = round(400 * repetitions)
    check = futures(n, 25, 6, 4, spread=0.0, same_topics=False)
    row = check.curve[check.curve["prediction"].str.startswith("topics vary")].iloc[2]
    assert row["predicted"] < 0.1
    assert abs(row["observed"] - 0.5) < 4 * 0.5 / np.sqrt(n * min(row["pairs"], 1.0))
    each = check.repeats.groupby("procedure")["coverage"]  # intervals hold all the same
    assert abs(each.mean()["MD6 hsd topic"] - 0.95) < 4 * each.std()["MD6 hsd topic"] / np.sqrt(n)


def futures(n: int, t: int, r: int, s: int, *, spread: float, same_topics: bool) -> PredictiveCheck:
    """n scenarios, each with two samples of the same systems; all topic effects anew, or the very same topics."""
    rng = np.random.default_rng(11)
    systems = rng.normal(0, spread, (n, 1, r, 1)) if spread else np.zeros((n, 1, r, 1))
    fixed = rng.normal(0, 0.08, (n, t, r, 1))
    samples = []
    for _ in range(2):
        interaction = fixed if same_topics else rng.normal(0, 0.08, (n, t, r, 1))
        noise = rng.normal(0, 0.1, (n, t, 1, s)) + rng.normal(0, 0.06, (n, t, r, s))
        samples.append(rng.normal(0, 0.2, (n, t, 1, 1)) + systems + interaction + noise)
    names = [
        "MD6 hsd",
        "MD6 none",
        "MD6 hsd topic",
        "MD6 none topic",
        "MD6 hsd topic+shard",
        "MD1 hsd",
        "t none",
    ]
    chosen = tuple(parse_procedure(name) for name in names)
    plan = HoldoutPlan(SHARDS, chosen, frozenset({"topic"}), 0.05, 0.95, seed=0)
    forth, back = plan.both_ways(samples[0], samples[1], 0)
    return PredictiveCheck(*build_tables(plan, {"": add_tallies(forth, back)}, 2), "futures", 0.05, 0.95)


@pytest.mark.parametrize("collection", ["trec3", "trec8"])
def test_trec_topics_are_predicted(request: pytest.FixtureRequest, collection: str) -> None:
    """Real scores, no null: the topic claim's interval covers about as promised, and few found pairs turn."""
    if collection == "trec3":
        y = read_scores(request.getfixturevalue("trec3"))
    else:
        y = read_scores(request.getfixturevalue("data") / "trec8" / "adhoc8_ap.csv")
    check = split_half(y, ["MD1 hsd", "MD1 bh"], repeats=20, seed=1)
    # spread between halvings .04, so .01 for the mean
    assert check.table["coverage"].between(0.9, 0.98).all()
    assert check.table.loc["MD1 hsd", "reversal"] < 0.005
    assert check.table.loc["MD1 hsd", "significant_reversal"] == 0
    bh = check.table.loc["MD1 bh"]
    assert abs(bh["reversal"] - bh["predicted_reversal"]) < 0.01


@pytest.mark.slow
def test_usual_procedures_of_each_layout() -> None:
    y = simulated((12, 3, 2))
    layouts = {
        TABLE: y.mean("shard"),
        SHARDS: y,
        ("topic", "system", "instance"): y.rename(shard="instance"),
        ("split", *SHARDS): xr.concat([y, y + 0.001], "split"),
    }
    for dims, scores in layouts.items():
        check = split_half(scores, repeats=2)
        assert list(check.table.index) == [parse_procedure(name).name for name in DEFAULTS[dims].shown]
        assert check.table["coverage"].notna().all()


def test_across_collections_matches_by_name() -> None:
    y = simulated((30, 6, 4)).mean("shard")
    a, b = y.isel(topic=slice(0, 12)), y.isel(topic=slice(12, 30))
    check = across_collections(a, b, ["MD1 bh"], names=("old", "new"))
    shuffled = b.isel(system=[5, 0, 3, 1, 2]).rename(topic="topic")
    renamed = across_collections(
        a.assign_coords(system=["s0", "s1", "x", "s3", "s4", "s5"]),
        shuffled,
        ["MD1 bh"],
        names=("old", "new"),
    )
    assert list(check.table.index) == [("MD1 bh", "old"), ("MD1 bh", "new")]
    assert "15 pairs of the 6 systems in both old (12 topics) and new (18 topics)" in str(check)
    assert "6 pairs of the 4 systems" in str(renamed)  # s2 is missing on one side, s4 on the other
    kept = ["s0", "s1", "s3", "s5"]
    direct = across_collections(a.sel(system=kept), b.sel(system=kept), ["MD1 bh"], names=("old", "new"))
    pd.testing.assert_frame_equal(direct.table, renamed.table)
    found = compare(anova(a.sel(system=kept), "MD1"), "bh").reject(0.05).sum()
    assert direct.table.loc[("MD1 bh", "old"), "found"] == found


def test_a_collection_agrees_with_itself() -> None:
    y = simulated()
    table = across_collections(y, y, ["MD6 hsd", "MD6 hsd topic"]).table
    assert (table["agreement"] == 1).all()
    assert (table["found_again"] == 1).all()
    assert (table["reversal"] == 0).all()
    assert (table["coverage"] == 1).all()


def test_tables_of_pandas_are_taken() -> None:
    y = simulated().mean("shard")
    frame = pd.DataFrame(y.to_numpy(), columns=y["system"].values)
    pd.testing.assert_frame_equal(
        split_half(frame, ["t holm"], repeats=3).table, split_half(y, ["t holm"], repeats=3).table
    )


def test_the_chart_shows_curve_and_procedures() -> None:
    drawn = split_half(simulated(), ["MD6 hsd", "MD6 hsd topic"], repeats=5).plot().to_dict()
    rows = [row for rows in drawn["datasets"].values() for row in rows]
    assert {row["procedure"] for row in rows if "procedure" in row} == {"MD6 hsd", "MD6 hsd topic"}
    assert {row["prediction"] for row in rows if "prediction" in row} == {
        "only the error of MD6 varies, one variance for all pairs",
        "topics vary, one variance for all pairs",
    }
    y = simulated()
    across = across_collections(y, y * 1.1, ["MD6 hsd"], names=("x\x1b", "y")).plot().to_dict()
    rows = [row for rows in across["datasets"].values() for row in rows]
    assert {row["procedure"] for row in rows if "procedure" in row} == {
        "MD6 hsd, from x\\x1b",
        "MD6 hsd, from y",
    }


NAMED = simulated().mean("shard")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: split_half(simulated(), over="document"), "dimension to halve"),  # type: ignore[arg-type]
        (lambda: split_half(NAMED, over="shard"), "no shards to halve"),
        (lambda: split_half(simulated((8, 3, 3)), over="shard"), "3 shards cannot be halved into twos"),
        (lambda: split_half(NAMED.isel(topic=[0, 1, 2])), "3 topics cannot be halved"),
        (lambda: split_half(xr.concat([simulated()] * 2, "split"), over="shard"), "documents of both halves"),
        (lambda: split_half(NAMED.where(NAMED.min() < NAMED)), "scores are undefined or missing"),
        (lambda: split_half(NAMED, "MD6 hsd"), "MD6 hsd does not fit scores by topic, system"),
        (lambda: split_half(NAMED, []), "no procedure to check"),
        (lambda: split_half(NAMED, "MD1 hsd", reference="t holm"), "the reference 't holm' is not checked"),
        (lambda: split_half(NAMED, "MD1 hsd", alpha=5), "alpha 5 is not between 0 and 0.5"),
        (lambda: split_half(NAMED, "MD1 hsd", repeats=0), "repeats must be at least 1"),
        (lambda: split_half(NAMED, "MD1 hsd", jobs=0), "0 jobs"),
        (lambda: split_half(pd.DataFrame({"topic": ["x"] * 9, "a": [0.1] * 9})), "a second score"),
        (lambda: across_collections(NAMED, simulated()), "the same dimensions"),
        (lambda: across_collections(NAMED, NAMED, names=("a", "a")), "called 'a' and 'a'"),
        (lambda: across_collections(NAMED, NAMED, names=("", "a")), "called '' and 'a'"),
        (lambda: across_collections(NAMED, NAMED.drop_vars("system")), "the systems of b have no names"),
        (
            lambda: across_collections(NAMED, NAMED.assign_coords(system=list("uvwxyz"))),
            r"no systems of the same name \(s0, s1, s2, … against u, v, w, …\); rename",
        ),
        (
            lambda: across_collections(NAMED, NAMED.assign_coords(system=["s0", *"vwxyz"])),
            r"1 system of the same name",
        ),
        (
            lambda: across_collections(NAMED, NAMED.assign_coords(system=["s0", "s0", *"wxyz"])),
            "two systems are named 's0'",
        ),
    ],
)  # fmt: skip
def test_what_is_refused(call: object, words: str) -> None:
    with pytest.raises(InputError, match=words):
        call()  # type: ignore[operator]
