"""Labels: short, visible, and as many as there are names."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from shardwise.core.text import MOST_SHOWN, shorten_name
from shardwise.plot.theme import COLOURS, DASHES, LONG, ON_AXIS, SHAPES, cycle_colours, in_turn, label_names


@given(st.lists(st.text(max_size=200), max_size=30))
def test_labels_tell_names_apart(names: list[str]) -> None:
    labels = label_names(names)
    assert list(labels) == list(dict.fromkeys(names))
    assert len(set(labels.values())) == len(labels)
    assert all(len(label) <= MOST_SHOWN and (label.isprintable() or not label) for label in labels.values())


def test_beside_an_axis_long_names_differ_where_they_do() -> None:
    """An axis cuts what does not fit at the end, where versions stand; so names are cut in the middle before."""
    names = [f"organisation/{'model' * 12}-v{k}" for k in range(3)]
    labels = list(label_names(names, ON_AXIS).values())
    assert [label[-3:] for label in labels] == ["-v0", "-v1", "-v2"]
    assert 0.6 * 10 * ON_AXIS <= LONG["labelLimit"] < LONG["maxExtent"]  # letters of .6 em, ten pixels high


@given(st.text(max_size=100))
def test_short_names_are_left_alone(name: str) -> None:
    if name.isprintable() and name.isascii() and len(name) <= 50:
        assert shorten_name(name) == name


def test_names_are_told_apart_in_colour_and_in_grey() -> None:
    """Colour and shape, and colour and dash, are together unlike for as many names as pairs of them."""
    n = len(COLOURS)
    for marks in (SHAPES, DASHES):
        pairs = list(zip(cycle_colours(n * n), map(str, in_turn(marks, n * n)), strict=True))
        assert len(set(pairs)) == n * n
        assert len(set(map(str, in_turn(marks, n)))) == n
