"""A short run of the harness, and what longer ones have found."""

from __future__ import annotations

import ctypes
import faulthandler
import json
import multiprocessing
import signal
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from fuzz.cases import try_case
from fuzz.guard import guarded
from fuzz.kill import kill_all
from fuzz.meaning.commands import CHOICES, LEFT_OUT, UNTRIED, WEIGHTS
from fuzz.mutate import minimised
from fuzz.nulls import SHAPES, exceeds_limit, has_circle, run_shape
from fuzz.run import TARGETS, done_so_far, summary, tried_batch

from shardwise.cli.options import list_commands
from shardwise.io.files import PADDING

FEW = {"workbook": 3, "foreign": 2, "line": 8, "commands": 6, "changes": 4, "formats": 2}
MANY = {"workbook": 5, "foreign": 2, "line": 20, "commands": 15, "changes": 12, "formats": 3}
"""Cases of targets that are dear, in `make test` and in `make full`."""
SHAPES_KEPT = ("2-5 items", "2-5 right/wrong", "grades 1-5", "ties", "3 x 6, half missing", "one shared item",
    "constant system", "few clusters", "two tasks", "two seeds, one noisy", "few buyers")  # fmt: skip
"""One of each kind of scale, gap and layout."""


@pytest.mark.slow
@pytest.mark.parametrize("name", list(TARGETS))
def test_no_case_goes_wrong(name: str) -> None:
    for index in range(FEW.get(name, 25)):
        try_case(TARGETS[name], name, 7, index)


@pytest.mark.full
@pytest.mark.parametrize("name", list(TARGETS))
def test_no_further_case_goes_wrong(name: str) -> None:
    for index in range(FEW.get(name, 25), 10 * MANY.get(name, 40)):
        try_case(TARGETS[name], name, 7, index)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "tables"),
    [
        *((shape, 4) for shape in SHAPES_KEPT),
        *(pytest.param(shape, 40, marks=pytest.mark.full) for shape in SHAPES),
    ],
)
def test_tables_of_equal_systems_bring_no_contradiction_and_few_alarms(shape: str, tables: int) -> None:
    states, faults = run_shape(shape, tables, seed=1)
    assert not faults
    assert not exceeds_limit(states)


def test_alarms_beyond_chance_and_wins_in_a_circle_are_noticed() -> None:
    assert exceeds_limit(Counter(alarm=20, quiet=80))
    assert not exceeds_limit(Counter(alarm=8, quiet=92))
    assert has_circle({("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")})
    assert not has_circle({("a", "b"), ("b", "c"), ("a", "c")})


def test_every_command_and_option_is_tried_or_left_out_for_a_reason() -> None:
    leaves = list_commands()
    assert {" ".join(words) for words in leaves} == {*WEIGHTS, *LEFT_OUT}
    keys = {row.key for command in leaves.values() for row in command.rows.values() if not row.positional}
    assert keys == {*CHOICES, *UNTRIED}


def test_a_batch_is_told_and_counted(tmp_path: Path) -> None:
    told = tried_batch("number", 3, 0, 50)
    assert (told["last"], told["failures"], sum(told["counts"].values())) == (50, [], 50)
    journal = tmp_path / "journal.jsonl"
    journal.write_text(json.dumps(told) + "\n")
    assert done_so_far(journal, 3)["number"] == 50
    assert done_so_far(journal, 4)["number"] == 0
    assert "| number | 50 |" in summary(journal)


def test_what_fails_is_made_small() -> None:
    assert minimised(b"abc x def y ghi", lambda text: b"x" in text and b"y" in text) == b"xy"


def _read_on(size: int, further: int) -> None:
    faulthandler.disable()  # the signal is what is wanted
    place, _ = guarded(np.full(size + PADDING, 10, dtype=np.uint8), size)
    ctypes.string_at(place.ctypes.data, len(place) + further)


@pytest.mark.parametrize("size", [0, 1, 4096, 50_000])
def test_who_reads_behind_guarded_text_ends_by_a_signal(size: int) -> None:
    ends = []
    for further in (0, 1):
        worker = multiprocessing.get_context("fork").Process(target=_read_on, args=(size, further))
        worker.start()
        worker.join()
        ends.append(worker.exitcode)
    assert ends == [0, -signal.SIGSEGV]


QUICK = (
    "scores.csv",
    "scores.csv.zst",
    "scores.parquet",
    "scores.nc",
    "collection",
    "steps",
    "moments",
    "simulate",
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("writers", "rounds"),
    # text, tables of a library, a folder, and files made by a command
    [
        (("scores.csv", "scores.parquet", "steps", "simulate"), 1),
        pytest.param(QUICK, 5, marks=pytest.mark.full),
    ],
    ids=["four writers", "quick writers"],
)
def test_files_are_old_or_new_whenever_their_writer_is_killed(writers: tuple[str, ...], rounds: int) -> None:
    found = kill_all(rounds * len(writers), seed=5, names=writers)
    assert found.keys() == set(writers)
    assert sum(map(Counter.total, found.values())) == rounds * len(writers)
