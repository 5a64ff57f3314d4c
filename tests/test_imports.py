"""Imports go one way: each part knows only the parts below it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ORDER = ["errors", "rng", "arrays", "read", "shard", "measure", "score", "model", "compare", "study", "plot",
         "report", "cli", "app"]  # fmt: skip
SOURCE = Path(__file__).parent.parent / "src" / "shardwise"
FILES = sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")


def part(module: str) -> str:
    return module.split(".")[1]


def imported(path: Path) -> set[str]:
    """Modules of ours that a file imports, type-checking imports included."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names = [node.module or ""]
            if node.module == "shardwise":
                names = [f"shardwise.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        found.update(name for name in names if name.startswith("shardwise."))
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_downwards(path: Path) -> None:
    own = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    assert own in ORDER, f"{own} has no place in the order of parts"
    for module in imported(path):
        assert ORDER.index(part(module)) <= ORDER.index(own), f"{own} may not import {module}"


def test_comparisons_see_neither_fits_nor_scores() -> None:
    for path in (SOURCE / "compare").glob("*.py"):
        for module in imported(path):
            assert part(module) not in {"read", "shard", "measure", "score"}
            assert part(module) != "model" or module == "shardwise.model.estimates", (
                f"{path} imports {module}"
            )
