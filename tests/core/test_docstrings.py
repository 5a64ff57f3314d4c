"""Every public name is documented: a verb first, every parameter with its type, and what is returned."""

from __future__ import annotations

import pytest

import public_names
from public_names import described, entries, functions, gaps, parameters, written_doc


def test_there_are_names_to_look_at() -> None:
    assert len(entries()) > 120
    assert len(dict(functions())) > 150
    assert {"compare", "Comparisons.reject", "planning.topics_for_power", "plot.topics_chart"} <= set(
        dict(functions())
    )


def test_no_public_name_lacks_a_description() -> None:
    assert not gaps(), f"not described in the sections `Parameters` and `Returns`:\n{gaps()}"


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
    assert gaps() == "sw.add: y, type of x\nsw.bare: no docstring"


def test_a_function_that_returns_something_says_what(monkeypatch: pytest.MonkeyPatch) -> None:
    def count() -> int:
        """Count them."""
        return 1

    def count_well() -> int:
        """Count them.

        Returns
        -------
        int
            Their number.
        """
        return 1

    def write() -> None:
        """Write them."""

    named = [("count", count), ("count_well", count_well), ("write", write)]
    monkeypatch.setattr(public_names, "functions", lambda: iter(named))
    assert gaps() == "sw.count: section Returns"


@pytest.mark.parametrize(
    "line", ["The table.", "How many there are.", "Kendall's tau.", "(n,) means.", "Number of topics."]
)
def test_a_first_line_without_a_verb_is_told(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def table() -> None: ...

    table.__doc__ = line
    monkeypatch.setattr(public_names, "functions", lambda: iter([("table", table)]))
    assert gaps() == "sw.table: verb in the first line"


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
