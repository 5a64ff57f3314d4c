"""Which examples the property tests try, where the real data is, and how long calibrations run."""

from __future__ import annotations

import gc
import os
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import is_hypothesis_test, settings
from hypothesis.database import DirectoryBasedExampleDatabase

ROOT = Path(__file__).parent.parent

# Byte code is kept, whoever forbids it: the processes that tests start, and their workers, would compile it all anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Every machine tries the same examples, with CI in the environment or without; the first may compile a kernel.
REPEATABLE = settings(settings.get_profile("default"), deadline=None, derandomize=True, database=None)
settings.register_profile("repeatable", REPEATABLE, max_examples=100)
settings.register_profile("quick", REPEATABLE, max_examples=15)  # make check
# Others are tried by make explore, by a seed of its own; those that fail are kept, and come first the next time.
FAILURES = DirectoryBasedExampleDatabase(ROOT / ".hypothesis" / "examples")
settings.register_profile("explore", REPEATABLE, derandomize=False, database=FAILURES, print_blob=True)
EXPLORE_SEED = os.environ.get("SHARDWISE_EXPLORE")
settings.load_profile("explore" if EXPLORE_SEED else "repeatable")


def pytest_report_header() -> str:
    """Say by which seed examples are drawn at random, where they are."""
    return f"examples drawn by SHARDWISE_EXPLORE={EXPLORE_SEED}" if EXPLORE_SEED else ""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests that were measured to be slow (`make slow` lists them anew); `full` ones wait for `make full`."""
    if "full" not in config.option.markexpr:
        config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("full")])
        items[:] = [item for item in items if not item.get_closest_marker("full")]
    slow = set((ROOT / "tests" / "slow.txt").read_text().splitlines())
    for item in items:
        if item.nodeid.split("[")[0] in slow and item.get_closest_marker("guard") is None:
            item.add_marker("slow")
        if EXPLORE_SEED and isinstance(item, pytest.Function) and is_hypothesis_test(item.function):
            # hypothesis.seed and --hypothesis-seed set this too, but keep no failures
            item.function._hypothesis_internal_use_seed = int(EXPLORE_SEED)


def pytest_collection_finish() -> None:
    """What is loaded by now stays: collecting garbage, which statsmodels asks for often, need not go through it."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def data() -> Path:
    """Folder of the real runs and score matrices; tests that need it are skipped where it is absent."""
    folder = Path(os.environ.get("SHARDWISE_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no data folder {folder}; set SHARDWISE_DATA")
    return folder


@pytest.fixture(scope="session")
def covid_runs(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the 143 runs of TREC-COVID's first round."""
    folder = tmp_path_factory.mktemp("covid")
    with tarfile.open(data / "trec-covid-r1" / "round1_runs.tar.xz") as archive:
        # Python 3.11 has filters from 3.11.4 on
        archive.extraction_filter = getattr(tarfile, "data_filter", lambda member, path: member)
        archive.extractall(folder)
    return folder / "runs"


@pytest.fixture(scope="session")
def trec3() -> Path:
    """AP of 40 systems on the 50 topics of TREC-3, as a wide table; it comes with the package."""
    return ROOT / "src" / "shardwise" / "app" / "examples" / "adhoc3_ap.csv"


@pytest.fixture(scope="session", autouse=True)
def reports_without_simulation() -> Iterator[None]:
    """Reports leave out their calibration, which takes seconds, unless a test asks for it by number."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("shardwise.analysis.trust.default_budget", lambda systems: 0)
        yield


@pytest.fixture(autouse=True)
def environment_as_it_was() -> Iterator[None]:
    """No test leaves a variable of ours behind."""
    before = _variables()
    yield
    assert _variables() == before


def _variables() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name.startswith("SHARDWISE_")}


@pytest.fixture(scope="session")
def repetitions() -> float:
    """Factor on the repetitions of calibration tests: 1 as in CI, 10 with SHARDWISE_REPETITIONS=full."""
    return 10.0 if os.environ.get("SHARDWISE_REPETITIONS") == "full" else 1.0
