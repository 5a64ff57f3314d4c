"""The list of slow tests names tests that are there."""

from __future__ import annotations

import re
from pathlib import Path

from slow_tests import listed

ROOT = Path(__file__).parents[2]


def test_every_slow_test_is_there() -> None:
    names = (ROOT / "tests" / "slow.txt").read_text().splitlines()
    assert len(names) == len(set(names)) > 100
    for name in names:
        file, *_, test = name.split("::")
        assert re.search(rf"^ *def {test}\(", (ROOT / file).read_text(), re.M), (
            f"{name} is gone: run make slow"
        )


def test_durations_are_read() -> None:
    said = [
        "0.15s setup    tests/a.py::test_x[a b]",
        "0.15s call     tests/a.py::test_x[a b]",
        "0.10s call tests/a.py::test_y",
    ]
    assert listed([*said, "12 passed in 3s"]) == ["tests/a.py::test_x"]
