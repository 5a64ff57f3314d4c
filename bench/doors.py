"""Whether result files of other tools are read at the first try, with the means that were computed beside them.

    python bench/doors.py                # every set of files and measure
    python bench/doors.py --only promptfoo

The folder holds ``expected.json``: {tool: {files: {measure: {system: {items, mean}}}}}.
"""

from __future__ import annotations

import argparse
import json
import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import xarray as xr

from shardwise.core.errors import InputError
from shardwise.io.reader import read_collection
from shardwise.io.scores import are_score_files, read_scores, score_files
from shardwise.scoring.scoring import score

DATA = Path(os.environ.get("SHARDWISE_DATA", Path(__file__).parents[2] / "shared" / "data"))
MEASURES = {
    "win rate (preference - 1)": "win", "base pass@1": "base", "plus pass@1 (base and plus passed)": "plus",
    "pass@1 (mean of samples per task)": "passed", "resolved / total_instances": "resolved",
    "resolved / submitted_instances": "resolved,submitted", "resolved (true/false)": "resolved",
    "score, mean over turns (and repeated judgments) of a question": "score",
    "main_score of split test, mean over subsets of a task, item = task": "main_score",
}  # fmt: skip
RANX = {"map": "AP", "ndcg@10": "nDCG@10", "mrr": "RR", "precision@10": "P@10"}
LATER = ("pass@2 (unbiased)", "score, all judgments", "the same on tasks all models have", "win share")
"""Measures that are another way of counting, or are not read as scores."""


def split_measure(tool: str, measure: str) -> tuple[str, str]:
    """Return the task and the measure that a name in the expectations stands for."""
    measure = MEASURES.get(measure, measure)
    if tool == "every_eval_ever":
        task, _, name = measure.partition(" / ")
        return task, name or "score"
    if " / " in measure:
        task, _, name = measure.partition(" / ")
        task = "" if tool == "openai_evals" else task
        return task, name.replace(", ", ",")
    return "", measure


def list_cases(folder: Path) -> Iterator[tuple[str, str, dict[str, Any], list[Path]]]:
    """Yield tool, files, expectations and paths."""
    expected = json.loads((folder / "expected.json").read_text())
    for tool, sets in expected.items():
        for files, measures in sets.items():
            for group in re.split(r"; ", files):
                stems = [part.strip() for part in group.replace(" (and the same as *.jsonl)", "").split(", ")]
                for stem in stems:
                    pattern = stem if not stem.startswith(".") else stems[0].rpartition(".")[0] + stem
                    if pattern == "qrels.json + <run>.json":
                        yield tool, pattern, measures, sorted((folder / tool).glob("[!r]*.json"))
                        continue
                    yield tool, pattern, measures, sorted((folder / tool).glob(pattern))


def check_case(tool: str, measure: str, systems: dict[str, Any], paths: list[Path]) -> str:
    """Return what is wrong with the reading of one measure; nothing where it is right."""
    task, name = split_measure(tool, measure)
    options = {"task": task} if task else {}
    tolerance = 1e-6
    try:
        if tool == "ranx":
            # documents of equal scores may be ordered otherwise
            tolerance = 1e-3
            runs = [path for path in paths if path.stem != "qrels"]
            collection = read_collection(runs, next(path for path in paths if path.stem == "qrels"))
            scores = score(collection, RANX[name])[RANX[name]]
        else:
            scores = read_scores(paths, measure=name, **options)
    except InputError as error:
        if "no measure" in str(error) and "," in name:
            scores = read_scores(paths, measure=name.split(",")[0], **options)
        else:
            return f"refused: {error}"
    assert isinstance(scores, xr.DataArray)
    others = [dim for dim in scores.dims if dim not in ("topic", "system")]
    table = scores.mean(others) if others else scores
    names = [str(system) for system in table["system"].values]
    if set(names) != set(systems):
        return f"systems {names[:5]} instead of {list(systems)[:5]}"
    for system, wanted in systems.items():
        column = table.sel(system=system).dropna("topic")
        if column.size != wanted["items"] or abs(float(column.mean()) - wanted["mean"]) > tolerance:
            return f"{system}: {column.size} items, {float(column.mean()):.4f} instead of {wanted}"
    return ""


def main() -> None:
    """Print a line for each set of files and measure, then the counts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path, default=DATA / "doors")
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    counts: Counter[str] = Counter()
    for tool, files, measures, paths in list_cases(arguments.folder):
        if arguments.only not in tool:
            continue
        try:
            first = read_scores(paths) if are_score_files(score_files(paths)) else None
            said = (
                str(
                    (
                        first if isinstance(first, xr.DataArray) else next(iter(first.data_vars.values()))
                    ).attrs["read_as"]
                )
                if first is not None
                else "runs"
            )
        except InputError as error:
            said = f"REFUSED {error}"
        print(f"{tool:16} {files:44} {said[:250].replace(str(arguments.folder), '')}")
        for measure, systems in measures.items():
            if not systems or measure.startswith(LATER) or tool in ("votes",):
                continue
            problem = check_case(tool, measure, systems, paths)
            counts["wrong" if problem else "right"] += 1
            if problem:
                print(f"    WRONG {measure}: {problem[:300].replace(str(arguments.folder), '')}")
    print(dict(counts))


if __name__ == "__main__":
    main()
