"""May the new system go out: verdicts read off one interval, and the number of items that it takes."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.power import TTestPower

from shardwise import compare_instances
from shardwise.analysis.gate import gate, side_by_side
from shardwise.core.errors import InputError
from shardwise.planning.margins import topics_for_margin


def table(difference: float, spread: float = 0.05, items: int = 100, seed: int = 1) -> xr.DataArray:
    """Two systems whose per-item differences have exactly this mean and standard deviation."""
    z = np.random.default_rng(seed).normal(size=items)
    z = (z - z.mean()) / z.std(ddof=1)
    y = np.stack([np.full(items, 0.5), 0.5 + difference + spread * z], axis=1)
    return xr.DataArray(y, dims=("topic", "system"), coords={"system": ["old", "new"]}, name="accuracy")


HALF = float(stats.t.isf(0.025, 99) * 0.05 / 10)  # of the interval of 100 items


@pytest.mark.parametrize(
    ("difference", "spread", "verdict"),
    [
        (HALF + 0.001, 0.05, "better"),
        (0.0, 0.05, "no worse"),
        (HALF - 0.0099, 0.05, "no worse"),
        (-0.005, 0.0001, "no worse"),  # surely worse, and by less than matters
        (-HALF - 0.001, 0.05, "worse"),
        (HALF - 0.011, 0.05, "underpowered"),
        (-0.0055, 0.03, "undecided"),
    ],
)
def test_the_verdict_is_read_off_the_interval(difference: float, spread: float, verdict: str) -> None:
    found = gate(table(difference, spread), "old", "new", margin=0.01)
    assert found.verdict == verdict
    assert found.passes == (verdict in ("better", "no worse"))
    x = table(difference, spread).to_numpy()
    theirs = stats.ttest_rel(x[:, 1], x[:, 0]).confidence_interval(0.95)
    np.testing.assert_allclose([found.lower, found.upper], theirs, rtol=1e-9)
    np.testing.assert_allclose(found.p, stats.ttest_rel(x[:, 1], x[:, 0]).pvalue, rtol=1e-6)


@pytest.mark.parametrize("alpha", [0.05, 0.1])
@pytest.mark.parametrize("power", [0.8, 0.9])
@pytest.mark.parametrize("ratio", [0.1, 0.25, 0.8])
def test_items_needed_are_those_of_statsmodels(alpha: float, power: float, ratio: float) -> None:
    theirs = TTestPower().solve_power(ratio, alpha=alpha / 2, power=power, alternative="larger")
    assert topics_for_margin(1.0, ratio, alpha=alpha, power=power) == np.ceil(theirs)


def test_underpowered_says_how_many() -> None:
    found = gate(table(-0.004, 0.05, 60), "old", "new")
    needed = int(np.ceil(TTestPower().solve_power(0.01 / 0.05, alpha=0.025, power=0.8, alternative="larger")))
    assert found.verdict == "underpowered"
    assert f"needs {needed} topics" in str(found)


@settings(max_examples=30, deadline=None)
@given(st.floats(-0.1, 0.1), st.floats(0.001, 0.3), st.integers(5, 60), st.floats(0.001, 0.1))
def test_one_verdict_always_and_a_wider_margin_never_fails(
    d: float, spread: float, items: int, margin: float
) -> None:
    narrow, wide = (gate(table(d, spread, items), "old", "new", margin=m) for m in (margin, 2 * margin))
    assert narrow.passes <= wide.passes
    assert narrow.needed >= wide.needed


def test_seeds_are_seeds() -> None:
    rng = np.random.default_rng(3)
    y = rng.normal(0.5, 0.2, (60, 1, 1)) + rng.normal(0, 0.03, (1, 2, 5)) + rng.normal(0, 0.05, (60, 2, 5))
    scores = xr.DataArray(y, dims=("topic", "system", "instance"), coords={"system": ["old", "new"]})
    found = gate(scores, "old", "new", margin=0.02)
    unified = compare_instances(scores.sel(system="new"), scores.sel(system="old")).interval()
    np.testing.assert_allclose((found.lower, found.upper), unified)
    assert found.needed == np.inf  # five seeds leave a spread that no number of topics lessens
    assert "so few instances" in str(found)


def test_two_tables_meet_on_the_items_of_both() -> None:
    both = table(0.01)
    old, new = both.sel(system=["old"]), both.sel(system=["new"]).isel(topic=slice(0, 90))
    names = [f"q{k}" for k in range(100)]
    joined, left = side_by_side(
        old.assign_coords(topic=names), new.assign_coords(topic=names[:90]), ("x", "y")
    )
    assert left == 10
    assert joined.sizes == {"system": 2, "topic": 90}
    found = gate(joined, "old", "new")
    assert found.items == 90
    seeds = new.assign_coords(topic=names[:90]).expand_dims(instance=3) + xr.DataArray(
        [0.0, 0.01, 0.02], dims="instance"
    )
    mixed, _ = side_by_side(old.assign_coords(topic=names), seeds, ("x", "y"))
    assert gate(mixed, "old", "new").procedure == "unified"


def test_refusals() -> None:
    both = table(0.01)
    with pytest.raises(InputError, match="2 systems, and a gate compares two"):
        side_by_side(both, both, ("x", "y"))
    with pytest.raises(InputError, match="no items in common"):
        side_by_side(
            both.sel(system=["old"]),
            both.sel(system=["new"]).assign_coords(topic=[f"z{k}" for k in range(100)]),
            ("x", "y"),
        )
    with pytest.raises(InputError, match="no system is called 'newer'"):
        gate(both, "old", "newer")
    with pytest.raises(InputError, match="cannot be met"):
        gate(both, "old", "new", margin=0.0)
