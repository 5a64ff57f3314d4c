"""Freeze numbers: ``make freeze CELLS="plain/t* gates/*"``, or ``PYTHONPATH=tests python -m gold.frozen.make CELL…``.

The files beside this one hold what the public interface gives for small tables: every method, correction and layout,
plans, gates, scores and more. They stand for no truth; they are what the package said when they were written, so that
a rebuilt package can be held against them (``tests/test_frozen.py``). Cells that change on purpose are frozen anew by
name, with patterns of the shell; nothing else is touched. A name without a pattern that is not there yet is added.
A cell that the package refuses is kept as refused, so that what disappears can be seen.

``--names`` adds the procedures that the registry lists and the files lack; ``--delete`` deletes the cells named.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import sys
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import scipy
import threadpoolctl

import shardwise as sw
from gold.frozen import cells
from gold.frozen.cells import FOLDER, REFUSED, Cell

NEAR, FAR = 1e-12, 1e-9
"""Relative tolerance on the platform where the numbers were frozen, and elsewhere."""
SMALL_P, NEAR_SMALL_P = 1e-8, 1e-6
"""A p-value below the first is a difference of nearly equal numbers, and compared by the second."""
INVERTED, NEAR_INVERTED = "banova", 2e-13
"""p-values of the ideal bootstrap come from a Fourier transform, whose error is absolute and not the same in every
process."""
RESAMPLED = "resampled"
"""Key of the columns that depend on the seed, which are compared bit for bit."""
P_VALUES = ("p", "p_adjusted")


def describe_platform() -> dict[str, str]:
    """Return what decides the last bits of a number: processor, libraries, kernels of linear algebra."""
    kernels = {info.get("architecture", "") for info in threadpoolctl.threadpool_info()} - {"", None}
    return {
        "system": f"{platform.system()} {platform.machine()} {' '.join(platform.libc_ver()[:1])}",
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "kernels": " ".join(sorted(kernels)),
    }


def load_cells(name: str) -> dict[str, Cell]:
    """Return the stored cells of a file; a column that another cell has too is written once."""
    path = FOLDER / f"{name}.json"
    stored = json.loads(path.read_text("utf-8")) if path.exists() else {}
    for cell in stored.values():
        for column, values in cell.items():
            if isinstance(values, str):
                cell[column] = stored[values.removeprefix("= ")][column]
    return stored


def save_cells(name: str, stored: dict[str, Cell]) -> None:
    """Write the cells of a file, one line each; columns equal to those of an earlier cell name it."""
    first: dict[tuple[str, str], str] = {}
    lines = []
    for cell_name, cell in stored.items():
        shown: dict[str, Any] = {}
        for column, values in cell.items():
            text = json.dumps(values)
            owner = first.setdefault((column, text), cell_name)
            short = owner != cell_name and len(text) > len(owner) + 4
            shown[column] = f"= {owner}" if short else values
        lines.append(f"{json.dumps(cell_name)}: {json.dumps(shown)}")
    (FOLDER / f"{name}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")


def compute_cell(file: str, name: str, seed: int = 0) -> Cell:
    """Return the figures of a cell as they are now."""
    try:
        return cells.compute(file, name, seed)
    except sw.InputError:
        return REFUSED


def freeze_cell(file: str, name: str) -> Cell:
    """Return the figures of a cell to be stored, with the columns that depend on the seed."""
    cell, other = compute_cell(file, name), compute_cell(file, name, seed=1)
    resampled = [column for column in cell if json.dumps(cell[column]) != json.dumps(other.get(column))]
    return cell | ({RESAMPLED: resampled} if resampled else {})


def list_changes(name: str, stored: Cell, now: Cell, *, same_platform: bool) -> Iterator[str]:
    """Yield a line for each column of a cell that differs by more than rounding."""
    inverted = INVERTED in name.split()
    if set(now) != set(stored) - {RESAMPLED}:
        if "refused" in now or "refused" in stored:
            yield "refused now" if "refused" in now else "refused before, accepted now"
            return
        lost, new = set(stored) - {RESAMPLED} - set(now), set(now) - set(stored)
        yield "; ".join(
            f"{word} {', '.join(sorted(names))}" for word, names in (("lacks", lost), ("adds", new)) if names
        )
    for column in sorted((set(now) & set(stored)) - {RESAMPLED}, key=list(stored).index):
        is_p = column.split(".")[-1] in P_VALUES
        bitwise = same_platform and column in stored.get(RESAMPLED, ())
        allowed = (
            [0.0] * len(stored[column]) if bitwise else allow_errors(stored[column], is_p, same_platform)
        )
        if is_p and inverted:
            allowed = [max(error, NEAR_INVERTED) for error in allowed]
        if change := compare_columns(stored[column], now[column], allowed):
            yield f"{column}{change}"


def allow_errors(values: list[Any], is_p: bool, same_platform: bool) -> list[float]:
    """Return by how much each figure of a column may differ."""
    tolerance = NEAR if same_platform else FAR
    numbers = [abs(x) if is_number(x) and math.isfinite(x) else 0.0 for x in values]
    if is_p:
        return [(NEAR_SMALL_P if x < SMALL_P else tolerance) * x for x in numbers]
    # a limit near 0 is a difference of larger numbers: a figure is as exact as the largest of its column
    return [tolerance * max(numbers, default=0.0)] * len(numbers)


def compare_columns(old: list[Any], new: list[Any], allowed: list[float]) -> str:
    """Return how a column differs, empty where it does not."""
    if len(old) != len(new):
        return f": {len(old)} values before, {len(new)} now"
    for position, (before, after, error) in enumerate(zip(old, new, allowed, strict=True)):
        if before == after:
            continue
        if is_number(before) and is_number(after):
            if math.isnan(before) and math.isnan(after):
                continue
            if abs(after - before) <= error:
                continue
        return f"[{position}]: {before!r} before, {after!r} now"
    return ""


def is_number(value: Any) -> bool:
    """Return whether a figure is a number; a truth value is a word."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def list_names(file: str) -> list[str]:
    """Return the names of a file: those that are stored, and those that `cells` lists."""
    return list(dict.fromkeys([*load_cells(file), *cells.list_names(file)]))


