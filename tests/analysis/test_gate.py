"""May the new system go out: verdicts, the number of items that it takes, and what repeats and clusters do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.power import TTestPower

import shardwise as sw
from shardwise.analysis.gate import (
    Gate,
    Gates,
    Question,
    SequentialGate,
    gate,
    gate_sequentially,
    side_by_side,
)
from shardwise.core.errors import InputError
from shardwise.core.scores import Scores, as_scores
from shardwise.planning.design import topics_for_margin
from shardwise.stats import intervals


def table(
    difference: float, spread: float = 0.05, items: int = 100, seed: int = 1, scale: float = 1.0
) -> xr.DataArray:
    """Two systems whose per-item differences have exactly this mean and standard deviation."""
    z = np.random.default_rng(seed).normal(size=items)
    z = (z - z.mean()) / z.std(ddof=1)
    y = np.stack([np.full(items, 0.5), 0.5 + difference + spread * z], axis=1) * scale
    return xr.DataArray(y, dims=("topic", "system"), coords={"system": ["old", "new"]}, name="accuracy")


def answers(right_old: str, right_new: str) -> xr.DataArray:
    y = np.array([[float(a) for a in right_old], [float(b) for b in right_new]]).T
    return xr.DataArray(y, dims=("topic", "system"), coords={"system": ["old", "new"]}, name="correct")


def judged(scores: xr.DataArray, **options: object) -> Gate:
    return gate("old", "new", scores=scores, **options)


@pytest.mark.parametrize(
    ("difference", "spread", "verdict"),
    [
        (2.0, 5.0, "better"),
        (0.0, 5.0, "no worse"),
        (-0.5, 0.01, "no worse"),
        (-2.1, 5.0, "worse"),
        (-0.55, 5.0, "inconclusive"),
    ],
)
def test_scores_without_bounds_have_students_interval(difference: float, spread: float, verdict: str) -> None:
    scores = table(difference / 100, spread / 100, scale=100.0)
    found = judged(scores, margin=1.0)
    assert found.verdict == verdict
    assert found.passes == (verdict in ("better", "no worse"))
    x = scores.to_numpy()
    if verdict in ("better", "worse"):
        # the two-sided test of 0, and its own interval
        pairs = sw.compare(scores, baseline="old")
        np.testing.assert_allclose([found.lower, found.upper], np.ravel(pairs.limits()), rtol=1e-12)
        assert found.p == pairs.p_adjusted[0] <= 0.05
        assert not found.lower <= 0.0 <= found.upper
        return
    theirs = stats.ttest_rel(x[:, 1], x[:, 0]).confidence_interval(0.95)
    np.testing.assert_allclose([found.lower, found.upper], theirs, rtol=1e-9)
    one_sided = stats.ttest_1samp(x[:, 1] - x[:, 0], -1.0, alternative="greater").pvalue
    assert found.p == pytest.approx(one_sided, rel=1e-9)
    # a loss that is significant but within the margin passes, and is said
    assert ("significantly worse, but by less than the margin" in found.to_sentence()) == (
        difference < 0.0 and verdict == "no worse"
    )
    assert ("rarer or larger than those seen" in found.to_sentence()) == (verdict == "no worse")


def test_bounded_scores_have_the_generalised_interval() -> None:
    scores = answers("1" * 40 + "0" * 10, "1" * 38 + "0" * 10 + "11")
    found = judged(scores, margin=0.1)
    moments = intervals.pair_moments(scores.to_numpy()[:, 1], scores.to_numpy()[:, 0])
    limits = intervals.difference_limits(moments, stats.t.isf(0.025, 49))
    assert [found.lower, found.upper] == pytest.approx([float(x) for x in limits])
    assert found.p == pytest.approx(float(intervals.one_sided_p(moments, -0.1)))


def test_ten_right_answers_do_not_pass() -> None:
    found = judged(answers("1" * 10, "1" * 10))
    assert found.verdict == "inconclusive"
    assert found.lower < -0.2 < 0.2 < found.upper
    assert found.needed is None
    assert "no loss could show" in found.to_sentence()
    # nor do a thousand: nothing could have shown a loss
    assert judged(answers("1" * 1000, "1" * 1000), margin=0.05).verdict == "inconclusive"
    assert judged(answers("1" * 999 + "0", "1" * 999 + "0"), margin=0.05).verdict == "no worse"


@pytest.mark.parametrize("alpha", [0.05, 0.1])
@pytest.mark.parametrize("power", [0.8, 0.9])
@pytest.mark.parametrize("ratio", [0.1, 0.25, 0.8])
def test_items_needed_are_those_of_statsmodels(alpha: float, power: float, ratio: float) -> None:
    theirs = TTestPower().solve_power(ratio, alpha=alpha / 2, power=power, alternative="larger")
    assert topics_for_margin(1.0, ratio, alpha=alpha, power=power) == np.ceil(theirs)


def test_needed_goes_with_the_verdict() -> None:
    passed = judged(table(0.0, 0.02), margin=0.03)
    assert (passed.verdict, passed.needed) == ("no worse", None)
    short = judged(table(-0.004, 0.05, 60))
    moments = intervals.pair_moments(*table(-0.004, 0.05, 60).to_numpy().T[::-1])
    assert short.needed == float(intervals.items_needed(moments, 0.01))
    assert f"{int(short.needed):,} topics" in str(short)


@settings(max_examples=20, deadline=None)
@given(st.floats(-0.1, 0.1), st.floats(0.001, 0.1), st.integers(5, 60), st.floats(0.001, 0.1))
def test_a_wider_margin_never_fails(d: float, spread: float, items: int, margin: float) -> None:
    narrow, wide = (judged(table(d, spread, items), margin=m) for m in (margin, 2 * margin))
    assert narrow.passes <= wide.passes
    assert narrow.needed is None or narrow.verdict == "inconclusive"
    if narrow.needed is not None and wide.needed is not None:
        assert narrow.needed >= wide.needed


def seeded(seeds: int = 5, items: int = 60, between: float = 0.03) -> xr.DataArray:
    rng = np.random.default_rng(3)
    y = rng.normal(0.5, 0.1, (items, 1, 1)) + rng.normal(0, between, (1, 2, seeds))
    y = y + rng.normal(0, 0.05, (items, 2, seeds))
    return xr.DataArray(
        y.clip(0, 1), dims=("topic", "system", "instance"), coords={"system": ["old", "new"]}, name="f1"
    )


def test_seeds_are_the_default_and_samples_can_be_said() -> None:
    scores = seeded()
    seeds, samples = judged(scores, margin=0.02), judged(scores, margin=0.02, repeats="samples")
    assert (seeds.repeats, samples.repeats) == ("seeds", "samples")
    assert seeds.upper - seeds.lower > samples.upper - samples.lower
    assert seeds.needed == np.inf
    assert "add instances" in str(seeds)
    named = judged(scores.assign_attrs(instance_noun="epoch"), margin=0.02)
    assert named.repeats == "samples"
    pairs = sw.compare(scores, baseline="old")
    assert seeds.difference == pytest.approx(float(pairs.difference[0]))


def test_clusters_count_for_fewer_items() -> None:
    rng = np.random.default_rng(8)
    wrong = np.repeat(rng.random(40) < 0.1, 5)
    scores = answers("1" * 200, "".join("0" if x else "1" for x in wrong))
    plain = judged(scores, margin=0.05)
    clustered = judged(scores.assign_coords(cluster=("topic", np.repeat(np.arange(40), 5))), margin=0.05)
    assert clustered.upper - clustered.lower > 1.5 * (plain.upper - plain.lower)
    assert plain.verdict == "worse"
    assert plain.needed is None
    assert clustered.needed is not None
    moments = intervals.pair_moments(*scores.to_numpy().T[::-1])
    assert clustered.needed > 3 * float(intervals.items_needed(moments, 0.05))
    assert clustered.needed_clusters == np.ceil(clustered.needed / 5)
    assert "clusters" in clustered.to_sentence()


def test_several_candidates_share_the_error() -> None:
    rng = np.random.default_rng(5)
    y = np.repeat(rng.beta(2, 2, (80, 1)), 3, axis=1) + rng.normal(0, 0.01, (80, 3))
    scores = xr.DataArray(y.clip(0, 1), dims=("topic", "system"), coords={"system": ["old", "new", "newer"]})
    both = gate("old", ["new", "newer"], scores=scores, margin=0.05)
    assert isinstance(both, Gates)
    assert [one.new for one in both.each] == ["new", "newer"]
    assert both.passes
    alone = gate("old", "new", scores=scores, margin=0.05)
    assert both.each[0].lower < alone.lower
    assert len(both.to_frame()) == 2
    broken = gate("old", ["new", "newer"], scores=scores - 0.3 * (scores["system"] == "newer"), margin=0.05)
    assert [one.passes for one in broken.each] == [True, False]
    assert not broken.passes


def test_any_form_of_scores() -> None:
    scores = table(0.0, 0.02)
    old, new = scores.to_numpy().T
    items = [f"q{k}" for k in range(100)]
    expected = judged(scores)
    for first, second in (
        (old, new),
        (pd.Series(old, index=items), pd.Series(new, index=items)),
        (scores.sel(system=["old"]), scores.sel(system=["new"])),
        (scores.sel(system="old", drop=True), scores.sel(system="new", drop=True)),
    ):
        found = gate(first, second)
        assert (found.verdict, found.lower) == (expected.verdict, pytest.approx(expected.lower))


def test_ranges_and_lower_is_better() -> None:
    scores = table(-0.03, 0.02, scale=10.0)
    worse = judged(scores, range=(0, 10), margin=0.2)
    assert worse.verdict == "worse"
    better = judged(scores, range=(0, 10), margin=0.2, lower_is_better=True)
    assert better.verdict == "better"
    # differences keep the measure's sign: better is below 0
    assert better.difference == pytest.approx(-0.3)
    assert better.lower < better.upper < 0.0
    unit = judged(table(-0.03, 0.02), margin=0.02)
    assert [worse.lower, worse.upper] == pytest.approx([10 * unit.lower, 10 * unit.upper])
    with pytest.raises(InputError, match="outside the range"):
        judged(scores, range=(0, 1))


def meet(base: xr.DataArray, new: xr.DataArray, names: tuple[str, str] = ("x", "y")) -> tuple[Scores, int]:
    """Both tables side by side, through the gate."""
    return side_by_side(as_scores(base), as_scores(new), names)


def test_two_tables_meet_on_the_items_of_both() -> None:
    both = table(0.01)
    old, new = both.sel(system=["old"]), both.sel(system=["new"]).isel(topic=slice(0, 90))
    names = [f"q{k}" for k in range(100)]
    joined, dropped = meet(old.assign_coords(topic=names), new.assign_coords(topic=names[:90]), ("x", "y"))
    assert dropped == 10
    assert joined.sizes == {"topic": 90, "system": 2}
    assert judged(joined).items == 90
    seeds = new.assign_coords(topic=names[:90]).expand_dims(instance=3) + xr.DataArray(
        [0.0, 0.01, 0.02], dims="instance"
    )
    mixed, _ = meet(old.assign_coords(topic=names), seeds, ("x", "y"))
    assert judged(mixed).procedure.startswith("moderated")


def test_refusals() -> None:
    both = table(0.01)
    with pytest.raises(InputError, match="2 systems, but a gate compares two"):
        meet(both, both, ("x", "y"))
    with pytest.raises(InputError, match="no items in common"):
        meet(
            both.sel(system=["old"]),
            both.sel(system=["new"]).assign_coords(topic=[f"z{k}" for k in range(100)]),
            ("x", "y"),
        )
    with pytest.raises(InputError, match="unknown system 'newer'"):
        gate("old", "newer", scores=both)
    with pytest.raises(InputError, match="compared with itself"):
        gate("old", "old", scores=both)
    with pytest.raises(InputError, match="cannot be met"):
        judged(both, margin=0.0)


def batch(first: int, count: int, wrong: int = 0) -> xr.DataArray:
    new = "0" * wrong + "1" * (count - wrong)
    return answers("1" * count, new).assign_coords(topic=[f"q{k}" for k in range(first, first + count)])


def look_again(path: Path, scores: xr.DataArray, margin: float = 0.01) -> SequentialGate:
    return gate_sequentially("old", ["new"], Question(as_scores(scores), margin), path)


def test_a_sequential_gate_adds_up_its_batches(tmp_path: Path) -> None:
    state = tmp_path / "gate.json"
    looks = [look_again(state, batch(50 * k, 50), 0.05) for k in range(3)]
    assert [look.verdict for look in looks] == ["continue", "continue", "no worse"]
    assert looks[-1].state.units == 150
    again = look_again(state, batch(0, 50), 0.05)
    assert (again.added, again.verdict) == (0, "no worse")
    assert "PASS" in str(again)


def test_a_sequential_gate_refuses_what_it_cannot_count(tmp_path: Path) -> None:
    state = tmp_path / "gate.json"
    look_again(state, batch(0, 20), 0.05)
    with pytest.raises(InputError, match=r"was begun with margin 0.05, and now it is 0.1"):
        look_again(state, batch(20, 20), 0.1)
    with pytest.raises(InputError, match="independent given the seeds"):
        look_again(tmp_path / "x.json", seeded())
    with pytest.raises(InputError, match="needs bounded scores"):
        look_again(tmp_path / "x.json", table(0.0, scale=100.0))
    state.write_text('{"format": "something"}')
    with pytest.raises(InputError, match="is not the state of a sequential gate"):
        look_again(state, batch(0, 20), 0.05)


def test_clusters_count_once_in_a_sequential_gate(tmp_path: Path) -> None:
    state = tmp_path / "gate.json"
    scores = batch(0, 40).assign_coords(cluster=("topic", np.repeat(np.arange(10), 4)))
    look = look_again(state, scores, 0.05)
    assert look.state.units == 10
    assert look_again(state, scores, 0.05).added == 0


def test_grades_and_percent_are_judged_as_shares_are() -> None:
    """No range is declared: percent and grades of 1 to 5 are known by their values."""
    rng = np.random.default_rng(4)
    right = (rng.random((60, 2)) < 0.95).astype(float)
    share = judged(
        answers("".join(f"{x:.0f}" for x in right[:, 0]), "".join(f"{x:.0f}" for x in right[:, 1])),
        margin=0.05,
    )
    scores = xr.DataArray(right, dims=("topic", "system"), coords={"system": ["old", "new"]}, name="correct")
    percent, grades = judged(100.0 * scores, margin=5.0), judged(1.0 + 4.0 * scores, margin=0.2)
    assert share.p > 0.025
    for found, width in ((percent, 100.0), (grades, 4.0)):
        assert (found.verdict, found.p) == (share.verdict, pytest.approx(share.p))
        assert [found.lower, found.upper] == pytest.approx([width * share.lower, width * share.upper])


def test_twelve_fives_do_not_pass() -> None:
    """They passed with an interval of 0 to 0 and p below 1e-300."""
    found = gate(np.full(12, 5.0), np.full(12, 5.0), margin=0.1)
    assert found.verdict == "inconclusive"
    assert found.upper > found.lower
    assert found.p > 0.025


def test_times_go_by_student_and_say_so() -> None:
    rng = np.random.default_rng(2)
    y = rng.lognormal(1.0, 0.5, (80, 1)) + rng.normal(0.0, 0.01, (80, 2))
    scores = xr.DataArray(y, dims=("topic", "system"), coords={"system": ["old", "new"]}, name="seconds")
    found = judged(scores, margin=0.1)
    assert (found.verdict, found.assumes_seen) == ("no worse", True)
    assert "Assumes no failures rarer or larger than those seen." in found.to_sentence()
    slower = judged(scores + np.array([0.0, 0.05]), margin=0.1)
    assert slower.verdict == "no worse"
    assert slower.difference > 0.0
    assert "significantly worse, but by less than the margin" in slower.to_sentence()


def test_no_rare_failures_is_named_where_it_decides() -> None:
    """AP that varies little: Student's t passes it, the score test does not."""
    scores = table(0.0, 0.05, items=60)
    found = judged(scores, margin=0.02)
    assert (found.verdict, found.passes_as_seen) == ("inconclusive", True)
    assert ":no-rare-failures" in found.to_sentence()
    bold = judged(scores, margin=0.02, no_rare_failures=True)
    assert (bold.verdict, bold.assumes_seen) == ("no worse", True)
    assert "Assumes no failures rarer or larger than those seen." in bold.to_sentence()
    assert not judged(table(-0.05, 0.05, items=60), margin=0.02).passes_as_seen


