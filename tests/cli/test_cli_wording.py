"""Refusals in the words of the command line: no message of the library tells its user to write Python."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from shardwise.cli.parsing import format_error, spell_option
from shardwise.core.errors import Either, InputError, Option
from shardwise.methods.pairs import choose_pairs

SOURCE = Path(__file__).parent.parent.parent / "src" / "shardwise"
FILES = sorted(SOURCE.rglob("*.py"))
REFUSALS = {"InputError", "NothingGiven"}
PYTHON = re.compile(
    r"""(?<![-\w.])[a-z_]+=(['"(\[{…]|True\b|None\b|\s|$)  # an argument with its value, or alone
    |\bscores[.\[]|\bsw\.|\bxr\.|\.isel\(|\bfill_undefined\b|\b(anova|split|score|compare)\(""",
    re.VERBOSE,
)


def shown(part: ast.expr) -> str:
    """A piece of a formatted text, what is put in stands as dots."""
    if isinstance(part, ast.FormattedValue):
        return "'…'" if part.conversion == ord("r") else "…"
    return str(part.value) if isinstance(part, ast.Constant) else ""


def texts(node: ast.AST) -> Iterator[str]:
    """Text of a message that every reader gets: what stands in an Option or Either is apart."""
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("Option", "Either")
    ):
        return
    if isinstance(node, ast.JoinedStr):
        yield "".join(shown(part) for part in node.values)
        return
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    for child in ast.iter_child_nodes(node):
        yield from texts(child)


def messages(source: str) -> Iterator[tuple[int, str]]:
    """Line and text of the problems and remedies of all refusals in a piece of source."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in REFUSALS:
            said = [*node.args, *(one.value for one in node.keywords if one.arg in ("problem", "remedy"))]
            for part in said:
                yield from ((node.lineno, text) for text in texts(part))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_arguments_in_messages_are_options(path: Path) -> None:
    found = [f"{line}: {text}" for line, text in messages(path.read_text()) if PYTHON.search(text)]
    assert found == []


@pytest.mark.parametrize(
    "source",
    [
        """InputError("has more than one tag", remedy="use names='file'")""",
        """InputError("x", remedy=f"give average=({extra!r},)")""",
        """InputError(f"kind={kind!r} is unknown")""",
        """InputError("x", remedy=("drop it", "as in scores.dropna('topic')"))""",
        """InputError("x", remedy="say subtopics=True if there are any")""",
        """InputError("kind needs by=")""",
    ],
)
def test_python_in_a_message_is_noticed(source: str) -> None:
    assert any(PYTHON.search(text) for _, text in messages(source))


@pytest.mark.parametrize(
    "source",
    [
        """InputError("x", remedy=("use ", Option("names", "file")))""",
        """InputError("x", remedy=Either("scores.isel(split=0)", "--splits 1"))""",
        """InputError("x", remedy="write AP=0.053")""",
        """InputError("x", remedy='write key = value, as in model = "MD6"')""",
        """print("names='file'")""",
    ],
)
def test_what_both_can_read_is_left_alone(source: str) -> None:
    assert not any(PYTHON.search(text) for _, text in messages(source))


def test_one_refusal_two_readers() -> None:
    error = InputError(
        ("no ", Option("by"), " here"),
        where="a file",
        remedy=(
            "add ",
            Option("kind", "attribute"),
            Either(" or select", ""),
            ", not ",
            Option("n_splits", 3),
        ),
    )
    assert str(error) == "a file: no by here; add kind='attribute' or select, not n_splits=3"
    assert (
        format_error(error) == "a file: no --kind attribute:REGEX here; add --kind attribute, not --splits 3"
    )
    assert format_error(error.add_location("split 2")) == f"split 2: {format_error(error)}"


def test_values_are_quoted_as_a_shell_reads_them() -> None:
    assert spell_option(Option("baseline", "my system; rm")) == "--baseline 'my system; rm'"
    assert spell_option(Option("only", ["a", "b c"])) == "--only 'a,b c'"
    assert spell_option(Option("alpha", 0.0)) == "--alpha 0.0"
    assert spell_option(Option("shards", 1)) == "--shards 1"


def test_a_refusal_of_the_library() -> None:
    with pytest.raises(InputError, match="only lists pairs, and baseline is given too") as caught:
        choose_pairs(["x", "y"], [("x", "y")], "x")
    assert (
        format_error(caught.value) == "--only lists pairs, and --baseline is given too; give one of the two"
    )
