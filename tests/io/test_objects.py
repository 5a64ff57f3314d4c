"""Results of other programs, and judgments by name."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections import namedtuple
from io import StringIO
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest

import shardwise as sw

QRELS = {"1": {"a": 1, "b": 0}, "2": {"c": 2}}
RUN = {"1": {"a": 1.0, "b": 2.0}, "2": {"c": 1.0}}


def test_pytrec_eval_of_one_system_and_of_several_measures() -> None:
    pytrec_eval = pytest.importorskip("pytrec_eval")
    results = pytrec_eval.RelevanceEvaluator(QRELS, {"map", "recip_rank"}).evaluate(RUN)
    found = sw.as_scores(results, measure="map")
    assert dict(found.sizes) == {"topic": 2, "system": 1}
    assert found.values.ravel().tolist() == [0.5, 1.0]
    both = sw.as_scores({"x": results, "y": results}, measure="recip_rank")
    assert both.systems == ("x", "y")
    with pytest.raises(sw.InputError, match="2 measures"):
        sw.as_scores({"x": results, "y": results})


def test_ir_measures_of_one_system() -> None:
    ir_measures = pytest.importorskip("ir_measures")
    found = sw.as_scores(list(ir_measures.iter_calc([ir_measures.AP], QRELS, RUN)))
    assert sorted(found.values.ravel().tolist()) == [0.5, 1.0]


RANX = """
    import ranx
    import shardwise as sw

    run, qrels = {run}, {qrels}
    runs = [ranx.Run(run, name="x"), ranx.Run(run, name="y")]
    for late in (lambda: runs, lambda: ranx.compare(ranx.Qrels(qrels), runs, metrics=["map"])):
        try:
            sw.as_scores(late())
        except sw.InputError as error:
            print(error)
    print(sw.as_scores(runs).select_systems(["y"]).values.ravel().tolist())
    collections = sw.read_collection(runs[:1], ranx.Qrels(qrels)), sw.read_collection({{"x": run}}, qrels)
    print(*(sw.score(one, "AP").AP.values.tolist() for one in collections))
"""


def test_a_ranx_report_has_means_only_and_its_runs_have_scores() -> None:
    """In a process without compilation: ranx would take half a minute to compile."""
    pytest.importorskip("ranx")
    program = textwrap.dedent(RANX).format(run=RUN, qrels=QRELS)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines() == [
        "run 'x' was not evaluated; call ranx.evaluate(qrels, run, metrics) first",
        "a ranx Report contains only aggregate means; give its runs, which keep the scores: [run_1, run_2]",
        "[0.5, 1.0]",
        "[[0.5], [1.0]] [[0.5], [1.0]]",
    ], done.stderr


def test_an_experiment_of_means_is_refused_with_the_remedy() -> None:
    means = pd.DataFrame({"name": ["bm25", "dph"], "map": [0.3, 0.4], "ndcg": [0.5, 0.6]})
    with pytest.raises(sw.InputError, match=r"means.*pt.Experiment\(…, perquery=True\)"):
        sw.as_scores(means)


Qrel = namedtuple("Qrel", ["query_id", "doc_id", "relevance", "iteration"])


class Dataset:
    """What ir_datasets has, as small as can be."""

    def qrels_iter(self) -> Any:
        return (Qrel(topic, doc, grade, "0") for topic, row in QRELS.items() for doc, grade in row.items())


def load(name: str) -> Any:
    if name == "nothing":
        raise KeyError(name)
    return Dataset()


def test_judgments_of_ir_datasets(monkeypatch: pytest.MonkeyPatch) -> None:
    package: Any = ModuleType("ir_datasets")
    package.load = load
    monkeypatch.setitem(sys.modules, "ir_datasets", package)
    wanted = sw.score(sw.read_collection({"x": RUN}, QRELS), "AP")["AP"]
    for qrels in ("irds:small/test", Dataset()):
        found = sw.score(sw.read_collection({"x": RUN}, qrels), "AP")["AP"]
        np.testing.assert_array_equal(found, wanted)
    with pytest.raises(sw.InputError, match="ir_datasets knows no 'nothing'"):
        sw.read_collection({"x": RUN}, "irds:nothing")
    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    with pytest.raises(sw.InputError, match=r"; run pip install ir-datasets$"):
        sw.read_collection({"x": RUN}, "irds:small/test")


def test_a_collection_is_scored_by_the_measure_asked_for() -> None:
    collection = sw.read_collection({"x": RUN, "y": {"1": {"a": 3.0}, "2": {"c": 1.0}}}, QRELS)
    for measure in ("AP", "RR"):
        wanted = sw.score(collection, measure)[measure]
        np.testing.assert_array_equal(sw.as_scores(collection, measure=measure).values, wanted)
    assert sw.as_scores(collection).measure.name == "AP"


def test_a_wide_frame_with_an_index_is_read_without_a_warning() -> None:
    wide = pd.read_csv(
        StringIO(
            "topic,"
            + ",".join(f"s{k}" for k in range(126))
            + "\n"
            + "\n".join(
                f"t{k}," + ",".join(f"{(k * 7 + j * 3) % 11 / 10}" for j in range(126)) for k in range(3)
            )
        ),
        index_col=0,
    )
    assert sw.read_scores(wide).sizes == {"topic": 3, "system": 126}