@pytest.mark.parametrize("lower_is_better", [False, True])
@pytest.mark.parametrize("difference", [-0.05, -0.02, -0.004, 0.0, 0.004, 0.05])
def test_p_and_interval_are_those_of_the_verdict(difference: float, lower_is_better: bool) -> None:
    found = judged(table(difference, 0.06, items=120), margin=0.03, lower_is_better=lower_is_better)
    of_margin = found.verdict in ("no worse", "inconclusive")
    assert (found.p <= (0.025 if of_margin else 0.05)) == (found.verdict != "inconclusive")
    if not of_margin:
        assert not found.lower <= 0.0 <= found.upper
        assert (found.upper < 0.0) == ((found.verdict == "better") == lower_is_better)
    assert found.needed is None or found.verdict == "inconclusive"


@pytest.mark.parametrize("lower_is_better", [False, True])
@pytest.mark.parametrize("spread", [0.01, 0.05])
@pytest.mark.parametrize("difference", [-0.03, -0.01, -0.005, 0.0])
def test_a_gate_passes_where_its_interval_lies_above_a_loss_of_the_margin(
    difference: float, spread: float, lower_is_better: bool
) -> None:
    """AP that varies little: "significantly worse" stood beside an interval within the margin."""
    sign = -1.0 if lower_is_better else 1.0
    for items in (20, 60, 150):
        for margin in (0.01, 0.02, 0.04):
            scores = table(sign * difference, spread, items)
            found = judged(scores, margin=margin, lower_is_better=lower_is_better)
            worst = -found.upper if lower_is_better else found.lower
            assert (worst > -margin) == found.passes
            excluded = f"a loss of more than {margin:g} cannot be excluded" in found.to_sentence()
            assert excluded == (found.verdict == "worse" and abs(found.difference) < margin)


