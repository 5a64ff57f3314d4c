"""Run one task with one tool in a process of its own and print seconds and peak memory as JSON.

python -m bench.one TASK TOOL FOLDER [REPEATS]
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

MEASURES = ["AP", "P@10", "nDCG@10"]
PYTREC = {"map", "P_10", "ndcg_cut_10"}
SHARDS = 5
PIECE = 1 << 17  # bytes in which lines are counted at once


def run_paths(folder: Path) -> list[Path]:
    return sorted((folder / "runs").iterdir())


def pytrec_parse(path: Path) -> Any:
    import pytrec_eval

    with open(path) as stream:
        return pytrec_eval.parse_run(stream)


def pytrec_qrels(folder: Path) -> Any:
    import pytrec_eval

    with open(folder / "qrels.txt") as stream:
        return pytrec_eval.parse_qrel(stream)


def shard_of_document(folder: Path) -> dict[str, int]:
    """The same split for every tool."""
    import shardwise as sw

    collection = sw.read_collection(folder / "runs", folder / "qrels.txt")
    splits = sw.split(collection, SHARDS, seed=1)
    return dict(zip(collection.docnos(), splits.shards[0].tolist(), strict=True))


# Each maker imports and prepares what is not to be timed and returns the work.


def parse_shardwise(folder: Path) -> Callable[[], Any]:
    import shardwise as sw

    sw.read_collection(run_paths(folder)[:2], folder / "qrels.txt")  # load the compiled kernels
    return lambda: sw.read_collection(folder / "runs", folder / "qrels.txt")


def parse_pytrec_eval(folder: Path) -> Callable[[], Any]:
    import pytrec_eval  # noqa: F401

    return lambda: [pytrec_parse(path) for path in run_paths(folder)]


def parse_ir_measures(folder: Path) -> Callable[[], Any]:
    import ir_measures

    return lambda: [list(ir_measures.read_trec_run(str(path))) for path in run_paths(folder)]


def parse_ranx(folder: Path) -> Callable[[], Any]:
    import ranx

    ranx.Run.from_file(str(run_paths(folder)[0]), kind="trec")  # compile
    return lambda: [ranx.Run.from_file(str(path), kind="trec") for path in run_paths(folder)]


def _read_side_by_side(folder: Path, told: Callable[[memoryview], int]) -> Callable[[], int]:
    """Read all runs by as many threads as shardwise has, each into one buffer, and add up what is told of each."""
    from shardwise.core.arguments import count_workers, map_parallel

    paths, jobs = run_paths(folder), count_workers(None)
    largest = max(path.stat().st_size for path in paths) + 1

    def some(mine: list[Path]) -> int:
        room = memoryview(bytearray(largest))
        total = 0
        for path in mine:
            with open(path, "rb", buffering=0) as stream:
                size = 0
                while got := stream.readinto(room[size:]):
                    size += got
            total += told(room[:size])
        return total

    return lambda: sum(map_parallel(some, [paths[k::jobs] for k in range(jobs)], jobs=jobs))


def parse_bytes(folder: Path) -> Callable[[], Any]:
    """What no reader can be faster than."""
    return _read_side_by_side(folder, len)


def parse_lines(folder: Path) -> Callable[[], Any]:
    """The same, with every byte looked at once, by numpy and while it is in the cache."""
    import numpy as np

    def newlines(text: memoryview) -> int:
        pieces = (np.frombuffer(text[at : at + PIECE], np.uint8) for at in range(0, len(text), PIECE))
        return sum(int(np.count_nonzero(piece == 10)) for piece in pieces)

    return _read_side_by_side(folder, newlines)


def parse_wc(folder: Path) -> Callable[[], Any]:
    """The count that everybody has."""
    import subprocess

    names = [str(path) for path in run_paths(folder)]
    return lambda: subprocess.run(["wc", "-l", *names], stdout=subprocess.DEVNULL, check=True)


def parse_python(folder: Path) -> Callable[[], Any]:
    """The count that a line of Python makes: each file read into memory, and its newlines counted."""
    return lambda: sum(path.read_bytes().count(b"\n") for path in run_paths(folder))


def score_shardwise(folder: Path) -> Callable[[], Any]:
    import shardwise as sw

    sw.score(sw.read_collection(run_paths(folder)[:2], folder / "qrels.txt"), MEASURES)
    return lambda: sw.score(sw.read_collection(folder / "runs", folder / "qrels.txt"), MEASURES)


def score_pytrec_eval(folder: Path) -> Callable[[], Any]:
    import pytrec_eval

    def work() -> Any:
        evaluator = pytrec_eval.RelevanceEvaluator(pytrec_qrels(folder), PYTREC)
        return [evaluator.evaluate(pytrec_parse(path)) for path in run_paths(folder)]

    return work


def score_ir_measures(folder: Path) -> Callable[[], Any]:
    import ir_measures

    measures = [ir_measures.parse_measure(name) for name in MEASURES]

    def work() -> Any:
        evaluator = ir_measures.evaluator(
            measures, list(ir_measures.read_trec_qrels(str(folder / "qrels.txt")))
        )
        return [list(evaluator.iter_calc(ir_measures.read_trec_run(str(path)))) for path in run_paths(folder)]

    return work


def score_ranx(folder: Path) -> Callable[[], Any]:
    import ranx

    names = ["map", "precision@10", "ndcg@10"]

    def work(paths: list[Path] | None = None) -> Any:
        qrels = ranx.Qrels.from_file(str(folder / "qrels.txt"), kind="trec")
        runs = [ranx.Run.from_file(str(path), kind="trec") for path in paths or run_paths(folder)]
        return [ranx.evaluate(qrels, run, names, return_mean=False, make_comparable=True) for run in runs]

    work(run_paths(folder)[:1])  # compile
    return work


def shards_shardwise(folder: Path) -> Callable[[], Any]:
    import shardwise as sw

    collection = sw.read_collection(folder / "runs", folder / "qrels.txt")
    splits = sw.split(collection, SHARDS, seed=1)
    sw.score(collection, ["AP", "P@10"], splits)
    return lambda: sw.score(collection, ["AP", "P@10"], splits)


def shards_pytrec_eval(folder: Path) -> Callable[[], Any]:
    import pytrec_eval

    shard = shard_of_document(folder)
    qrels = pytrec_qrels(folder)
    runs = [pytrec_parse(path) for path in run_paths(folder)]

    def part(judged: Any, k: int) -> Any:
        return {t: {d: v for d, v in docs.items() if shard[d] == k} for t, docs in judged.items()}

    def work() -> Any:
        found = []
        for k in range(SHARDS):
            evaluator = pytrec_eval.RelevanceEvaluator(part(qrels, k), {"map", "P_10"})
            found.append([evaluator.evaluate(part(run, k)) for run in runs])
        return found

    return work


def table2_shardwise(folder: Path) -> Callable[[], Any]:
    """F19 Table 2: 7 shard counts x 10 splits, splitting included."""
    import shardwise as sw

    collection = sw.read_collection(folder / "runs", folder / "qrels.txt")
    sw.score(collection, ["AP"], sw.split(collection, 2, seed=1))

    def work() -> Any:
        for n_shards in (2, 3, 4, 5, 10, 25, 50):
            sw.score(collection, ["AP"], sw.split(collection, n_shards, n_splits=10, seed=1, corpus=528_155))

    return work


def main() -> None:
    task, tool, folder = sys.argv[1:4]
    repeats = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    work = globals()[f"{task}_{tool}"](Path(folder))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        kept = work()
        seconds.append(time.perf_counter() - start)
        del kept  # two results at once would count twice
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"seconds": min(seconds), "peak_mb": peak / 1024, "added_mb": (peak - before) / 1024}))


if __name__ == "__main__":
    main()
