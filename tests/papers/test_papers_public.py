"""Experiments of papers use what every user can: public names, and the rooms below that hold no method."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import shardwise
from shardwise.papers import EXPERIMENTS
from shardwise.papers.claims import make_claims
from shardwise.papers.exhibit import read_printed

PAPERS = Path(shardwise.__file__).parent / "papers"
BELOW = ("shardwise.core.", "shardwise.io.", "shardwise.stats", "shardwise.papers.")
"""Errors, arguments, random numbers, files, distributions; and the room itself."""


def list_imports(source: str) -> Iterator[str]:
    """Yield every module of the package that a source imports from, but for the package itself."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = (
                [str(node.module)]
                if node.module != "shardwise"
                else [f"shardwise.{a.name}" for a in node.names]
            )
        else:
            continue
        yield from (name for name in names if name.startswith("shardwise."))


def list_private(source: str) -> list[str]:
    """Return the imports that are neither of the public package nor of the rooms below."""
    return [name for name in list_imports(source) if not f"{name}.".startswith(BELOW)]


@pytest.mark.parametrize("path", sorted(PAPERS.glob("*.py")), ids=lambda path: path.stem)
def test_a_paper_imports_public_names_only(path: Path) -> None:
    assert not list_private(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("line", "private"),
    [
        ("import shardwise as sw", []),
        ("from shardwise.core.errors import InputError", []),
        ("from shardwise.methods.tables import Tables", ["shardwise.methods.tables"]),
        ("import shardwise.comparing.compare", ["shardwise.comparing.compare"]),
        ("from shardwise import lab", ["shardwise.lab"]),
        ("def f():\n    from shardwise.planning.pools import _cut_pool", ["shardwise.planning.pools"]),
    ],
)
def test_a_private_import_is_told(line: str, private: list[str]) -> None:
    assert list_private(line) == private


def test_every_claim_has_a_check_and_every_check_a_claim() -> None:
    rows = read_printed("claims")
    for experiment in EXPERIMENTS.values():
        assert [claim.name for claim in experiment.claims] == rows.loc[
            rows["paper"] == experiment.tag, "claim"
        ].tolist()
    with pytest.raises(KeyError):
        make_claims("F19", {})
