"""Imports go one way: each room knows only the rooms below it."""

from __future__ import annotations

import ast
import importlib
import pkgutil
from pathlib import Path
from types import ModuleType

import pytest

import shardwise

ORDER = ["core", "io", "sharding", "scoring", "stats", "methods", "comparing", "procedures", "lab", "planning",
         "stability", "instances", "judges", "simulate", "holdout", "rankings", "papers", "analysis", "plot", "writing",
         "integrations", "testing", "pandas", "cli", "app", "__main__"]  # fmt: skip
SOURCE = Path(__file__).parent.parent.parent / "src" / "shardwise"
FILES = sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")
MODULES = sorted(found.name for found in pkgutil.walk_packages(shardwise.__path__, "shardwise."))
NAMES = frozenset(MODULES)


def part(module: str) -> str:
    return module.split(".")[1]


def imported(path: Path) -> set[str]:
    """Modules of ours that a file imports, type-checking imports and names given as text included."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names: list[str] = []
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names = [node.module or ""]
            if node.module == "shardwise":
                names = [f"shardwise.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names = [node.value.partition(":")[0]]
        found.update(NAMES.intersection(names))
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_downwards(path: Path) -> None:
    own = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    assert own in ORDER, f"{own} has no place in the order of rooms"
    for module in imported(path):
        assert ORDER.index(part(module)) <= ORDER.index(own), f"{own} may not import {module}"


def test_there_are_modules_to_look_at() -> None:
    assert len(MODULES) > 100
    assert {part(name) for name in MODULES} <= set(ORDER)


@pytest.mark.parametrize("name", MODULES)
def test_every_module_can_be_imported_by_its_name(name: str) -> None:
    found = importlib.import_module(name)
    holder: object = shardwise
    for step in name.split(".")[1:]:
        holder = getattr(holder, step)
    assert isinstance(holder, ModuleType)
    assert holder is found, f"{name} is hidden by something else"


def test_comparisons_see_neither_fits_nor_scores() -> None:
    for module in imported(SOURCE / "comparing" / "comparisons.py"):
        assert part(module) in {"core", "stats", "methods", "comparing"}, f"comparisons imports {module}"
    for path in ("methods/pairs.py", "stats/intervals.py"):
        for module in imported(SOURCE / path):
            assert part(module) in {"core", "stats", "methods"}, f"{path} imports {module}"
