"""Numbers stay what they were when they were frozen (``tests/gold/frozen``), whatever is rebuilt below them.

They are no gold: a cell that changes on purpose is frozen anew by name, and listed in the CHANGELOG under *Numbers
change*. Cells are compared to 1e-12, p-values below 1e-8 to 1e-6, and figures that are resampled bit for bit on the
platform where they were frozen; elsewhere to 1e-9.
"""

from __future__ import annotations

import json

import pytest

from gold.frozen import cells, make

SHOWN = 25
SAME_PLATFORM = json.loads((cells.FOLDER / "platform.json").read_text()) == make.describe_platform()


@pytest.mark.parametrize(
    "file",
    [pytest.param(name, marks=() if name in cells.FAST else pytest.mark.slow) for name in cells.FILES],
)
def test_numbers_are_those_that_were_frozen(file: str) -> None:
    stored = make.load_cells(file)
    changed = []
    for name in make.list_names(file):
        if name not in stored:
            changed.append((name, "is not frozen yet"))
            continue
        now = make.compute_cell(file, name)
        changes = make.list_changes(name, stored[name], now, same_platform=SAME_PLATFORM)
        changed += [(name, change) for change in list(changes)[:2]]
    names = list(dict.fromkeys(name for name, _ in changed))
    lines = [f"  {file}/{name}: {change}" for name, change in changed[:SHOWN]]
    assert not changed, "\n".join(
        [
            f"{len(names)} of {len(stored)} frozen cells of {file} changed:",
            *lines,
            *(["  …"] if len(changed) > SHOWN else []),
            "if that was meant, freeze them anew and list them in the CHANGELOG under Numbers change:",
            f'  make freeze CELLS="{" ".join(repr(f"{file}/{name}") for name in names[:SHOWN])}"',
        ]
    )