def test_scores_that_show_nothing_exclude_no_loss() -> None:
    found = judged(answers("1" * 1000, "1" * 1000), margin=0.05)
    assert (found.lower, found.upper) == (-0.05, 0.05)


def test_a_sequential_gate_says_that_a_loss_within_the_margin_is_significant(tmp_path: Path) -> None:
    slower = xr.DataArray(
        np.tile([0.9, 0.8], (2000, 1)), dims=("topic", "system"), coords={"system": ["old", "new"]}
    )
    look = look_again(tmp_path / "gate.json", slower, 0.15)
    assert (look.verdict, set(look.state.shown)) == ("no worse", {"no worse", "worse"})
    assert "significantly worse, but by less than the margin" in str(look)
    even = look_again(tmp_path / "even.json", batch(0, 200), 0.05)
    assert "significantly" not in str(even)


def test_scores_by_item_are_one_system() -> None:
    rng = np.random.default_rng(3)
    old = {f"q{k}": float(score) for k, score in enumerate(rng.normal(0.5, 0.1, 40))}
    new = {item: score + 0.02 * (-1) ** k for k, (item, score) in enumerate(reversed(old.items()))}
    found = sw.gate(old, new, margin=0.05)
    table = pd.DataFrame({"old": old, "new": new}).rename_axis("item")
    expected = sw.gate("old", "new", scores=table, margin=0.05)
    assert (found.verdict, found.lower, found.items) == (expected.verdict, expected.lower, 40)


def test_no_rare_failures_is_declared_by_measure() -> None:
    rng = np.random.default_rng(5)
    table = pd.DataFrame(
        [(f"q{k}", name, *rng.normal(0.5, 0.05, 2).clip(0, 1)) for k in range(60) for name in ("old", "new")],
        columns=["item", "system", "AP", "nDCG"],
    )

    def judge(declared: bool | str | list[str]) -> list[str]:
        margin = {"AP": 0.03, "nDCG": 0.03}
        gates = sw.gate("old", "new", scores=table, margin=margin, no_rare_failures=declared)
        return [gate.to_sentence() for gate in gates.each]

    none, every, first = judge(False), judge(True), judge("AP")
    assert none[0] != every[0]
    assert none[1] != every[1]
    assert first == [every[0], none[1]]
    assert judge(["AP", "nDCG"]) == every
    with pytest.raises(sw.InputError, match="MRR"):
        judge("MRR")
