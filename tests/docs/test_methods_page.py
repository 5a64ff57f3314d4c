"""The page of methods is made from the Method classes, those of plug-ins included."""

from __future__ import annotations

import doctest
from dataclasses import dataclass
from typing import Any

import pytest

import make_methods
from generated import STALE
from shardwise.core.claim import Claim
from shardwise.methods import registry
from shardwise.methods.base import Clause, Estimates, Method
from shardwise.methods.tables import TABLE
from shardwise.stats.corrections import CORRECTIONS


@dataclass(frozen=True, slots=True)
class PluginMethod(Method):
    """A method as another package would bring it, without formula and limits."""

    name: str = "plugged"
    title: str = "plugged-in test"
    claims: tuple[Claim, ...] = (Claim("topic"),)
    layouts: tuple[tuple[str, ...], ...] = (TABLE,)
    bibliography: str = "@article{Nobody1901,\n  author    = {No Body},\n  year      = {1901}\n}"

    def clause(self, correction: str, claim: Claim, systems: int) -> Clause:
        return Clause("plugged tests over {topics}", ("Nobody1901",))

    def estimate(self, tables: Any, claim: Claim) -> Estimates:
        raise NotImplementedError


def test_the_page_is_current() -> None:
    page = make_methods.PAGE.read_text("utf-8")
    assert all(mark in page for mark in make_methods.MARKS)
    assert make_methods.write_page(page) == page, f"docs/methods.md {STALE}"


def test_every_method_and_correction_is_there_with_its_facts() -> None:
    page = make_methods.PAGE.read_text("utf-8")
    for method in registry.list_methods():
        assert f"`{method.name}`" in page
        assert method.formula, method.name
        assert method.limits, method.name
    assert all(f"| `{name}` |" in page for name in CORRECTIONS)


def test_a_method_of_a_plug_in_appears(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_ADDED", [PluginMethod()])
    made = make_methods.write_page("".join(make_methods.MARKS))
    assert "#### `plugged` { #plugged }" in made
    assert "| compares with | plugged tests over topics |" in made
    assert "| source | Body, 1901 |" in made


def test_examples_of_the_generator() -> None:
    done = doctest.testmod(make_methods)
    assert done.attempted > 0
    assert done.failed == 0
