"""Every public name is documented: a docstring, and every parameter in its section `Parameters`.

What is not yet stands in docstring_gaps.txt, which may only become shorter: `python docs/public_names.py` takes off
what is described by now.
"""

from __future__ import annotations

from public_names import GAPS, described, entries, functions, parameters, undescribed, written_doc

KNOWN_GAPS = set(GAPS.read_text().split())
NOW = undescribed()


def test_there_are_names_to_look_at() -> None:
    assert len(entries()) > 120
    assert len(dict(functions())) > 150
    assert {"compare", "Comparisons.reject", "planning.topics_for_power", "plot.interval_chart"} <= set(
        dict(functions())
    )


def test_no_public_name_lacks_a_description() -> None:
    new = [f"sw.{name}: {', '.join(NOW[name]) or 'no docstring'}" for name in sorted(NOW.keys() - KNOWN_GAPS)]
    assert not new, "not described in a section `Parameters`:\n" + "\n".join(new)


def test_known_gaps_are_gaps_still() -> None:
    closed = sorted(KNOWN_GAPS - NOW.keys())
    assert not closed, f"described by now, or gone: {', '.join(closed)}; run python docs/public_names.py"


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
