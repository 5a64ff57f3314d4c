"""Names as they are shown together: short, harmless, in order, and never two that look alike."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardwise.core.text import MOST_SHOWN, escape_controls, shorten_name, shorten_names

# Few characters and repeated parts, so that names share starts, middles and ends, and hold what confuses a page.
parts = st.sampled_from(["ab", "run-", "x" * 15, "…", " ", "  ", "0", "1", "\x01", "\\x01", " (2)", "é"])
names_alike = st.lists(st.lists(parts, max_size=9).map("".join), max_size=12)
any_names = st.lists(st.text(max_size=200), max_size=20)
widths = st.sampled_from([8, 12, 20, 44, MOST_SHOWN])


def collapse(label: str) -> str:
    """A label as a page shows it."""
    return " ".join(label.split())


@given(st.one_of(names_alike, any_names), widths)
def test_no_two_names_look_alike(names: list[str], most: int) -> None:
    labels = shorten_names(names, most)
    assert list(labels) == list(dict.fromkeys(names))
    assert len({collapse(label) for label in labels.values()}) == len(labels)
    assert all(label.isprintable() for label in labels.values())
    assert labels == shorten_names(names, most)


@given(st.one_of(names_alike, any_names), widths)
def test_a_label_is_longer_only_where_another_looks_alike(names: list[str], most: int) -> None:
    labels = shorten_names(names, most)
    cut = {name: collapse(shorten_name(name, most)) for name in labels}
    for name, label in labels.items():
        alone = list(cut.values()).count(cut[name]) == 1
        if len(label) > most:
            taken = {collapse(other) for key, other in labels.items() if key != name}
            assert not alone or cut[name] in taken
        text = escape_controls(name)
        numbered = label.startswith(text + " (")
        assert len(label) <= max(most, len(text)) or numbered
        if len(text) <= most and list(map(collapse, map(escape_controls, labels))).count(collapse(text)) == 1:
            assert label == text


@pytest.mark.parametrize("most", [20, 28, 44])
def test_names_that_differ_in_the_middle_keep_that_part(most: int) -> None:
    names = [f"organization/very-long-family-name-{k:03d}-instruct-preview-with-tools" for k in range(500)]
    labels = shorten_names(names, most)
    for k, label in enumerate(labels.values()):
        assert f"{k:03d}" in label
        assert label.startswith("org")
        assert label.endswith("ols")
        assert len(label) <= most


def test_names_that_differ_at_the_end_are_cut_as_single_ones() -> None:
    names = [f"organisation/{'model' * 12}-v{k}" for k in range(3)]
    assert list(shorten_names(names, 44).values()) == [shorten_name(name, 44) for name in names]


def test_a_label_grows_by_what_tells_names_apart_and_no_more() -> None:
    """Two parts that differ, far from each other: the text between them is needed, the rest is not."""
    names = [f"start-of-the-name-{a}{'m' * 30}{b}-and-a-long-end-of-the-name" for a in "xy" for b in "12"]
    for label in shorten_names(names, 20).values():
        assert 32 < len(label) < 50