def list_registered(file: str) -> list[str]:
    """Return the procedures that the registry has for a layout, none for other files."""
    if file not in cells.LAYOUTS:
        return []
    dims = set(cells.LAYOUTS[file].table().dims)
    left_out = set() if file in cells.IN_FULL else set(cells.FURTHER_CORRECTIONS)
    return [
        name
        for name, procedure in sw.methods.list_procedures().items()
        if any(set(layout) == dims for layout in procedure.layouts) and not left_out & set(name.split())
    ]


def choose_names(file: str, patterns: Sequence[str], add_names: bool) -> list[str]:
    """Return the cells of a file to be frozen: those that match, those named in full, and new procedures."""
    known = list_names(file)
    chosen = [name for name in known if matches(file, name, patterns)]
    named = [name for folder, _, name in (pattern.partition("/") for pattern in patterns) if folder == file]
    chosen += [name for name in named if name and not {"*", "?"} & set(name)]
    if add_names:
        stored = load_cells(file)
        chosen += [name for name in (*known, *list_registered(file)) if name not in stored]
    return list(dict.fromkeys(chosen))


def matches(file: str, name: str, patterns: Sequence[str]) -> bool:
    """Return whether a cell matches one of some patterns of the shell."""
    return any(fnmatchcase(f"{file}/{name}", pattern) for pattern in patterns)


def freeze(patterns: Sequence[str], add_names: bool = False) -> int:
    """Freeze the cells that match, print how they changed, and return their number."""
    count = 0
    for file in cells.FILES:
        names = choose_names(file, patterns, add_names)
        stored = load_cells(file)
        for name in names:
            cell = freeze_cell(file, name)
            before = stored.get(name)
            changes = ["new"] if before is None else list_changes(name, before, cell, same_platform=True)
            for change in changes:
                print(f"{file}/{name}: {change}")
            stored[name] = cell
        if names:
            save_cells(file, stored)
        count += len(names)
    return count


def delete(patterns: Sequence[str]) -> int:
    """Delete the stored cells that match, and return their number."""
    count = 0
    for file in cells.FILES:
        stored = load_cells(file)
        kept = {name: cell for name, cell in stored.items() if not matches(file, name, patterns)}
        if len(kept) < len(stored):
            save_cells(file, kept)
        count += len(stored) - len(kept)
    return count


def main() -> int:
    """Freeze the cells that the command line names."""
    parser = argparse.ArgumentParser(prog="gold.frozen.make", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("cells", nargs="*", help="cells, as in 'plain/t holm', or patterns, as in 'gates/*'")
    parser.add_argument(
        "--names", action="store_true", help="add procedures of the registry that no file has"
    )
    parser.add_argument("--delete", action="store_true", help="delete the cells")
    arguments = parser.parse_args()
    if not (arguments.cells or arguments.names):
        parser.error("name the cells to freeze, such as 'plain/t holm' or 'gates/*'")
    if arguments.delete:
        print(f"{delete(arguments.cells)} cells deleted")
        return 0
    count = freeze(arguments.cells, arguments.names)
    print(f"{count} cells frozen")
    if not count:
        print("no cell has such a name")
        return 2
    return note_platform(everything="*" in arguments.cells)


def note_platform(everything: bool) -> int:
    """Record where all numbers come from; where only some come from another platform, say so."""
    here, path = describe_platform(), FOLDER / "platform.json"
    if everything or not path.exists():
        path.write_text(json.dumps(here, indent=1) + "\n")
    elif json.loads(path.read_text()) != here:
        print(
            f"other cells were frozen elsewhere ({path.read_text()}): resampled ones may differ there in the last bit"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
