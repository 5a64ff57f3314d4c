"""The bars are the sums of squares of the table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from report_pages import simulated
from shardwise.core.model import MD6
from shardwise.methods.anova.fit import anova
from shardwise.plot.fits import variance_share_chart
from shardwise.plot.saving import save_chart


def test_shares_of_a_full_table_add_up_to_one() -> None:
    fit = anova(simulated(4), MD6)
    (rows,) = variance_share_chart(fit).to_dict()["datasets"].values()
    assert [row["term"] for row in rows] == [*MD6.terms, "error"]
    assert np.isclose(sum(row["share"] for row in rows), 1.0)
    assert np.allclose([row["ss"] for row in rows], fit.table["ss"].iloc[:-1])


def test_scores_that_do_not_vary_have_no_shares() -> None:
    flat = anova(xr.DataArray(np.full((3, 3), 0.5), dims=("topic", "system")), "topic + system")
    (rows,) = variance_share_chart(flat).to_dict()["datasets"].values()
    assert [row["share"] for row in rows] == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(("ending", "start"), [(".svg", b"<svg"), (".png", b"\x89PNG")])
def test_it_is_saved(tmp_path: Path, ending: str, start: bytes) -> None:
    save_chart(variance_share_chart(anova(simulated(4), MD6)), tmp_path / f"v{ending}")
    assert (tmp_path / f"v{ending}").read_bytes().startswith(start)
