"""Every public name is documented: a docstring, and every parameter in its section `Parameters`."""

from __future__ import annotations

import pytest

import public_names
from public_names import described, entries, functions, gaps, parameters, written_doc


def test_there_are_names_to_look_at() -> None:
    assert len(entries()) > 120
    assert len(dict(functions())) > 150
    assert {"compare", "Comparisons.reject", "planning.topics_for_power", "plot.interval_chart"} <= set(
        dict(functions())
    )


def test_no_public_name_lacks_a_description() -> None:
    assert not gaps(), f"not described in a section `Parameters`:\n{gaps()}"


def test_a_gap_is_told_by_function_and_parameter(monkeypatch: pytest.MonkeyPatch) -> None:
    def add(x: int, y: int) -> None:
        """Add.

        Parameters
        ----------
        x
            A number.
        """

    def bare() -> None: ...

    monkeypatch.setattr(public_names, "functions", lambda: iter([("bare", bare), ("add", add)]))
    assert gaps() == "sw.add: y\nsw.bare: no docstring"


def test_a_parameter_counts_only_with_a_description() -> None:
    def told(x: int, y: int, *rest: int) -> None:
        """Do nothing with x.

        Parameters
        ----------
        x : int
            A number.
        y
        *rest : int
            More of them: y among these is not a description of y.

        >>> told(1, 2)
        """

    assert parameters(told) == ["x", "y", "rest"]
    assert list(described(told.__doc__.replace("\n        ", "\n"))) == ["x", "rest"]
    assert described("The word x is there.\n\nReturns\n-------\nx : int\n    A number.") == {}


def test_a_docstring_made_up_by_dataclass_does_not_count() -> None:
    from dataclasses import dataclass

    @dataclass
    class Plain:
        x: int

    assert Plain.__doc__
    assert not written_doc(Plain)
