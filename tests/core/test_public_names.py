"""The public names are there, are what they say whatever was imported first, and cost nothing until used."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType

import pytest

import shardwise as sw


def test_public_names_are_few_and_there() -> None:
    assert len(sw.__all__) <= 45
    for name in sw.__all__:
        assert getattr(sw, name) is not None
    assert set(sw.__all__) <= set(dir(sw))


def test_namespaces_hold_what_they_list() -> None:
    spaces = [getattr(sw, name) for name in sw.__all__ if isinstance(getattr(sw, name), ModuleType)]
    assert len(spaces) >= 8
    for space in spaces:
        assert space.__all__
        for name in space.__all__:
            assert not isinstance(getattr(space, name), ModuleType), f"{space.__name__}.{name}"


@pytest.mark.slow
def test_parts_do_not_hide_functions_of_the_same_name() -> None:
    order = "import shardwise.scoring.undefined, shardwise.comparing.rankings, shardwise as sw; "
    check = "print(sw.score.__module__, sw.compare.__module__)"
    done = subprocess.run([sys.executable, "-c", order + check], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["shardwise.scoring.scoring", "shardwise.comparing.compare"]


def test_importing_the_package_loads_none_of_the_heavy_libraries() -> None:
    heavy = ("xarray", "pandas", "scipy", "altair")
    check = f"import sys, shardwise; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_unknown_names_are_refused() -> None:
    with pytest.raises(AttributeError, match="anovaa"):
        _ = sw.anovaa
