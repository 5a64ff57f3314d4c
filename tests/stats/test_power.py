"""Degrees of freedom of the moderated test that is planned."""

from __future__ import annotations

import pytest

from shardwise.stats.power import moderated_df


def test_degrees_of_freedom_between_own_and_pooled() -> None:
    w, df = moderated_df(50.0, 10)
    assert w == pytest.approx(49 / 69)
    assert 49.0 < df < 49.0 * 9
    assert moderated_df(50.0, 10, prior_df=0.0)[1] == pytest.approx(49.0)
    assert moderated_df(50.0, 10, prior_df=1e12)[1] == pytest.approx(49.0 * 9)
