"""Words that users read: none of the phrases that have a plainer form, room by room."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from shardwise.cli.options import TABLE, list_commands
from shardwise.cli.schema import FIELDS, RESULTS

SOURCE = Path(__file__).parent.parent.parent / "src" / "shardwise"
REFUSALS = {"InputError", "NothingGiven"}
PLAINER = {
    r"(?<![Tt]here )\b(is|are) no (?!(longer|more|worse)\b)": "is not a, not valid, unknown",
    r"\bno \w+( \w+)? is called\b": "unknown",
    r"\b(told|tell|tells) (\S+ )*(apart|from)\b": "significantly different, tied",
    r"\b(joint )?laws?\b": "distribution",
    r"\bpromises?d?\b|\berrs?\b": "controls the error rate",
    r"\bworlds?\b": "scenario",
    r"\b(no|the|many|more|of) draws\b|\bdrawn (anew|towards)\b": "bootstrap samples, shrunk",
    r"\bstands? against\b|\bone too many\b": "conflicts with, unexpected",
    r"\bdo(es)? nothing\b": "has no effect",
    r"\b(is|are) to be\b|\bis asked for\b": "must, needs",
    r"\bspeaks? of\b": "supports a claim about",
    r"\bnothing can be told\b": "per-item scores are required",
    r"\bis seen to\b|\bis not shown to\b": "no evidence of, inconclusive",
    r"\bmakes? no sense\b|\bto speak of\b": "has no effect",
    r"\bstands? above\b|\bstands? beside\b": "is not a shared option, conflicts with",
    r"\bwhose \w+ are these\b": "cannot tell which system each run belongs to",
    r"\bnames no\b": "does not name, unknown",
}
"""Phrases, and what to write instead."""

NOT_YET: set[str] = set()
"""Rooms and modules whose messages are still to be gone over: the list only becomes shorter."""


def is_clean(path: Path) -> bool:
    name = path.relative_to(SOURCE).as_posix()
    return not any(name == room or name.startswith(f"{room}/") for room in NOT_YET)


FILES = sorted(path for path in SOURCE.rglob("*.py") if is_clean(path))


def texts(node: ast.AST) -> Iterator[str]:
    """Text in an expression; what is put in stands as dots."""
    if isinstance(node, ast.JoinedStr):
        parts = (part.value if isinstance(part, ast.Constant) else "…" for part in node.values)
        yield "".join(map(str, parts))
        return
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    for child in ast.iter_child_nodes(node):
        yield from texts(child)


def refusals(source: str) -> Iterator[tuple[int, str]]:
    """Line and text of the problems and remedies of all refusals."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in REFUSALS:
            for part in [
                *node.args,
                *(one.value for one in node.keywords if one.arg in ("problem", "remedy")),
            ]:
                yield from ((node.lineno, text) for text in texts(part))


def offences(text: str) -> list[str]:
    return [f"{text!r}: write {better}" for phrase, better in PLAINER.items() if re.search(phrase, text)]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_refusals_are_plain(path: Path) -> None:
    found = [f"{line}: {one}" for line, text in refusals(path.read_text()) for one in offences(text)]
    assert found == []


WRITTEN = [path for path in FILES if path.relative_to(SOURCE).parts[0] != "papers"]
PAGES = sorted(
    path
    for room in ("writing", "app")
    for path in (SOURCE / room / "templates").iterdir()
    if path.suffix in (".html", ".js")
)
OURS = {
    **PLAINER,
    r"(?<!new )\b(topics|questions) like these\b": "new topics like these",
    r"\bcannot be told\b|\bnot distinguishable\b|\bindistinguishable\b": "tied",
    r"\bwhatever the\b": "any",
    r"\busual one\b|\bthe usual\b": "default",
    r"[\d…] %(?!\})|\}\} %(?!\})": "95%",
    r"\bdiffers? at 0": "differ significantly (p < 0.05)",
    r"\btop group\b": "best set",
    r"\bno confidence intervals\b": "comparison interval",
}
"""Phrases that sentences of results must not have."""


def sentences(source: str) -> Iterator[tuple[int, str]]:
    """Line and text of all strings of a module but docstrings."""
    tree = ast.parse(source)
    holders = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    documentation = {
        id(statement.value)
        for node in ast.walk(tree)
        if isinstance(node, holders)
        for statement in node.body
        if isinstance(statement, ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant | ast.JoinedStr) and id(node) not in documentation:
            yield from ((node.lineno, text) for text in texts(node))


def find_plainer(text: str) -> list[str]:
    return [f"{text!r}: write {better}" for phrase, better in OURS.items() if re.search(phrase, text)]


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_sentences_of_results_are_plain(path: Path) -> None:
    phrases = ((line, text) for line, text in sentences(path.read_text()) if " " in text.strip())
    assert [f"{line}: {offence}" for line, text in phrases for offence in find_plainer(text)] == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_pages_are_plain(path: Path) -> None:
    lines = enumerate(path.read_text().splitlines(), 1)
    assert [f"{k}: {one}" for k, line in lines for one in find_plainer(line)] == []


def help_texts() -> Iterator[str]:
    """Everything that help and schemas say."""
    yield from (row.help for row in TABLE.values())
    for command in list_commands().values():
        yield command.help
        yield from (row.help for row in command.rows.values())
    yield from (description for _, description in FIELDS.values())
    yield from (result["description"] for result in RESULTS.values())


def test_help_and_schemas_are_plain() -> None:
    assert [one for text in help_texts() for one in offences(text)] == []


def test_help_says_what_an_option_does_in_few_words() -> None:
    for row in TABLE.values():
        assert len(row.help.split()) <= 28, row.name
        assert row.help[-1] in ".…", row.name


@pytest.mark.parametrize("phrase", ["'x' is no level", "no side is called 'upper'", "pairs are told apart"])
def test_phrases_are_noticed(phrase: str) -> None:
    assert offences(phrase)


@pytest.mark.parametrize(
    "phrase", ["a system that is no worse", "there is no longer a file", "unknown side 'upper'"]
)
def test_plain_words_are_left_alone(phrase: str) -> None:
    assert offences(phrase) == []


def test_every_command_has_help() -> None:
    assert all(command.help and command.rows for command in list_commands().values())
