"""Each fact has one home: what a method is stands in its record, and nobody asks which kind of record that is."""

from __future__ import annotations

import ast
import re
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


STATISTICS = sorted(
    path
    for room in ("stats", "methods", "comparing", "planning", "lab")
    for path in (SOURCE / room).rglob("*.py")
)
FORMULAS = {
    "moderated variance": (r"share \* \w+ \+ \(1\.0 - share\) \* (pooled|common)", "stats/moderation.py"),
    "spread of the moderated variance": (r"share\*\*2 \+ \(1\.0 - share\*\*2\)", "stats/moderation.py"),
    "prior degrees of freedom": (r"(?i)(prior\w*|d0)\b[^\n>]*(=|:) 20(\.0)?\b", "stats/moderation.py"),
    "step-down p-values": (r"maximum\.accumulate\([^\n]*\) / \(\w+ \+ 1", "stats/stepdown.py"),
    "exact interval of a probability": (r"betaincinv", "stats/intervals.py"),
}
"""Formulas that every statement rests on: what they look like, and their one home."""


@pytest.mark.parametrize("name", FORMULAS)
def test_a_formula_stands_in_one_module(name: str) -> None:
    pattern, home = FORMULAS[name]
    found = [str(path.relative_to(SOURCE)) for path in STATISTICS if re.search(pattern, path.read_text())]
    assert found == [home]


def test_a_constant_of_the_statistics_stands_in_one_module() -> None:
    """A number under one name is written once: whoever needs it imports it."""
    homes: dict[tuple[str, float], list[str]] = {}
    for path in STATISTICS:
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
                for target in node.targets:
                    if isinstance(target, ast.Name) and isinstance(node.value.value, float):
                        key = target.id, node.value.value
                        homes.setdefault(key, []).append(str(path.relative_to(SOURCE)))
    twice = {
        key: paths for key, paths in homes.items() if len(paths) > 1 and any(p[:5] == "stats" for p in paths)
    }
    assert not twice


def test_no_function_of_the_statistics_is_written_twice() -> None:
    bodies: dict[str, list[str]] = {}
    for path in STATISTICS:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                steps = [
                    part for part in node.body if not isinstance(getattr(part, "value", None), ast.Constant)
                ]
                if len(steps) > 1:
                    text = "\n".join(ast.unparse(step) for step in steps)
                    bodies.setdefault(text, []).append(f"{path.relative_to(SOURCE)}: {node.name}")
    assert not [names for names in bodies.values() if len(names) > 1]
