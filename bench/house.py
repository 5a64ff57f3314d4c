"""How large the package is: ``make house``, or ``python -m bench.house [--root PATH]``; sums and rooms.

A line of code holds something else than blanks, comments and docstrings, after ``ruff format``. The sums have limits in
`tests/core/test_house.py`; rooms are printed only, as what moves between them is no growth.
"""

from __future__ import annotations

import argparse
import ast
import io
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from types import ModuleType

import shardwise as sw
from shardwise.cli.options import list_commands

ROOT = Path(__file__).parents[1]
BLANK = (
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE),
    *(tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER),
)
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Size:
    """Counts of some modules."""

    code: int = 0
    modules: int = 0
    classes: int = 0
    functions: int = 0

    def __add__(self, other: Size) -> Size:
        """Return the counts of both."""
        return Size(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(Size)))


def count_module(text: str) -> Size:
    """Return the counts of the source of one module; special methods are no functions.

    >>> count_module('''"One line."
    ...
    ... def double(x):  # twice
    ...     # why
    ...     return (x +
    ...             x)
    ... ''')
    Size(code=3, modules=1, classes=0, functions=1)
    """
    tree = ast.parse(text)
    nodes = list(ast.walk(tree))
    functions = [node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return Size(
        code=len(set(list_filled_lines(text)) - set(list_docstring_lines(nodes))),
        modules=1,
        classes=sum(isinstance(node, ast.ClassDef) for node in nodes),
        functions=sum(not name.startswith("__") for name in functions),
    )


def list_filled_lines(text: str) -> Iterator[int]:
    """Yield the numbers of lines on which a token begins, other than a comment; a long string counts once."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in BLANK:
            yield token.start[0]


def list_docstring_lines(nodes: list[ast.AST]) -> Iterator[int]:
    """Yield the numbers of the lines of docstrings."""
    for node in nodes:
        if not isinstance(node, DOCUMENTED) or ast.get_docstring(node, clean=False) is None:
            continue
        first = node.body[0]
        yield from range(first.lineno, (first.end_lineno or first.lineno) + 1)


def measure_rooms(package: Path) -> dict[str, Size]:
    """Return the counts of each folder of the package; modules beside them are `top`."""
    rooms: dict[str, Size] = {}
    for path in sorted(package.rglob("*.py")):
        inner = path.relative_to(package).parts
        room = inner[0] if len(inner) > 1 else "top"
        rooms[room] = rooms.get(room, Size()) + count_module(path.read_text("utf-8"))
    return rooms


def count_options() -> tuple[int, int]:
    """Return the number of options, and of pairs of a command and an option that it takes."""
    taken = [
        row.name
        for command in list_commands().values()
        for row in command.rows.values()
        if not row.positional
    ]
    return len(set(taken)), len(taken)


def count_public_names() -> tuple[int, int]:
    """Return the number of names of the package, and of those in its namespaces."""
    names: list[str] = vars(sw)["__all__"]
    spaces = [value for name in names if isinstance(value := getattr(sw, name), ModuleType)]
    return len(names), sum(len(vars(space)["__all__"]) for space in spaces)


def measure_sums(package: Path) -> dict[str, float]:
    """Return the sums that have a limit, by name."""
    size = sum(measure_rooms(package).values(), Size())
    options, pairs = count_options()
    names, inner_names = count_public_names()
    return {
        "lines of code": size.code,
        "modules": size.modules,
        "classes": size.classes,
        "functions per thousand lines": round(1000.0 * size.functions / size.code, 1),
        "options": options,
        "options of all commands": pairs,
        "public names": names,
        "public names in namespaces": inner_names,
    }


def main() -> None:
    """Print sums and rooms."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--root", type=Path, default=ROOT, help="another checkout, for the counts of its sources"
    )
    package = parser.parse_args().root / "src" / "shardwise"
    for name, value in measure_sums(package).items():
        print(f"{name:30}{value:>9,}")
    print(f"\n{'room':14}{'code':>8}{'modules':>9}{'classes':>9}{'functions':>11}")
    for room, size in measure_rooms(package).items():
        print(f"{room:14}{size.code:8}{size.modules:9}{size.classes:9}{size.functions:11}")


if __name__ == "__main__":
    main()
