"""The page of methods is made from the Method classes, those of plug-ins included."""

from __future__ import annotations

import doctest

import pytest

import make_methods
from generated import STALE
from shardwise.core.claim import Claim
from shardwise.methods import names
from shardwise.methods.method import Method
from shardwise.methods.paired.method import estimate_means
from shardwise.methods.tables import TABLE
from shardwise.stats.corrections import CORRECTIONS

PLUGGED = Method(
    name="plugged",
    title="plugged-in test",
    layouts_by_claim=((Claim("topic"), (TABLE,)),),
    means=estimate_means,
    text="plugged tests over {topics}",
    citations=("Nobody1901",),
    bibliography="@article{Nobody1901,\n  author    = {No Body},\n  year      = {1901}\n}",
)
"""A method as another package would bring it, without formula and limits."""


def test_the_page_is_current() -> None:
    page = make_methods.PAGE.read_text("utf-8")
    assert all(mark in page for mark in make_methods.MARKS)
    assert make_methods.write_page(page) == page, f"docs/methods.md {STALE}"


def test_every_method_and_correction_is_there_with_its_facts() -> None:
    page = make_methods.PAGE.read_text("utf-8")
    for method in names.list_methods():
        assert f"`{method.name}`" in page
        assert method.formula, method.name
        assert method.limits, method.name
    assert all(f"| `{name}` |" in page for name in CORRECTIONS)


def test_a_method_of_a_plug_in_appears(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(names, "_ADDED", [PLUGGED])
    made = make_methods.write_page("".join(make_methods.MARKS))
    assert "#### `plugged` { #plugged }" in made
    assert "| compares with | plugged tests over topics |" in made
    assert "| source | Body, 1901 |" in made


def test_examples_of_the_generator() -> None:
    done = doctest.testmod(make_methods)
    assert done.attempted > 0
    assert done.failed == 0
