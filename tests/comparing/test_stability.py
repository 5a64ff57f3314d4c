"""Agreement between splits, fill policies and methods (FF21)."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from shardwise.comparing.compare import compare
from shardwise.comparing.stability import (
    FIGURES,
    agreement,
    half_width,
    over_splits,
    stability,
    stability_of,
    stability_of_fills,
    stability_of_methods,
)
from shardwise.core.errors import InputError
from shardwise.core.model import MD2, MD3, MD6
from shardwise.methods.anova.fit import anova
from shardwise.scoring.undefined import fill_undefined


def some_scores(seed: int = 4, splits: int = 4, systems: int = 9, spread: float = 0.02) -> xr.DataArray:
    rng = np.random.default_rng(seed)
    values = (
        rng.normal(0.3, 0.2, (1, 15, 1, 1))
        + rng.normal(0.0, spread, (1, 1, systems, 1))
        + rng.normal(0.0, 0.04, (1, 15, systems, 1))
        + rng.normal(0.0, 0.06, (splits, 15, systems, 3))
    )
    names = [f"s{k}" for k in range(systems)]
    return xr.DataArray(values, dims=("split", "topic", "system", "shard"), coords={"system": names})


@pytest.mark.slow
@settings(max_examples=20)
@given(seed=st.integers(0, 1000), spread=st.sampled_from([0.0, 0.01, 0.05]))
def test_counts_are_those_of_a_loop_over_pairs(seed: int, spread: float) -> None:
    scores = some_scores(seed, 3, 5, spread)
    result = stability(scores, MD3, "bh", alpha=0.1)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        counts = dict.fromkeys(("AA", "AD", "PA", "PD"), 0)
        winners = []
        for k in (i, j):
            pairs = compare(anova(scores.isel(split=k), MD3), "bh")
            frame = pairs.to_frame().assign(found=pairs.reject(0.1))
            winners.append(
                {frozenset((a, b)): a if f else None for a, b, f in frame[["a", "b", "found"]].to_numpy()}
            )
        for pair, first in winners[0].items():
            second = winners[1][pair]
            if first and second:
                counts["AA" if first == second else "AD"] += 1
            else:
                counts["PD" if first or second else "PA"] += 1
        for name, count in counts.items():
            assert result.between.sel(figure=name).values[i, j] == count
            assert result.between.sel(figure=name).values[j, i] == count
        aa, pa, pd = counts["AA"], counts["PA"], counts["PD"]
        paa = result.between.sel(figure="PAA").values[i, j]
        assert paa == pytest.approx(2 * aa / (2 * aa + pd)) if aa + pd else np.isnan(paa)
        ppa = result.between.sel(figure="PPA").values[i, j]
        assert ppa == pytest.approx(2 * pa / (2 * pa + pd)) if pa + pd else np.isnan(ppa)


def test_averages_with_t_intervals() -> None:
    result = stability(some_scores(), MD3, "bh")
    frame = result.to_frame()
    assert len(frame) == 6
    assert list(frame.columns) == ["split", "other", *FIGURES]
    table = result.mean()
    for name in FIGURES:
        assert table.loc[name, "mean"] == pytest.approx(frame[name].mean())
        assert table.loc[name, "half_width"] == pytest.approx(half_width(frame[name].to_numpy()))
    assert "PAA" in str(result)
    assert (frame[["AA", "AD", "PA", "PD"]].sum(axis=1) == 36).all()
    again = stability_of(over_splits(some_scores(), MD3, "bh"))
    xr.testing.assert_identical(again.between, result.between)


def test_a_split_agrees_with_itself_and_not_with_its_mirror() -> None:
    scores = some_scores(spread=0.2).isel(split=0)
    one = compare(anova(scores, MD3), "bh")
    mirrored = compare(anova(1.0 - scores, MD3), "bh")
    found = float(one.reject().sum())
    assert agreement(one, one) == pytest.approx(
        {"AA": found, "AD": 0, "PA": 36 - found, "PD": 0, "PAA": 1.0, "PPA": 1.0}
    )
    assert agreement(one, mirrored)["AD"] == found
    with pytest.raises(InputError, match="one split"):
        stability_of([one])


def undefined_scores() -> xr.DataArray:
    scores = some_scores(spread=0.03).copy()
    for split, topic, shard in [(0, 1, 0), (0, 4, 2), (1, 1, 1), (2, 7, 0), (2, 1, 0), (3, 9, 2)]:
        scores[split, topic, :, shard] = np.nan
    return scores


@pytest.mark.parametrize(
    "options", [{}, {"method": "bh", "fit": "bootstrap", "null": "marginal", "tails": 1}]
)
def test_md6_conclusions_do_not_depend_on_the_fill(options: dict[str, object]) -> None:
    """FF21 Table 8: zeros off the diagonal, the same number on it."""
    table = stability_of_fills(undefined_scores(), MD6, **options)  # type: ignore[arg-type]
    assert list(table["fill"].values) == ["zero", "lq", "mean", "one"]
    disagreements = table["mean"].sel(figure="PD").to_numpy()
    off = ~np.eye(4, dtype=bool)
    assert (disagreements[off] == 0).all()
    assert np.ptp(np.diag(disagreements)) == 0
    assert (table["mean"].sel(figure="AD").to_numpy()[off] == 0).all()
    assert np.ptp(table["significant"].to_numpy()) == 0


def test_fills_matter_for_smaller_models_and_diagonals_are_stabilities() -> None:
    scores = undefined_scores()
    table = stability_of_fills(scores, MD2, policies=("zero", "mean", "one"))
    assert table["mean"].sel(fill="zero", other="one", figure="PD") > 0
    for policy in ("zero", "mean", "one"):
        alone = stability(fill_undefined(scores, policy), MD2).mean()
        both = table["mean"].sel(fill=policy, other=policy)
        for name in FIGURES:
            assert float(both.sel(figure=name)) == pytest.approx(alone.loc[name, "mean"], nan_ok=True)
    zero, one = table.sel(fill="zero", other="one"), table.sel(fill="one", other="zero")
    assert float(zero["mean"].sel(figure="PD")) == float(one["mean"].sel(figure="PD"))


def test_methods_of_ff21() -> None:
    """HSD finds nothing that BH does not, and the papers' bootstrap all that BH finds (FF21 Table 5)."""
    calls: list[tuple[int, int]] = []
    table = stability_of_methods(
        some_scores(spread=0.03), MD3, progress=lambda done, total: calls.append((done, total))
    )
    assert calls == [(k, 12) for k in range(1, 13)]
    extra = table["mean"].sel(figure="extra")
    assert float(extra.sel(approach="tANOVA(HSD)", other="tANOVA(BH)")) == 0
    assert float(extra.sel(approach="tANOVA(BH)", other="bANOVA(BH)")) == 0
    found = table["significant"]
    more = float(extra.sel(approach="bANOVA(BH)", other="tANOVA(HSD)"))
    assert more == float(found.sel(approach="bANOVA(BH)") - found.sel(approach="tANOVA(HSD)"))
    assert table.attrs == {"alpha": 0.05, "level": 0.95, "splits": 4, "pairs": 36}
