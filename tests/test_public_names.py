"""The public names are there, are what they say whatever was imported first, and cost nothing until used."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType

import pytest

import shardwise as sw


def test_every_public_name_is_an_object_and_not_a_module() -> None:
    for name in sw.__all__:
        assert not isinstance(getattr(sw, name), ModuleType), name
    assert set(sw.__all__) <= set(dir(sw))


def test_parts_do_not_hide_functions_of_the_same_name() -> None:
    order = "import shardwise.score.undefined, shardwise.compare.rankings, shardwise.plot.intervals, shardwise as sw; "
    check = "print(sw.score.__module__, sw.compare.__module__)"
    done = subprocess.run([sys.executable, "-c", order + check], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["shardwise.score.scoring", "shardwise.compare.comparisons"]


def test_importing_the_package_loads_none_of_the_heavy_libraries() -> None:
    heavy = ("numba", "xarray", "pandas", "scipy", "altair")
    check = f"import sys, shardwise; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_unknown_names_are_refused() -> None:
    with pytest.raises(AttributeError, match="no attribute 'anovaa'"):
        _ = sw.anovaa
