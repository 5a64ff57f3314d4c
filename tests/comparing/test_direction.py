"""Scores of which lower ones are better say the mirrored thing, whatever the layout, the method and the surface."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import shardwise as sw

FIGURES = ("difference", "statistic", "effect_size")


def scores(seed: int = 0, *, topics: int = 24, **sizes: int) -> xr.DataArray:
    rng = np.random.default_rng(seed)
    dims = ("topic", "system", *sizes)
    shape = (topics, 4, *sizes.values())
    level = np.array([0.5, 0.62, 0.6, 0.4]).reshape(1, 4, *[1] * len(sizes))
    topic = rng.normal(0, 0.1, (topics, *[1] * (len(shape) - 1)))
    # multiples of a power of two, so that 1 - y is exact
    y = np.round(np.clip(level + topic + rng.normal(0, 0.08, shape), 0, 1) * 1024) / 1024
    return xr.DataArray(y, dims=dims, coords={"system": list("abcd")}, name="score")


def mirror(y: xr.DataArray) -> xr.DataArray:
    return (1.0 - y).rename("score").assign_attrs(lower_is_better=True)


def assert_mirrored(plain: sw.Comparisons, turned: sw.Comparisons) -> None:
    assert turned.lower_is_better
    assert turned.names == plain.names
    first, second = plain.to_frame(), turned.to_frame()
    assert (first[["a", "b"]] == second[["a", "b"]]).all(axis=None)
    np.testing.assert_allclose(second["p"], first["p"], rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(second["p_adjusted"], first["p_adjusted"], rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(second["se"], first["se"], rtol=1e-6)
    # counts of items and sums of ranks have no sign
    unsigned = plain.procedure.startswith(("wilcoxon", "sign"))
    for name in FIGURES if not unsigned else ("difference", "effect_size"):
        np.testing.assert_allclose(second[name], -first[name], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(second["lower"], -first["upper"], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(second["upper"], -first["lower"], rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(turned.directions(), plain.directions())
    if plain.complete:
        assert turned.best() == plain.best()
        pd.testing.assert_frame_equal(turned.ranks(), plain.ranks())
        assert turned.letters()["letters"].tolist() == plain.letters()["letters"].tolist()
        assert turned.groups() == plain.groups()


METHODS = {
    "table": ("moderated", "t holm", "unpaired-t holm", "wilcoxon holm", "sign holm", "randomization holm",
              "bootstrap bh", "tukey", "max-t", "MD1 hsd", "MD1 dunnett", "games-howell"),
    "shard": ("moderated", "MD6 hsd topic", "MD6 hsd", "MD2 hsd", "t holm"),
    "instance": ("unified holm", "samples holm", "mixed auto holm"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("layout", "method"), [(key, name) for key, names in METHODS.items() for name in names]
)
@pytest.mark.parametrize("baseline", [None, "c"])
def test_every_method_is_mirrored(layout: str, method: str, baseline: str | None) -> None:
    y = scores(3, **({} if layout == "table" else {layout: 3}))
    how: dict[str, Any] = {"baseline": "c" if "dunnett" in method else baseline}
    assert_mirrored(sw.compare(y, method, **how), sw.compare(mirror(y), method, **how))


def test_gaps_clusters_and_tasks_are_mirrored() -> None:
    y = scores(5, topics=30)
    groups = [f"g{k // 3}" for k in range(30)]
    gappy = y.where(np.random.default_rng(1).random(y.shape) > 0.1)
    for table in (gappy, y.assign_coords(cluster=("topic", groups))):
        assert_mirrored(sw.compare(table), sw.compare(mirror(table)))


def test_right_and_wrong_answers_are_mirrored() -> None:
    y = (scores(2, topics=40) > 0.55).astype(float)
    assert_mirrored(sw.compare(y), sw.compare(mirror(y)))


def test_margins_contrasts_and_probabilities_are_mirrored() -> None:
    y = scores(3)
    plain, turned = sw.compare(y), sw.compare(mirror(y))
    for side in ("both", "lower", "superior"):
        first, second = (sw.equivalence(pairs, 0.1, side).table for pairs in (plain, turned))
        assert first[["a", "b", "holds"]].equals(second[["a", "b", "holds"]])
        np.testing.assert_allclose(second["p"], first["p"], rtol=1e-6, atol=1e-12)
        np.testing.assert_allclose(second["smallest_margin"], first["smallest_margin"], rtol=1e-6, atol=1e-12)
        np.testing.assert_allclose(second["lower"], -first["upper"], rtol=1e-6, atol=1e-12)
    first, second = (pairs.probabilities(0.05) for pairs in (plain, turned))
    np.testing.assert_allclose(
        second[["better", "equal", "worse"]], first[["better", "equal", "worse"]], atol=1e-9
    )
    one, other = (pairs.contrasts({"x": (["a"], ["b", "c"])}).table for pairs in (plain, turned))
    np.testing.assert_allclose(other["estimate"], -one["estimate"])
    np.testing.assert_allclose(other["p"], one["p"])


def test_fits_are_mirrored() -> None:
    y = scores(3)
    assert_mirrored(sw.compare(sw.anova(y, sw.MD1)), sw.compare(sw.anova(mirror(y), sw.MD1)))


def test_analyses_follow_attributes_names_and_keywords() -> None:
    y = scores(3)
    best = sw.analyze(y).systems[0]
    turned = mirror(y)
    bare = turned.copy()
    bare.attrs = {}
    for found in (
        sw.analyze(turned),
        sw.analyze(bare.rename("error_rate")),
        sw.analyze(bare, lower_is_better=True),
    ):
        assert found.systems[0] == best
        assert found.leaderboard().table["system"].iloc[0] == best
        assert "lower is better" in str(found)
        assert found.items().lower_is_better
    assert sw.analyze(bare).systems[0] != best
    assert sw.analyze(bare.rename("wer"), lower_is_better=False).systems[0] != best
    assert sw.compare(bare, lower_is_better=True).names[0] == best


def test_the_items_are_mirrored() -> None:
    y = scores(3)
    first, second = (sw.analyze(table).items("a", "b") for table in (y, mirror(y)))
    assert first.counts == second.counts
    for name in ("wins", "losses", "carriers"):
        assert getattr(first, name)["item"].tolist() == getattr(second, name)["item"].tolist()


def test_declared_ranges_change_intervals() -> None:
    y = (scores(2, topics=40) > 0.55).astype(float)
    narrow, wide = sw.compare(y).intervals(), sw.compare(y, range=(0, 10)).intervals()
    assert (np.abs(wide["upper"] - narrow["upper"]) > 0.01).all()
    pd.testing.assert_frame_equal(sw.analyze(y, range=(0, 10)).comparisons.intervals(), wide)
    pd.testing.assert_frame_equal(sw.compare(y.assign_attrs(range=(0, 10))).intervals(), wide)


@pytest.mark.parametrize("name", ["to_frame", "limits", "half_widths", "reject", "directions", "intervals", "best",
                                  "critical_difference", "groups", "letters", "ranks", "systems",
                                  "summary"])  # fmt: skip
def test_alpha_and_level_say_the_same(name: str) -> None:
    method = getattr(sw.compare(scores(3), "MD1 hsd"), name)
    first, second = method(alpha=0.1), method(level=0.9)
    if isinstance(first, pd.DataFrame):
        pd.testing.assert_frame_equal(first, second)
    else:
        np.testing.assert_array_equal(np.asarray(first, object), np.asarray(second, object))
    with pytest.raises(sw.InputError, match=r"alpha 0\.95 is not between 0 and 0\.5; did you mean 0\.05"):
        method(alpha=0.95)
    with pytest.raises(sw.InputError, match=r"level 0\.05 is not between 0\.5 and 1; did you mean 0\.95"):
        method(level=0.05)
    with pytest.raises(sw.InputError, match="alpha and level are both given"):
        method(alpha=0.05, level=0.95)
