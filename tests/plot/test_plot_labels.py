"""Marks: told apart in colour and in grey."""

from __future__ import annotations

from shardwise.plot.theme import COLOURS, DASHES, SHAPES, cycle_colours, in_turn


def test_names_are_told_apart_in_colour_and_in_grey() -> None:
    """Colour and shape, and colour and dash, are together unlike for as many names as pairs of them."""
    n = len(COLOURS)
    for marks in (SHAPES, DASHES):
        pairs = list(zip(cycle_colours(n * n), map(str, in_turn(marks, n * n)), strict=True))
        assert len(set(pairs)) == n * n
        assert len(set(map(str, in_turn(marks, n)))) == n
