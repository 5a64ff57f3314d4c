"""The API reference has every public name once, and what the docstrings say of it."""

from __future__ import annotations

import doctest
import inspect
import re
from pathlib import Path

import pytest

import make_reference
import public_names
import shardwise as sw

HEADING = re.compile(r"^##+ `([\w.]+)` { #([\w.]+) }$", re.MULTILINE)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    written = make_reference.write_pages(tmp_path_factory.mktemp("reference"))
    return {path.stem: path.read_text() for path in written}


def test_every_public_name_has_one_heading(pages: dict[str, str]) -> None:
    shown = [heading for text in pages.values() for heading, _ in HEADING.findall(text)]
    expected = [f"sw.{name}" for name in sw.__all__ if not inspect.ismodule(getattr(sw, name))]
    for space in (name for name in sw.__all__ if inspect.ismodule(getattr(sw, name))):
        expected += [f"sw.{space}.{name}" for name in getattr(sw, space).__all__]
    assert sorted(name for name in shown if name.startswith("sw.")) == sorted(
        set(expected) - {"sw.__version__"}
    )


def test_anchors_are_unique_on_their_page_and_the_index_names_them(pages: dict[str, str]) -> None:
    for page, text in pages.items():
        anchors = [anchor for _, anchor in HEADING.findall(text)]
        assert len(anchors) == len(set(anchors)), page
        for anchor in re.findall(r"^## .*{ #([\w.]+) }$", text, re.MULTILINE):
            assert f"]({page}.md#{anchor})" in pages["index"]


def test_every_parameter_is_shown_and_what_is_said_of_it(pages: dict[str, str]) -> None:
    everything = "\n".join(pages.values())
    for name, function in public_names.functions():
        entry = everything.split(f"{{ #{name} }}\n", 1)[1].split("{ #", 1)[0]
        for parameter in public_names.parameters(function):
            assert re.search(rf"\b{parameter}\b", entry), f"{name}: {parameter}"
        for parameter, text in public_names.described(inspect.getdoc(function) or "").items():
            assert re.search(rf"^- .*`\**{parameter}`.*: ", entry, re.MULTILINE), f"{name}: {parameter}"
            assert text.split()[0] in entry, f"{name}: {parameter}"


def test_sections_become_lists() -> None:
    doc = """Count.

    Of x, all.

    Parameters
    ----------
    x, y : int
        Numbers
        to count.
    *rest
        More.

    Returns
    -------
    The count, as a number.

    >>> 1 + 1
    2
    """
    assert make_reference.body(inspect.cleandoc(doc)) == "\n\n".join([
        "Count.",
        "Of x, all.",
        "**Parameters**",
        "- `x`, `y` (`int`): Numbers to count.\n- `*rest`: More.",
        "**Returns**",
        "The count, as a number.",
        "```pycon\n>>> 1 + 1\n2\n```",
    ])  # fmt: skip


def test_fences_are_closed(pages: dict[str, str]) -> None:
    for page, text in pages.items():
        opened = False
        for line in text.splitlines():
            if line.startswith("```"):
                assert opened == (line == "```"), f"{page}: {line}"
                opened = not opened
            elif line.startswith(">>> "):
                assert opened, f"{page}: {line}"
        assert not opened, page


def test_pages_of_groups_that_are_no_more_are_removed(tmp_path: Path) -> None:
    (tmp_path / "gone.md").write_text("# Gone\n")
    make_reference.write_pages(tmp_path)
    assert not (tmp_path / "gone.md").exists()
    assert (tmp_path / "index.md").exists()


@pytest.mark.parametrize("module", [make_reference, public_names], ids=lambda module: module.__name__)
def test_examples_of_the_generator(module: object) -> None:
    done = doctest.testmod(module)  # type: ignore[arg-type]
    assert done.attempted > 0
    assert done.failed == 0
