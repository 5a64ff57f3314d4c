"""Which small faults would the tests miss? Each mutation is made in a copy of the package and tests are run on it.

    python -m bench.mutants                    # all; survivors are listed
    python -m bench.mutants --only gate        # those whose file or text has this word
    python -m bench.mutants --list             # what there is, without running anything
    python -m bench.mutants --again            # those that were not killed are judged anew

A mutation (`mutants.toml`) names a file, a text that occurs in it once (however it is broken into lines), what replaces
it, and the tests that should notice. It is killed where one of these fails, or one of `SECOND`; tests that ran out of
time have not failed. The tests that killed are run on the package as it is, where they must pass. A text that is no
longer there is stale: move the mutation along with the code. Verdicts are kept in build/mutants.jsonl, so that a run
that was stopped goes on; one of a file that has changed since is judged anew.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import os
import re
import shutil
import signal
import sys
import tempfile
import time
import tomllib
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, NoReturn

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "shardwise"
JOURNAL = ROOT / "build" / "mutants.jsonl"
FAST = ("-m", "not calibration and not browser and not slow", "--hypothesis-profile=quick")
FULL = ("-m", "not calibration and not browser")
LIMIT = 1800  # seconds that the tests of one mutation may take
# what is loaded before pytest is not rewritten by it, and need not be
LOADED_BEFORE = "ignore::pytest.PytestAssertRewriteWarning"
PYTEST = ("-q", "-x", "-p", "no:cacheprovider", "-W", LOADED_BEFORE)
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S.*?)(?: - .*)?$", re.MULTILINE)


class Mutation(NamedTuple):
    """A small fault, and the tests that should notice it."""

    file: str
    old: str
    new: str
    tests: list[str]
    # why no test can notice it, where that is so
    equivalent: str = ""


class Judgement(NamedTuple):
    """What became of a mutation: killed, survived, stale or out of time, and by which test."""

    state: str
    by: str = ""
    # of the file that it changes
    digest: str = ""


# what the tests are built on, loaded once
LOADED = (
    "scipy.stats",
    "scipy.optimize",
    "pandas",
    "xarray",
    "pyarrow.compute",
    "hypothesis",
    "statsmodels.api",
)
# what survives its own tests has to survive these, too
SECOND = (
    *("tests/test_frozen.py", "tests/stats", "tests/methods", "tests/comparing", "tests/analysis"),
    *("tests/writing", "tests/cli/test_cli_golden.py"),
)


def read_mutations() -> list[Mutation]:
    """Read the list beside this file."""
    rows = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())["mutation"]
    return [Mutation(**row) for row in rows]


def mutate_text(mutation: Mutation, text: str) -> str | None:
    """Return the text with the fault in it; None where what it replaces does not occur exactly once."""
    words = r"\s+".join(re.escape(word) for word in mutation.old.split())
    changed, count = re.subn(words, lambda match: mutation.new.strip(), text)
    return changed if count == 1 else None


def copy_package(folder: Path) -> Path:
    """Copy the package with its compiled modules and byte code into a folder and return where it is."""
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("*.egg-info"))
    return folder / "src" / "shardwise"


def run_tests(tests: Sequence[str], folder: Path, how: Sequence[str] = FULL) -> Judgement:
    """Run tests against the package in a folder until one fails; survived where all pass.

    They run in a copy of this process, which has loaded what the package is built on: most mutations are killed in less
    time than that takes.
    """
    places = [str(folder / test) if test.startswith("src/") else test for test in tests]
    output = folder / "output.txt"
    child = os.fork()
    if child == 0:
        _run_pytest([*PYTEST, *how, *places], folder / "src", output)
    for _ in range(LIMIT):
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        time.sleep(1.0)
    else:
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return Judgement("out of time")
    code = os.waitstatus_to_exitcode(status)
    if code in (0, 5):
        # 5: all were left out
        return Judgement("survived")
    failed = FAILED.search(output.read_text())
    if code not in (1, 2) or failed is None:
        raise RuntimeError(f"pytest ended with {code}: {output.read_text()[-4000:]}")
    return Judgement("killed", failed[1])


def _run_pytest(arguments: list[str], source: Path, output: Path) -> NoReturn:
    """Run pytest on the package in a folder, and end this process by its exit code."""
    os.setsid()
    handle = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(handle, 1)
    os.dup2(handle, 2)
    # byte code that is not kept would take longer than most tests
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    os.environ |= {"PYTHONPATH": str(source), "OPENBLAS_NUM_THREADS": "1"}
    sys.path[:0] = [str(source)]
    code = 3
    try:
        code = int(pytest.main(arguments))
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def judge_mutation(mutation: Mutation, rounds: int) -> Judgement:
    """Run the mutation's own tests that are fast, then all of its own, then the others, until one fails."""
    path = PACKAGE / mutation.file
    text = path.read_text() if path.is_file() else ""
    changed = mutate_text(mutation, text)
    if changed is None:
        return Judgement("stale")
    digest = hashlib.sha256(text.encode()).hexdigest()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (copy_package(folder) / mutation.file).write_text(changed)
        judgement = Judgement("survived")
        for tests, how in ((mutation.tests, FAST), (mutation.tests, FULL), (SECOND, FULL))[:rounds]:
            if judgement.state == "survived":
                judgement = run_tests(tests, folder, how)
    return judgement._replace(digest=digest)


