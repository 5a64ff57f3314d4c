"""How the code is named and how long the documentation is: ``python -m bench.names [--root PATH]``.

Counts of the sources below ``src`` and of the words that readers get, without any other library than Python's own, so
that two checkouts can be compared whatever is installed. `tests/core/test_naming.py` holds the goals.
"""

from __future__ import annotations

import argparse
import ast
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

VAGUE = frozenset({"found", "one", "own", "said", "told", "there", "beside"})
"""Names that do not say what a local or an argument holds."""
GENERATED = frozenset({"options.md"})
"""Pages that a program writes; ``docs/reference`` and ``docs/bench`` are folders of such pages."""


@dataclass(frozen=True, slots=True)
class NameCounts:
    """Counts over all modules below a folder of sources."""

    functions: int
    one_word: int
    vague: dict[str, int]
    repeated_classes: dict[str, int]
    comments: int
    lines: int

    @property
    def share(self) -> float:
        """Share of functions whose name is one word."""
        return self.one_word / self.functions if self.functions else 0.0


def count_names(source: Path) -> NameCounts:
    """Count names, comments and lines of all modules below a folder.

    Parameters
    ----------
    source : Path
        Folder of Python sources.

    Returns
    -------
    NameCounts
        Nested functions and methods count as functions, names with two leading underscores do not.
    """
    functions: list[str] = []
    vague: Counter[str] = Counter()
    classes: Counter[str] = Counter()
    comments = lines = 0
    for path in sorted(source.rglob("*.py")):
        text = path.read_text("utf-8")
        lines += text.count("\n")
        comments += count_comments(text)
        tree = ast.parse(text, str(path))
        functions += list_functions(tree)
        vague.update(name for name in list_bound_names(tree) if name in VAGUE)
        classes.update(node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    return NameCounts(
        functions=len(functions),
        one_word=sum(is_one_word(name) for name in functions),
        vague=dict(vague.most_common()),
        repeated_classes={name: n for name, n in sorted(classes.items()) if n > 1},
        comments=comments,
        lines=lines,
    )


def list_functions(tree: ast.Module) -> list[str]:
    """List the names of all functions of a module, dunders left out."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    names = [node.name for node in ast.walk(tree) if isinstance(node, kinds)]
    return [name for name in names if not name.startswith("__")]


def is_one_word(name: str) -> bool:
    """Return whether a name is one word, leading underscores left out.

    >>> is_one_word("_read"), is_one_word("read_scores")
    (True, False)
    """
    return "_" not in name.strip("_")


def list_bound_names(tree: ast.Module) -> Iterator[str]:
    """Yield every name that a module binds to a value, once a binding: assignments, loops, patterns and arguments."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            yield node.name


def count_comments(text: str) -> int:
    """Count lines that hold a comment alone; directives to tools are no comments."""
    return len(re.findall(r"^[ \t]*#(?!!|\s*(?:type:|noqa|fmt:|cython:))", text, re.M))


def count_words(path: Path) -> int:
    """Count the words of a page, those of its code with them."""
    return len(path.read_text("utf-8").split()) if path.is_file() else 0


def count_docs_words(folder: Path) -> dict[str, int]:
    """Count the words of every page that somebody wrote, by its name."""
    pages = [path for path in sorted(folder.glob("*.md")) if path.name not in GENERATED]
    return {path.name: count_words(path) for path in pages}


def write_summary(root: Path) -> str:
    """Write all counts of a checkout as lines of text.

    Parameters
    ----------
    root : Path
        Folder that holds ``src``, ``docs`` and ``README.md``.

    Returns
    -------
    str
        A line a count.
    """
    names, pages = count_names(root / "src"), count_docs_words(root / "docs")
    vague = ", ".join(f"{name} {n}" for name, n in names.vague.items())
    repeated = ", ".join(f"{name} {n}" for name, n in names.repeated_classes.items())
    rows = [
        ("one-word functions", f"{names.share:.1%} ({names.one_word:,} of {names.functions:,})"),
        ("vague locals", f"{sum(names.vague.values()):,}" + (f" ({vague})" if vague else "")),
        (
            "repeated class names",
            f"{len(names.repeated_classes):,}" + (f" ({repeated})" if repeated else ""),
        ),
        ("full-line comments", f"{names.comments:,} in {names.lines:,} lines"),
        ("words of docs", f"{sum(pages.values()):,} on {len(pages)} pages"),
        ("words of README", f"{count_words(root / 'README.md'):,}"),
    ]
    return "\n".join(f"{title:<22}{value}" for title, value in rows)


def main() -> None:
    """Print the counts of the checkout that holds this file, or of another one."""
    parser = argparse.ArgumentParser(description="Names in src, and words of the documentation.")
    parser.add_argument("--root", type=Path, default=Path(__file__).parents[1], help="a checkout")
    print(write_summary(parser.parse_args().root))


if __name__ == "__main__":
    main()
