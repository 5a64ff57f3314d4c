"""Property tests try the same examples on every machine, and others where that is asked for."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
PROPERTY = """
import os
from hypothesis import given, strategies

tried = []

@given(strategies.integers(0, 10**9))
def test_small(number):
    tried.append(number)
    assert number < float(os.environ["LIMIT"])

def test_list():
    print("tried", tried)
    assert False
"""
CUT = """
import pytest

@pytest.fixture(scope="session", autouse=True)
def reports_without_simulation():
    yield
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of tests with our settings, and without the rest of the package."""
    tests = tmp_path / "tests"
    (tests / "inner").mkdir(parents=True)
    shutil.copy(TESTS / "conftest.py", tests)
    (tests / "slow.txt").touch()
    (tests / "inner" / "conftest.py").write_text(CUT)
    return tests / "inner"


def run_tests(folder: Path, limit: float, **environment: str) -> str:
    """Return what pytest says of a property that fails from a limit on."""
    (folder / "test_property.py").write_text(PROPERTY)
    known = {
        name: value
        for name, value in os.environ.items()
        if name not in ("CI", "SHARDWISE_EXPLORE", "PYTEST_ADDOPTS")
    }
    # other plugins take seconds to load
    known |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "LIMIT": str(limit)}
    command = [sys.executable, "-m", "pytest", "-p", "_hypothesis_pytestplugin", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "-c", os.devnull, "--rootdir", str(folder), str(folder)],
        capture_output=True, text=True, check=False, cwd=folder, env=known | environment,
    )  # fmt: skip
    return done.stdout


def list_tried(output: str) -> list[int]:
    line = next(line for line in output.splitlines() if line.startswith("tried ["))
    return [int(number) for number in line.removeprefix("tried [").removesuffix("]").split(", ")]


def test_every_machine_tries_the_same_examples(folder: Path) -> None:
    first, second = (list_tried(run_tests(folder, 2e9, **ci)) for ci in ({}, {"CI": "true"}))
    assert first == second
    assert len(first) == 100


def test_a_search_says_its_seed_and_tries_what_failed_before_first(folder: Path) -> None:
    output = run_tests(folder, 1000, SHARDWISE_EXPLORE="7")
    assert "SHARDWISE_EXPLORE=7" in output
    assert "@reproduce_failure" in output
    assert any((folder.parents[1] / ".hypothesis" / "examples").iterdir())
    # the smallest that failed, although another seed draws others and nothing fails any more
    assert list_tried(run_tests(folder, 2e9, SHARDWISE_EXPLORE="8"))[0] == 1000