def read_journal() -> dict[tuple[str, str, str], Judgement]:
    """Verdicts of earlier runs on files that are still the same."""
    lines = JOURNAL.read_text().splitlines() if JOURNAL.exists() else []
    known = {}
    for row in map(json.loads, lines):
        path = PACKAGE / row["file"]
        if path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == row["digest"]:
            known[row["file"], row["old"], row["new"]] = Judgement(row["state"], row["by"], row["digest"])
    return known


def find_false_killers(judgements: Sequence[Judgement]) -> str:
    """Return which test that killed fails on the package as it is, too; empty where none does."""
    killers = set()
    for judgement in judgements:
        place, _, name = judgement.by.partition("::")
        if place.startswith("tests/"):
            killers.add(judgement.by.split("[")[0])
        elif place:
            # an example in a docstring: package.room.module.function
            parts = name.split(".")
            files = (ROOT.joinpath("src", *parts[:k]).with_suffix(".py") for k in range(len(parts), 1, -1))
            killers.update(str(file.relative_to(ROOT)) for file in files if file.is_file())
    with tempfile.TemporaryDirectory() as name:
        copy_package(Path(name))
        return run_tests(sorted(killers), Path(name)).by if killers else ""


def main() -> int:
    """Judge the mutations and print those that survive; 1 where one does without a reason."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="word in the file or the texts")
    parser.add_argument("--list", action="store_true", help="print what there is")
    parser.add_argument("--again", action="store_true", help="judge anew what was not killed")
    parser.add_argument(
        "--rounds",
        type=int,
        default=3,
        help="1: fast tests that a mutation names, 2: all of these, 3: others, too",
    )
    options = parser.parse_args()
    chosen = [m for m in read_mutations() if options.only in f"{m.file} {m.old} {m.new}"]
    if options.list:
        print(*(f"{m.file}: {m.old.strip()!r} -> {m.new.strip()!r}" for m in chosen), sep="\n")
        return 0
    known = read_journal()
    JOURNAL.parent.mkdir(exist_ok=True)

    def judge(mutation: Mutation) -> Judgement:
        earlier = known.get(mutation[:3])
        if earlier is not None and (earlier.state == "killed" or not options.again):
            return earlier
        judgement = judge_mutation(mutation, options.rounds)
        with JOURNAL.open("a") as journal:
            row = dict(zip(("file", "old", "new"), mutation[:3], strict=True)) | judgement._asdict()
            journal.write(json.dumps(row) + "\n")
        return judgement

    counts = {"killed": 0, "survived": 0, "equivalent": 0, "out of time": 0, "stale": 0}
    judgements = []
    for module in LOADED:
        importlib.import_module(module)
    for mutation in chosen:
        judgement = judge(mutation)
        judgements.append(judgement)
        state = "equivalent" if judgement.state == "survived" and mutation.equivalent else judgement.state
        counts[state] += 1
        if state != "killed":
            reason = f" ({mutation.equivalent})" if mutation.equivalent else ""
            print(f"{state}: {mutation.file}: {mutation.old!r} -> {mutation.new!r}{reason}", flush=True)
    false = find_false_killers(judgements)
    if false:
        print(f"fails without any mutation: {false}")
    print(", ".join(f"{number} {state}" for state, number in counts.items()))
    return int(bool(false) or counts["killed"] + counts["equivalent"] < len(chosen))


if __name__ == "__main__":
    sys.exit(main())
