"""Each fact has one home: what a method is stands in its record, and nobody asks which kind of record that is."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from shardwise.methods.method import Method

SOURCE = Path(__file__).parent.parent.parent / "src" / "shardwise"
OUTSIDE = sorted(path for path in SOURCE.rglob("*.py") if path.relative_to(SOURCE).parts[0] != "methods")
CLASSES = {Method.__name__}


def named(node: ast.expr) -> set[str]:
    """Names of classes in the second argument of isinstance."""
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)} | {
        part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute)
    }


@pytest.mark.parametrize("path", OUTSIDE, ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_one_asks_which_class_a_method_is(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
            asked = named(node.args[1]) & CLASSES
            assert not asked, f"line {node.lineno} asks for {asked}"


@pytest.mark.parametrize("path", OUTSIDE, ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_fact_is_read_out_of_the_name_of_a_method(path: Path) -> None:
    """Names of methods and procedures are shown, compared as a whole or parsed; they are never taken to pieces."""
    for node in ast.walk(ast.parse(path.read_text())):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        taken = node.func.attr in {
            "startswith",
            "endswith",
            "split",
            "partition",
            "removeprefix",
            "removesuffix",
        }
        holder = ast.unparse(node.func.value)
        of_method = holder.endswith((".procedure.name", ".method.name", "procedure.name", "method.title"))
        assert not (taken and of_method), f"line {node.lineno}: {ast.unparse(node)}"
