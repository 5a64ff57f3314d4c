"""How many tables with a known truth are read exactly, refused or misread.

    python bench/reading.py                     # every file, then the counts
    python bench/reading.py --only misread      # those that need work
    python bench/reading.py --folder some/where # another folder with a truth.json

A folder holds tables and ``truth.json``: {case: {files, expect, items, systems, cells, scale}}, where ``expect`` is
``read``, ``refuse`` or ``read or refuse``.
"""

from __future__ import annotations

import argparse
import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from shardwise.core.errors import InputError
from shardwise.io.scores import read_scores

DATA = Path(os.environ.get("SHARDWISE_DATA", Path(__file__).parents[2] / "shared" / "data"))


def judge_case(folder: Path, case: dict[str, Any]) -> tuple[str, str]:
    """Return exact, refused, misread or crash for one case, and what the reader says."""
    files = [folder / name for name in case["files"]]
    try:
        scores = read_scores(files if len(files) > 1 else files[0])
    except InputError as error:
        return "refused", str(error)
    except Exception as error:
        return "crash", f"{type(error).__name__}: {error}"
    if isinstance(scores, xr.Dataset):
        primary = scores.attrs.get("primary")
        if primary is None:
            names = ", ".join(map(str, scores.data_vars))
            matches = [judge_scores(scores[name], case) for name in scores.data_vars]
            said = f"measures {names}; {next(iter(scores.data_vars.values())).attrs['read_as']}"
            return ("several" if not matches[0] else "misread"), said
        scores = scores[primary].assign_attrs({**scores.attrs, **scores[primary].attrs})
    problem = judge_scores(scores, case)
    said = str(scores.attrs["read_as"])
    return ("misread", f"{problem} | {said}") if problem else ("exact", said)


def judge_scores(scores: xr.DataArray, case: dict[str, Any]) -> str:
    """Return what differs between scores and the truth; an empty text where nothing does."""
    if case["expect"] == "refuse":
        return f"should be refused: {case.get('reason')}"
    extra = [dim for dim in scores.dims if dim not in ("topic", "system")]
    table = scores.mean(extra) if extra else scores
    systems = [str(name) for name in table["system"].values]
    if sorted(systems) != sorted(case["systems"]):
        return f"systems {systems[:6]} instead of {list(case['systems'])[:6]}"
    if table.sizes["topic"] != case["items"]:
        return f"{table.sizes['topic']} items instead of {case['items']}"
    for factor in case.get("scale") or [1]:
        if all(
            _same_cells(table.sel(system=name).values, cells, factor) for name, cells in case["cells"].items()
        ) and _same_rows(table, case, factor):
            return ""
    return "other scores"


def _same_cells(values: np.ndarray, cells: list[float | None], factor: float) -> bool:
    expected = np.sort([np.nan if cell is None else cell * factor for cell in cells])
    return bool(np.allclose(np.sort(values), expected, rtol=1e-9, atol=1e-12, equal_nan=True))


def _same_rows(table: xr.DataArray, case: dict[str, Any], factor: float) -> bool:
    names = sorted(case["cells"])
    expected = [[np.nan if cell is None else cell * factor for cell in case["cells"][name]] for name in names]
    rows = [tuple(np.round(row, 9)) for row in np.array(expected, dtype=float).T.tolist()]
    read = [
        tuple(np.round(row, 9))
        for row in table.sel(system=names).transpose("topic", "system").values.tolist()
    ]
    return Counter(map(str, rows)) == Counter(map(str, read))


def main() -> None:
    """Print a line for each case, then counts by what was expected."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path, default=DATA / "spreadsheets")
    parser.add_argument("--only", default="", help="exact, refused, misread, several or crash")
    parser.add_argument("--match", default="", help="part of the name of a case")
    arguments = parser.parse_args()
    truth = json.loads((arguments.folder / "truth.json").read_text())
    counts: Counter[tuple[str, str]] = Counter()
    for name, case in truth.items():
        if arguments.match not in name:
            continue
        outcome, said = judge_case(arguments.folder, case)
        counts[case["expect"], outcome] += 1
        if arguments.only in ("", outcome, f"{case['expect']}:{outcome}"):
            print(f"{outcome:8} {case['expect']:15} {name:36} {said[:260]}")
    for (expected, outcome), count in sorted(counts.items()):
        print(f"{expected:15} {outcome:8} {count:4}")


if __name__ == "__main__":
    main()
