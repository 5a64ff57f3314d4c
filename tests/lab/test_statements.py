"""The laboratory of statements: it sees what breaks them, and finds nothing where they hold."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from shardwise.core.errors import InputError
from shardwise.lab import statements
from shardwise.lab.statements import check_statements
from shardwise.stats import intervals


def answers(items: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(4)
    hard = rng.normal(size=(items, 1))
    y = 0.7 * hard + 0.7 * rng.normal(size=(items, 3)) < [1.0, 1.1, 1.3]
    return pd.DataFrame(y.astype(float), columns=["x", "y", "z"])


def test_statements_hold_on_right_and_wrong_answers() -> None:
    found = check_statements(answers(), margin=0.05, repetitions=120, seed=1)
    assert found.holds, str(found)
    table = found.to_frame().set_index("statement")
    assert table.loc["no worse, at a loss of the margin", "measured"] < 0.08
    assert table.loc["all rank ranges cover", "measured"] > 0.93
    assert len(table) == 8
    one, same = (check_statements(answers(), margin=0.05, repetitions=20, seed=1).table for _ in range(2))
    pd.testing.assert_frame_equal(one, same)


def test_a_gate_that_takes_unseen_failures_for_impossible_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Student's interval in place of the score test: a loss of the margin passes far too often."""
    y = 0.9 + 0.001 * np.random.default_rng(1).random((40, 2))
    y[0, 1] = 0.0
    frame = pd.DataFrame(y, columns=["old", "new"])
    careful = check_statements(frame, margin=0.02, repetitions=150).table.set_index("statement")
    monkeypatch.setattr(statements, "find_range", lambda scores: None)
    careless = check_statements(frame, margin=0.02, repetitions=150).table.set_index("statement")
    name = "no worse, at a loss of the margin"
    assert not careful.loc[name, "exceeded"]
    assert careless.loc[name, "exceeded"]
    assert careless.loc[name, "measured"] > 0.2


def test_intervals_that_are_too_short_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = intervals.mean_limits
    monkeypatch.setattr(
        intervals, "mean_limits", lambda moments, critical, **how: plain(moments, 0.5 * critical, **how)
    )
    found = check_statements(answers(), margin=0.05, repetitions=120).table.set_index("statement")
    assert found.loc["interval of a mean covers it", "exceeded"]


def test_scores_without_bounds_and_with_gaps() -> None:
    rng = np.random.default_rng(3)
    y = rng.normal(50, 10, (40, 1)) + rng.normal([0, 2, 4], 5, (40, 3))
    y[2, 1] = np.nan
    found = check_statements(pd.DataFrame(y, columns=list("abc")), margin=1.0, repetitions=60)
    assert "39 topics" in found.scores
    assert found.table["measured"].between(0, 1).all()
    with pytest.raises(InputError, match="too few topics"):
        check_statements(pd.DataFrame({"a": [1.0, np.nan, 0.0], "b": [0.5, 0.5, 0.2]}))


def test_only_the_statements_that_are_made_are_checked() -> None:
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(rng.normal([0, 0, 0.5, 1], 1, (30, 4)), columns=list("abcd"))
    few = {"repetitions": 40, "kinds": ("intervals", "power")}
    every = set(check_statements(frame, **few).table["statement"])
    assert {"all rank ranges cover", "planned power of 80% reached"} <= every
    with_base = check_statements(frame, baseline="b", **few)
    assert set(with_base.table["statement"]) == {
        "interval of a mean covers it",
        "all intervals of differences cover",
        "significantly better, but worse",
    }
    holm = check_statements(frame, method="t holm", **few)
    assert set(holm.table["statement"]) == every - {"planned power of 80% reached"}
    single = check_statements(frame, method="t none", **few)
    assert single.table["statement"].tolist()[1] == "interval of a difference covers it"
    with pytest.raises(InputError, match="unknown"):
        check_statements(frame, baseline="z", **few)


def test_score_limits_are_the_ones_that_are_checked_where_few_items_differ() -> None:
    """Two systems that disagree on one of 40 items: symmetric intervals miss the truth far too often."""
    y = np.ones((40, 2))
    y[:1, 1] = 0.0
    frame = pd.DataFrame(y, columns=["old", "new"])
    found = check_statements(frame, kinds=("intervals",), repetitions=150).table.set_index("statement")
    assert found.loc["all intervals of differences cover", "measured"] > 0.9
