"""Files beside the data that are called as modules are: no process of ours imports them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import shardwise as sw
from app_server import SOURCE
from command_line import shardwise
from strangers import forget_imported, list_imported, put_modules

LINES = (
    "from shardwise.cli.main import main",
    "if __name__ == '__main__':",
    "    main()",
)
"""What pip makes of a console entry."""
PROCESSES = """
import multiprocessing, os, sys
from concurrent.futures import ProcessPoolExecutor
import shardwise as sw
if __name__ == "__main__":
    # what the caller's executor starts by itself, it starts before; its processes start with the work
    pool = ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"))
    os.chdir(sys.argv[1])
    lab = sw.calibrate(sw.read_scores("scores.csv"), ["t holm"], repetitions=10, seed=1, executor=pool)
    print(lab.table.to_csv())
"""
CALIBRATE = ("calibrate", "scores.csv", "--method", "t holm", "--repetitions", "10", "--format", "csv")


COMPARE = ("compare", "data.nc", "--format", "csv")
AS_COMMAND, AS_MODULE = ("../command.py",), ("-m", "shardwise")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The same data in a clean folder, and beside modules of a stranger."""
    scores = xr.DataArray(
        np.random.default_rng(1).normal(size=(20, 3)),
        dims=("topic", "system"),
        coords={"topic": [f"q{k}" for k in range(20)], "system": ["a", "b", "c"]},
        name="score",
    )
    above = tmp_path_factory.mktemp("folders")
    clean, strange = above / "clean", above / "strange"
    for folder in (clean, strange):
        folder.mkdir()
        scores.to_netcdf(folder / "data.nc", engine="h5netcdf")
        scores.to_series().reset_index().to_csv(folder / "scores.csv", index=False)
    put_modules(strange)
    (above / "command.py").write_text("\n".join(LINES))
    (above / "processes.py").write_text(PROCESSES)
    return clean, strange


def run_here(folder: Path, *words: str) -> str:
    """What a command prints in the folder, run in this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        done = shardwise(*words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def run_python(folder: Path, *words: str) -> str:
    """What Python prints in a folder, with the package on its path and no protection from the environment."""
    forget_imported(folder)
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONSAFEPATH"}
    done = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env={**environment, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (done.returncode, list_imported(folder)) == (0, []), done.stderr
    return done.stdout


@pytest.mark.parametrize("program", [AS_COMMAND, AS_MODULE])
def test_netcdf_of_another_program(folders: tuple[Path, Path], program: tuple[str, ...]) -> None:
    clean, strange = folders
    assert run_python(strange, *program, *COMPARE) == run_here(clean, *COMPARE)


@pytest.mark.slow
def test_calibrate_on_processes(folders: tuple[Path, Path]) -> None:
    clean, strange = folders
    answer = run_python(clean, "../processes.py", str(strange))
    assert list_imported(strange) == []
    lab = sw.calibrate(sw.read_scores(clean / "scores.csv"), ["t holm"], repetitions=10, seed=1)
    assert answer == lab.table.to_csv() + "\n"


@pytest.mark.slow
def test_calibrate_on_a_local_cluster(folders: tuple[Path, Path]) -> None:
    pytest.importorskip("distributed", reason="dask.distributed is not installed")
    clean, strange = folders
    shared = run_python(strange, *AS_MODULE, *CALIBRATE, "--jobs", "local")
    assert shared == run_here(clean, *CALIBRATE)
