"""Degrees of freedom of the moderated test that is planned."""

from __future__ import annotations

import pytest

from shardwise.stats import moderation
from shardwise.stats.power import moderated_df


def test_degrees_of_freedom_between_own_and_pooled(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 49.0 < moderated_df(50.0, 10) < 49.0 * 9
    monkeypatch.setattr(moderation, "PRIOR_DF", 0.0)
    assert moderated_df(50.0, 10) == pytest.approx(49.0)
    monkeypatch.setattr(moderation, "PRIOR_DF", 1e12)
    assert moderated_df(50.0, 10) == pytest.approx(49.0 * 9)
