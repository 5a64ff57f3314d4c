"""Where the precision of scores decides about the order, a note says what the other one would change."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from shardwise.io.reader import read_collection
from shardwise.scoring.scoring import describe_conventions, score
from shardwise.scoring.streamed import score_runs

QRELS = {"1": {"a": 1, "b": 0, "c": 1}, "2": {"a": 0, "b": 1}}
# single precision cannot tell these scores apart, and takes b before a
CLOSE = {"1": {"a": 1.0 + 1e-9, "b": 1.0, "c": 0.5}, "2": {"b": 2.0, "a": 1.0}}
CLEAR = {"1": {"a": 3.0, "b": 2.0, "c": 1.0}, "2": {"b": 2.0, "a": 1.0}}


def test_runs_that_change_are_counted() -> None:
    runs = {"close": CLOSE, "clear": CLEAR, "tied": {"1": {"a": 1.0, "b": 1.0}, "2": {"b": 1.0}}}
    scores = score(read_collection(runs, QRELS), ["AP", "P@3"])
    assert scores.attrs["changed_systems"] == 1
    # ranks 2, 3 against 1, 3: AP (1/2 + 2/3) / 2 against (1 + 2/3) / 2 on one of two topics
    assert scores.attrs["largest_change"] == pytest.approx(0.125)
    assert describe_conventions(scores)[1] == "1 of 3 runs changes under trec_eval-10, by at most 0.1."
    double = score(read_collection(runs, QRELS, like="trec_eval-10"), ["AP", "P@3"])
    assert double["AP"].sel(topic="1", system="close") == pytest.approx((1 + 2 / 3) / 2)
    assert describe_conventions(double)[1] == "1 of 3 runs changes under trec_eval-9, by at most 0.1."


def test_nothing_is_said_where_nothing_changes() -> None:
    scores = score(read_collection({"clear": CLEAR}, QRELS), "AP")
    assert "changed_systems" not in scores.attrs
    assert len(describe_conventions(scores)) == 1
    # the order differs, the measure does not
    scores = score(read_collection({"close": CLOSE}, QRELS), "P@3")
    assert "changed_systems" not in scores.attrs


def test_runs_scored_in_parts_say_the_same(tmp_path: Path) -> None:
    files = []
    for name, run in {"close": CLOSE, "clear": CLEAR}.items():
        lines = [f"{t} Q0 {d} 1 {s!r} {name}" for t, docs in run.items() for d, s in docs.items()]
        files.append(tmp_path / name)
        files[-1].write_text("\n".join(lines) + "\n")
    whole = score(read_collection([str(file) for file in files], QRELS), "AP")
    parts = score_runs([str(file) for file in files], QRELS, "AP", at_once=1)
    assert describe_conventions(parts) == describe_conventions(whole)
    np.testing.assert_array_equal(parts["AP"], whole["AP"])


def test_orders_by_rank_and_by_ascending_names(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.write_text("1 Q0 a 3 1.0 t\n1 Q0 b 1 1.0 t\n1 Q0 c 2 1.0 t\n")
    orders = {}
    for order in ("score", "ascending", "rank"):
        collection = read_collection([str(run)], QRELS, order=order)  # type: ignore[arg-type]
        names = collection.docnos()
        orders[order] = "".join(names[code] for code in collection.ranking(0, 0))
    assert orders == {"score": "cba", "ascending": "abc", "rank": "bca"}
