"""Help comes at once: nothing that computes is loaded for it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent.parent / "src"
HEAVY = ("numpy", "pandas", "xarray", "scipy", "altair", "pyarrow", "jinja2")
LOADED = """
import json, sys
from shardwise.cli.main import main
sys.argv = ["shardwise", *json.loads(sys.argv[1])]
try:
    main()
except SystemExit as stopped:
    code = stopped.code or 0
names = {name.partition(".")[0] for name in sys.modules} | sys.modules.keys() & {
    "scipy.stats", "scipy.optimize", "shardwise.scoring.scoring", "shardwise.sharding.split", "shardwise.io.reader"
}
sys.stderr.write(json.dumps([code, sorted(names)]))
"""


def loaded(*arguments: str) -> tuple[int, set[str], str]:
    """Exit code, modules and output of a command in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", LOADED, json.dumps(arguments)], capture_output=True, text=True, check=True
    )
    code, names = json.loads(done.stderr.splitlines()[-1])
    return code, set(names), done.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("--help",),
        ("--version",),
        ("compare", "--help"),
        ("design", "power", "--help"),
        ("gate", "-h"),
        ("compare", "--json-schema"),
    ],
    ids=" ".join,
)
def test_help_loads_nothing_that_computes(arguments: tuple[str, ...]) -> None:
    code, names, shown = loaded(*arguments)
    assert code == 0
    assert names & set(HEAVY) == set()
    assert names & {"typer", "click", "pydantic"} == set()
    assert shown


@pytest.mark.slow
def test_a_command_loads_what_it_needs(tmp_path: Path) -> None:
    """The test above sees modules where there are some."""
    code, names, _ = loaded("design", "power", "--variance", "0.05")
    assert code == 0
    assert {"numpy", "scipy", "pandas"} <= names


@pytest.mark.slow
def test_a_comparison_loads_no_library_that_it_does_not_call(trec3: Path) -> None:
    """Half a second of every command: the distributions of scipy, its optimizers, HDF5, charts and templates."""
    code, names, shown = loaded("compare", str(trec3), "-q")
    assert code == 0
    assert "Moderated" in shown
    libraries = {"scipy.stats", "scipy.optimize", "h5py", "h5netcdf", "altair", "vl_convert"}
    ours = {"shardwise.scoring.scoring", "shardwise.sharding.split", "shardwise.io.reader"}
    assert names & (libraries | ours) == set()


def test_the_package_can_be_run() -> None:
    variables = {**os.environ, "PYTHONPATH": str(SOURCE)}
    done = subprocess.run(
        [sys.executable, "-m", "shardwise", "--version"],
        capture_output=True,
        text=True,
        check=False,
        env=variables,
    )
    assert (done.returncode, done.stdout.split()[0]) == (0, "shardwise"), done.stderr


ALONE = """
import subprocess, sys, threading

def refuse(*arguments, **options):
    raise RuntimeError("can't start new thread")

threading.Thread.start = refuse
subprocess.Popen.__init__ = refuse
from shardwise.cli.main import main
sys.argv = ["shardwise", *sys.argv[1:]]
main()
"""


def test_a_comparison_needs_neither_threads_nor_processes(tmp_path: Path) -> None:
    rows = "".join(
        f"q{k},{(k * 7 % 11) / 11:.3f},{(k * 5 % 13) / 13:.3f},{(k * 3 % 7) / 7:.3f}\n" for k in range(40)
    )
    (tmp_path / "small.csv").write_text(f"question,a,b,c\n{rows}")
    commands = ([sys.executable, "-m", "shardwise"], [sys.executable, "-c", ALONE])
    answers = [
        subprocess.run(
            [*command, "compare", str(tmp_path / "small.csv")],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONPATH": str(SOURCE)},
        ).stdout
        for command in commands
    ]
    assert answers[0] == answers[1] != ""


def test_a_small_table_loads_what_its_answer_needs(tmp_path: Path) -> None:
    """What a comparison of a small table may load: numpy, the special functions of scipy, and what it calls of ours."""
    rows = "".join(f"q{k},{(k * 7 % 11) / 11:.3f},{(k * 5 % 13) / 13:.3f}\n" for k in range(40))
    (tmp_path / "small.csv").write_text(f"question,a,b\n{rows}")
    script = LOADED.replace(
        'names = {name.partition(".")[0] for name in sys.modules}', "names = {*sys.modules}"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, json.dumps(["compare", str(tmp_path / "small.csv")])],
        capture_output=True,
        text=True,
        check=True,
    )
    names = set(json.loads(done.stderr.splitlines()[-1])[1])
    ours = {name for name in names if name.startswith("shardwise")}
    assert len(ours) <= 122
    rooms = {name.split(".")[1] for name in ours if "." in name}
    assert rooms == {
        "analysis",
        "cli",
        "comparing",
        "core",
        "io",
        "lab",
        "methods",
        "planning",
        "stats",
        "writing",
    }
    may_load = {"lab.recorded", "planning.design", "methods.mixed.balanced", "comparing.comparisons"}
    may_load |= {"comparing.compare"}
    for room in ("lab", "planning", "methods.mixed", "comparing"):
        inside = {name.removeprefix("shardwise.") for name in ours if name.startswith(f"shardwise.{room}.")}
        assert inside <= may_load
    assert names & {"pandas", "pyarrow", "xarray", "jinja2", "rich", "altair"} == set()
    of_scipy = {name for name in names if name.startswith("scipy.") and name.count(".") == 1}
    assert not of_scipy & {f"scipy.{name}" for name in ("linalg", "sparse", "stats", "optimize", "integrate")}
