"""Kernels that come with the package: used without a compiler, and left alone where they are not for these sources."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import make_kernels
import pytest

from shardwise.core import compiled

SOURCE = """
from shardwise.core.compiled import njit
FACTOR = 3.0

@njit(cache=True)
def scaled(x: float) -> float:
    return FACTOR * x
"""
USE = """
import json, sys
from pathlib import Path
from shardwise.core import compiled
compiled.PACKAGE = Path(sys.argv[1])
sys.path.insert(0, str(compiled.PACKAGE / "room"))
from one_kernel import scaled
value = scaled(2.0)
stats = scaled.stats
print(json.dumps([value, sum(stats.cache_hits.values()), sum(stats.cache_misses.values())]))
"""

needs_target = pytest.mark.skipif(compiled.target() is None, reason="no kernels are made for this processor")


def use(package: Path, cache: Path, **variables: str) -> list[float]:
    """Value, kernels found and kernels compiled, in a process with that cache of its own."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    env |= {"NUMBA_CACHE_DIR": str(cache), "PYTHONDONTWRITEBYTECODE": "1", **variables}
    command = [sys.executable, "-c", USE, str(package)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    found: list[float] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A package of one kernel, which comes with it compiled."""
    folder = tmp_path_factory.mktemp("package")
    (folder / "room").mkdir()
    (folder / "room" / "one_kernel.py").write_text(SOURCE)
    wanted = compiled.target()
    assert wanted is not None
    cache = tmp_path_factory.mktemp("cache")
    variables = {"NUMBA_CPU_NAME": wanted[0], "NUMBA_CPU_FEATURES": wanted[1]}
    assert use(folder, cache, **variables) == [6.0, 0, 1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(make_kernels, "PACKAGE", folder)
        patch.syspath_prepend(folder / "room")
        assert make_kernels.gather([cache]) == 1
    return folder


@pytest.fixture
def package(made: Path, tmp_path: Path) -> Path:
    """A copy of that package."""
    return Path(shutil.copytree(made, tmp_path / "package"))


@needs_target
def test_kernels_that_came_with_the_package_are_not_compiled(package: Path, tmp_path: Path) -> None:
    assert use(package, tmp_path / "empty") == [6.0, 1, 0]
    assert not list((tmp_path / "empty").rglob("*.nbc"))


@needs_target
@pytest.mark.parametrize("changed", ["one_kernel.py", "neighbour.py"])
def test_kernels_of_other_sources_are_compiled_anew(package: Path, tmp_path: Path, changed: str) -> None:
    path = package / "room" / changed
    path.write_text((SOURCE if changed == "one_kernel.py" else "").replace("3.0", "5.0") + "\nMORE = 1\n")
    expected = 10.0 if changed == "one_kernel.py" else 6.0
    assert use(package, tmp_path / "empty") == [expected, 0, 1]


@needs_target
@pytest.mark.parametrize("size", [0, 10, 200])
def test_damaged_kernels_are_compiled_anew(package: Path, tmp_path: Path, size: int) -> None:
    for path in (package / compiled.FOLDER).rglob("*.nb*"):
        path.write_bytes(path.read_bytes()[:size])
    assert use(package, tmp_path / "empty") == [6.0, 0, 1]


@needs_target
def test_kernels_with_checked_indices_are_compiled_anew(package: Path, tmp_path: Path) -> None:
    assert use(package, tmp_path / "empty", NUMBA_BOUNDSCHECK="1") == [6.0, 0, 1]


def test_the_digest_is_that_of_folders_with_kernels(tmp_path: Path) -> None:
    for name, text in {"room/kernels.py": SOURCE, "hall/words.py": "A = 1"}.items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
    before = compiled.stamp.__wrapped__(tmp_path)
    (tmp_path / "hall" / "words.py").write_text("A = 2")
    assert compiled.stamp.__wrapped__(tmp_path) == before
    (tmp_path / "room" / "more.py").write_text("B = 1")
    assert compiled.stamp.__wrapped__(tmp_path) != before
