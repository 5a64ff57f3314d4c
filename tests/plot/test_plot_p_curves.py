"""p-value curves cross the level at the share of pairs told apart."""

from __future__ import annotations

import numpy as np
import pytest

from report_pages import simulated
from shardwise.comparing.compare import compare
from shardwise.core.model import MD6
from shardwise.methods.anova.fit import anova
from shardwise.plot.matrix import p_curve_chart


@pytest.mark.parametrize("systems", [4, 40])
def test_the_curve_at_alpha_is_the_share_found(systems: int) -> None:
    fit = anova(simulated(systems), MD6)
    named = {"here": compare(fit), "like": compare(fit, generalize=("topic",))}
    drawn = p_curve_chart(named).to_dict()
    rows = next(rows for rows in drawn["datasets"].values() if "claim" in rows[0])
    for name, pairs in named.items():
        share = [row["share"] for row in rows if row["claim"] == name]
        p = [row["p"] for row in rows if row["claim"] == name]
        assert len(p) <= 200
        below = max((s for s, one in zip(share, p, strict=True) if one <= 0.05), default=0.0)
        above = min((s for s, one in zip(share, p, strict=True) if one > 0.05), default=1.0)
        assert below <= pairs.reject(0.05).mean() + 1e-12
        assert above >= pairs.reject(0.05).mean() - 1e-12
        assert above - below < 0.5 if systems == 4 else above - below < 0.03
    assert np.all(np.diff(p) >= 0)


def test_where_nothing_differs_the_axis_holds_all_p_values() -> None:
    rng = np.random.default_rng(2)
    pairs = compare(anova(simulated(3) * 0.0 + rng.normal(0, 1, (30, 3, 4)), MD6), "bonferroni")
    assert pairs.p_adjusted.min() > 0.2
    drawn = p_curve_chart(pairs).to_dict()
    assert drawn["layer"][0]["encoding"]["y"]["scale"]["domain"] == [0, 1.0]
    assert len(next(rows for rows in drawn["datasets"].values() if "claim" in rows[0])) == len(pairs)
