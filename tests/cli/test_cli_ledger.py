"""The gate with a ledger on the command line: exit codes, comments, plans, kills and many at once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from command_line import shardwise
from shardwise.analysis.ledger import load_ledger

ITEMS = 300


def write_answers(path: Path, right: object) -> None:
    rows = "".join(f"q{k},{int(x)}\n" for k, x in enumerate(np.asarray(right)))
    path.write_text(f"question,correct\n{rows}")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    base = np.arange(ITEMS) % 10 < 6
    write_answers(tmp_path / "base.csv", base)
    write_answers(tmp_path / "same.csv", np.roll(base, 1))
    write_answers(tmp_path / "good.csv", base | (np.arange(ITEMS) % 10 < 8))
    write_answers(tmp_path / "best.csv", np.ones(ITEMS))
    return tmp_path


def judge(*words: object) -> subprocess.CompletedProcess[str]:
    return shardwise("gate", *words, "--ledger", "gate.jsonl")


def test_a_loop_on_the_command_line(folder: Path) -> None:
    failed = judge("base.csv", "same.csv", "--margin", 0)
    assert failed.returncode == 3
    assert failed.stdout.startswith("❌ FAIL: cannot show that same is better than base.\n")
    # the margin of the beginning holds
    passed = judge("base.csv", "good.csv", "-f", "markdown")
    assert passed.returncode == 0
    assert passed.stdout.startswith("✅ PASS: good is better than base (97.5% confidence over all candidates")
    followed = judge("best.csv", "-f", "json")
    facts = json.loads(followed.stdout)
    assert (facts["passes"], facts["margin"], facts["rows"][0]["base"]) == (True, 0.0, "good")
    assert facts["rows"][0].keys().isdisjoint({"p", "difference"})
    again = judge("good.csv")
    assert again.returncode == 0
    assert "Candidate 2 judged before, and not counted again" in again.stdout
    shown = judge("best.csv", "--reveal", "-f", "json")
    (row,) = json.loads(shown.stdout)["rows"]
    assert (row["difference"], row["candidates"]) == (pytest.approx(0.2), 3)
    plan = json.loads(judge("--plan", "-f", "json").stdout)
    assert (plan["candidates"], plan["accepted"], plan["rows"][0]["candidate"]) == (3, 2, 4)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("base.csv", "good.csv", "--margin", "0.02"), "was begun with margin 0.0, and now it is 0.02"),
        (("base.csv", "good.csv", "--method", "t holm"), "--method has no effect with a ledger"),
        (("base.csv", "good.csv", "--sequential", "s.json"), "--ledger has no effect with --sequential"),
        (("base.csv", "good.csv", "--margin", "0:no-rare-failures"), "has no effect with a ledger"),
        (
            ("good.csv", "--base-of", "absent.jsonl"),
            "absent.jsonl: cannot be read (No such file or directory)",
        ),
        (("base.csv", "good.csv", "-m", "a", "-m", "b"), "has no measure 'a'; it has correct"),
        (("good.csv", "--base-of", "base.csv"), "base.csv: is not a ledger; name another file"),
    ],
)
def test_what_a_ledger_cannot_honour_is_refused_in_one_line(
    folder: Path, words: tuple[str, ...], message: str
) -> None:
    judge("base.csv", "same.csv", "--margin", 0)
    before = (folder / "gate.jsonl").read_bytes()
    done = judge(*words)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert message in done.stderr
    assert (folder / "gate.jsonl").read_bytes() == before


def test_options_of_a_ledger_need_one(folder: Path) -> None:
    done = shardwise("gate", "base.csv", "good.csv", "--reveal")
    assert done.stderr == "--reveal has no effect without a ledger; add --ledger gate.jsonl\n"


def test_hold_outs_for_loops_are_planned() -> None:
    rows = json.loads(shardwise("design", "loop", "--topics", 1000, "--min-diff", 0.07, "-f", "json").stdout)[
        "rows"
    ]
    assert (rows[0]["accepted"], rows[0]["candidates"]) == (0, 100)
    counts = [row["candidates"] for row in rows]
    assert counts == sorted(counts, reverse=True)


MEASURED = "question,category,correct,polite\n"


def test_several_measures_and_slices_on_the_command_line(folder: Path) -> None:
    """The question of the first candidate holds for the next ones; which measure failed is not told."""
    right = np.arange(ITEMS) % 10 < 6
    for name, correct, harm in (
        ("old", right, 0),
        ("new", right | (np.arange(ITEMS) % 10 < 8), 0),
        ("rash", right, 9),
    ):
        rows = (f"q{k},{'abc'[k % 3]},{int(x)},{int(k % 10 >= harm)}\n" for k, x in enumerate(correct))
        (folder / f"{name}.csv").write_text(MEASURED + "".join(rows))
    asked = ("-m", "correct", "-m", "polite", "--margin", "correct=0,polite=0.1", "--by", "category")
    first = judge("old.csv", "new.csv", *asked, "-f", "markdown")
    assert first.returncode == 0, first.stderr
    words = "new is better than old by correct and at most 0.1 worse by polite (97.5% confidence over all candidates"
    assert first.stdout.startswith(f"✅ PASS: {words} of this ledger); significantly worse on no category.")
    second = judge("rash.csv", "-f", "json")
    facts = json.loads(second.stdout)
    assert (second.returncode, facts["passes"], facts["measure"]) == (3, False, "correct, polite")
    assert [row["verdict"] for row in facts["rows"]] == ["fail", "fail"]
    assert facts["rows"][0].keys().isdisjoint({"p", "difference", "passes"})
    plan = json.loads(judge("--plan", "-f", "json").stdout)
    assert {row["measure"] for row in plan["rows"]} == {"correct", "polite"}


@pytest.mark.skipif(sys.platform == "win32", reason="no such limits")
def test_a_full_disk_counts_nothing_and_is_said_in_one_line(folder: Path) -> None:
    """A limit on the size of files cuts a line off in the middle, as a full disk does."""
    import resource

    words = ["base.csv", "good.csv", "--margin", "0", "--ledger", "gate.jsonl"]
    line = [sys.executable, "-m", "shardwise", "gate", *words]

    def call(limit: int | None) -> subprocess.CompletedProcess[str]:
        def restrict() -> None:
            if limit is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        return subprocess.run(line, capture_output=True, text=True, check=False, preexec_fn=restrict)

    assert judge("base.csv", "same.csv", "--margin", 0).returncode == 3
    before = (folder / "gate.jsonl").read_bytes()
    for room in (0, 1, 200):
        done = call(len(before) + room)
        assert (done.returncode, len(done.stderr.splitlines()), done.stdout) == (2, 1, "")
        assert "gate.jsonl: cannot be written (File too large); check" in done.stderr
        assert (folder / "gate.jsonl").read_bytes() == before
    assert call(None).returncode == 0
    assert [look["name"] for look in load_ledger(folder / "gate.jsonl").looks] == ["same", "good"]


def start(folder: Path, name: str) -> subprocess.Popen[bytes]:
    words = [
        sys.executable,
        "-m",
        "shardwise",
        "gate",
        "base.csv",
        name,
        "--margin",
        "0",
        "--ledger",
        "gate.jsonl",
    ]
    return subprocess.Popen(words, cwd=folder, stdout=-1, stderr=-1, env=os.environ)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="Windows has no such signal")
@pytest.mark.parametrize("attempts", [6, pytest.param(12, marks=pytest.mark.full)])
def test_killed_commands_leave_a_whole_ledger(folder: Path, attempts: int) -> None:
    """Killed at times that lie evenly about the end of the first, which is left alone."""
    rng = np.random.default_rng(2)
    seconds = 1.0
    for attempt in range(attempts):
        write_answers(folder / f"c{attempt}.csv", rng.random(ITEMS) < 0.6)
        began = time.monotonic()
        process = start(folder, f"c{attempt}.csv")
        if attempt:
            time.sleep(seconds * (0.7 + 0.36 * attempt / attempts))
            process.kill()
        process.communicate()
        seconds = time.monotonic() - began if not attempt else seconds
    ledger = load_ledger(folder / "gate.jsonl")
    names = [look["name"] for look in ledger.looks]
    assert len(set(names)) == len(names)
    assert set(names) <= {f"c{k}" for k in range(attempts)}
    last = f"c{attempts - 1}"
    done = judge("base.csv", f"{last}.csv")
    assert done.returncode in (0, 3)
    # counted once, whether the killed one had recorded it or not
    assert len(load_ledger(folder / "gate.jsonl").looks) == len({*names, last})
