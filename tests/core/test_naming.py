"""Names say what functions do and what locals hold, and one class name is used once."""

from __future__ import annotations

import ast
import tempfile
from pathlib import Path

from bench.names import count_comments, count_docs_words, count_names, is_one_word, list_bound_names

ROOT = Path(__file__).parents[2]
MOST_ONE_WORD, MOST_VAGUE = 0.35, 50

MODULE = """
# a comment
import os  # not a line of its own


class Twice:
    def _read(self, one):
        for found in one:
            yield found

    def __len__(self):
        return 0


class Twice:
    async def read_all(self):
        def inner():  # noqa: E501
            return [told for told in ()]
"""


def test_names_are_counted_as_the_goals_mean_them() -> None:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "module.py").write_text(MODULE)
        counts = count_names(Path(folder))
    assert (counts.functions, counts.one_word, counts.comments) == (3, 2, 1)
    assert counts.vague == {"one": 1, "found": 1, "told": 1}
    assert counts.repeated_classes == {"Twice": 2}


def test_words_bindings_and_comments() -> None:
    assert [is_one_word(name) for name in ("_read", "read", "read_scores", "_read_scores")] == [
        True, True, False, False,
    ]  # fmt: skip
    bound = list_bound_names(ast.parse("match x:\n    case [one, *said]:\n        there = one"))
    assert sorted(bound) == ["one", "said", "there"]
    assert count_comments("# why\n    # why\nx = 1  # no\n# type: ignore\n# fmt: off\n") == 2


def test_written_pages_are_counted_and_generated_ones_are_not() -> None:
    pages = count_docs_words(ROOT / "docs")
    assert "index.md" in pages
    assert "options.md" not in pages
    assert all(pages.values())


def test_the_package_keeps_to_the_goals() -> None:
    counts = count_names(ROOT / "src")
    assert counts.functions > 2000
    assert counts.share <= MOST_ONE_WORD
    assert sum(counts.vague.values()) <= MOST_VAGUE, counts.vague
    assert counts.repeated_classes == {}
