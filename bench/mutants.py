"""Which small faults would the tests miss? Each mutation is made in a copy of the package and tests are run on it.

    python -m bench.mutants                    # all, two at a time; survivors are listed
    python -m bench.mutants --only gate        # those whose file or text has this word
    python -m bench.mutants --list             # what there is, without running anything

A mutation (`mutants.toml`) names a file, a text that occurs in it once, what replaces it, and the tests that should
notice. It is killed where one of these fails, or one of `SECOND`. A text that is no longer there is stale: move the
mutation along with the code.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
FAST = "not calibration and not browser"
LIMIT = 900  # seconds that the tests of one mutation may take


class Mutation(NamedTuple):
    """A small fault, and the tests that should notice it."""

    file: str
    old: str
    new: str
    tests: list[str]
    # why no test can notice it, where that is so
    equivalent: str = ""


# what survives its own tests has to survive these, too
SECOND = (
    *(
        "tests/test_frozen.py",
        "tests/stats",
        "tests/methods",
        "tests/comparing",
        "tests/analysis",
        "tests/writing",
    ),
    "tests/cli/test_cli_golden.py",
)


def read_mutations() -> list[Mutation]:
    """Read the list beside this file."""
    rows = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())["mutation"]
    return [Mutation(**row) for row in rows]


def copy_package(folder: Path) -> Path:
    """Copy the package with its compiled modules into a folder and return where it is."""
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    return folder / "src" / "shardwise"


def apply_mutation(mutation: Mutation, package: Path) -> bool:
    """Make the fault in the copy; False where its text does not occur exactly once."""
    path = package / mutation.file
    text = path.read_text() if path.is_file() else ""
    if text.count(mutation.old) != 1:
        return False
    path.write_text(text.replace(mutation.old, mutation.new))
    return True


def run_tests(tests: Sequence[str], folder: Path) -> bool:
    """Run tests against the package in a folder until one fails; True where all pass."""
    kept = [test for test in tests if not test.startswith("src/")]
    doctests = [str(folder / test) for test in tests if test.startswith("src/")]
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-m", FAST, "-p", "no:cacheprovider"]
    environment = os.environ | {"PYTHONPATH": str(folder / "src"), "OMP_NUM_THREADS": "1"}
    try:
        done = subprocess.run(
            [*command, *kept, *doctests], cwd=ROOT, env=environment, capture_output=True, timeout=LIMIT
        )
    except subprocess.TimeoutExpired:
        return False
    if done.returncode in (3, 4, 5):
        raise RuntimeError(done.stdout.decode()[-2000:] + done.stderr.decode()[-2000:])
    return done.returncode == 0


def judge_mutation(mutation: Mutation) -> str:
    """Return killed, survived or stale."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if not apply_mutation(mutation, copy_package(folder)):
            return "stale"
        if not run_tests(mutation.tests, folder):
            return "killed"
        return "survived" if run_tests(SECOND, folder) else "killed"


def main() -> int:
    """Judge the mutations and print those that survive; 1 where one does without a reason."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="word in the file or the texts")
    parser.add_argument("--list", action="store_true", help="print what there is")
    options = parser.parse_args()
    chosen = [m for m in read_mutations() if options.only in f"{m.file} {m.old} {m.new}"]
    if options.list:
        print(*(f"{m.file}: {m.old.strip()!r} -> {m.new.strip()!r}" for m in chosen), sep="\n")
        return 0
    counts = {"killed": 0, "survived": 0, "stale": 0, "equivalent": 0}
    with ThreadPoolExecutor(2) as pool:
        for mutation, state in zip(chosen, pool.map(judge_mutation, chosen), strict=True):
            state = "equivalent" if state == "survived" and mutation.equivalent else state
            counts[state] += 1
            if state != "killed":
                reason = f" ({mutation.equivalent})" if mutation.equivalent else ""
                print(f"{state}: {mutation.file}: {mutation.old!r} -> {mutation.new!r}{reason}", flush=True)
    print(", ".join(f"{number} {state}" for state, number in counts.items()))
    return int(counts["survived"] + counts["stale"] > 0)


if __name__ == "__main__":
    sys.exit(main())
