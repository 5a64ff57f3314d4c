"""Numbers stay what they were when they were frozen (``tests/gold/frozen``), whatever is rebuilt below them.

They are no gold: a cell that changes on purpose is frozen anew by name, and listed in the CHANGELOG under *Numbers
change*. Cells are compared to 1e-12, p-values below 1e-8 to 1e-6, and figures that are resampled bit for bit on the
platform where they were frozen; elsewhere to 1e-9.
"""

from __future__ import annotations

import json
from pathlib import Path

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
    changes = {
        name: ["is not frozen yet"]
        if name not in stored
        else list(
            make.list_changes(name, stored[name], make.compute_cell(file, name), same_platform=SAME_PLATFORM)
        )
        for name in make.list_names(file)
    }
    changed = {name: lines for name, lines in changes.items() if lines}
    assert not changed, describe_changes(file, changed, len(stored))


def describe_changes(file: str, changed: dict[str, list[str]], count: int) -> str:
    """Return which cells changed, how, and how to freeze them anew."""
    lines = [f"  {file}/{name}: {'; '.join(changes[:2])}" for name, changes in changed.items()]
    # a quote within a name is any character of a pattern
    quoted = ["'{}/{}'".format(file, name.replace("'", "?").replace('"', "?")) for name in changed]
    cells_named = " ".join(quoted) if len(quoted) <= SHOWN else f"'{file}/*'"
    return "\n".join(
        [
            f"{len(changed)} of {count} frozen cells of {file} changed:",
            *lines[:SHOWN],
            *(["  …"] if len(lines) > SHOWN else []),
            "if that was meant, freeze them anew and list them in the CHANGELOG under Numbers change:",
            f'  make freeze CELLS="{cells_named}"',
        ]
    )


STORED = {
    "pair": ["A B", "A C"],
    "lower": [0.5, 1e-9],
    "df": [13.0, float("nan")],
    "p": [0.04, 1e-10],
    "p_adjusted": [0.08, 0.02],
    "resampled": ["p_adjusted"],
}


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"lower": [0.5 + 1e-13, 1e-9 + 1e-13]}, ""),
        ({"lower": [0.5 + 1e-11, 1e-9]}, "lower[0]: 0.5 before, 0.50000000001 now"),
        ({"p": [0.04, 1.0000001e-10]}, ""),
        ({"p": [0.04, 1.00001e-10]}, "p[1]: 1e-10 before, 1.00001e-10 now"),
        ({"p": [0.04 + 1e-12, 1e-10]}, "p[0]: 0.04 before, 0.040000000001 now"),
        ({"p_adjusted": [0.08, 0.02 + 2**-58]}, "p_adjusted[1]: 0.02 before, 0.020000000000000004 now"),
        ({"df": [13.0, 12.0]}, "df[1]: nan before, 12.0 now"),
        ({"pair": ["A B", "C A"]}, "pair[1]: 'A C' before, 'C A' now"),
        ({"pair": ["A B"]}, "pair: 2 values before, 1 now"),
        ({"se": [0.1, 0.1]}, "adds se"),
    ],
)
def test_what_counts_as_a_change(change: dict[str, list[object]], line: str) -> None:
    now = {name: list(values) for name, values in STORED.items() if name != "resampled"} | change
    assert "; ".join(make.list_changes("t holm", STORED, now, same_platform=True)) == line


def test_elsewhere_resampled_figures_may_differ_in_the_last_bits() -> None:
    now = {name: list(values) for name, values in STORED.items() if name != "resampled"}
    now |= {"p_adjusted": [0.08, 0.02 + 2**-58], "lower": [0.5 + 1e-11, 1e-9]}
    assert not list(make.list_changes("t holm", STORED, now, same_platform=False))
    assert list(make.list_changes("t holm", STORED, make.REFUSED, same_platform=False)) == ["refused now"]


def test_a_failure_names_the_cells_and_how_to_freeze_them() -> None:
    text = describe_changes("scores", {"AP(norm='min')@5": ["value[0]: 0.1 before, 0.2 now"]}, 90)
    assert "scores/AP(norm='min')@5: value[0]: 0.1 before, 0.2 now" in text
    assert text.endswith("""make freeze CELLS="'scores/AP(norm=?min?)@5'\"""")


def test_columns_that_cells_share_are_stored_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(make, "FOLDER", tmp_path)
    shared = [0.123456789, float("inf"), 1 / 3]
    stored = {"first": {"p": shared, "df": [1]}, "second": {"p": list(shared), "df": [2]}}
    make.save_cells("some", stored)
    assert (tmp_path / "some.json").read_text().count("0.123456789") == 1
    assert make.load_cells("some") == stored
