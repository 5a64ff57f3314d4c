"""Functions and programs of others are tried as our own methods are, and cannot learn anything but the scores."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import shardwise as sw
from command_line import options_of, shardwise
from shardwise.cli.checking import calibrate_methods
from shardwise.core.errors import InputError
from shardwise.lab import outside
from shardwise.lab.outside import ask_program, load_function, parse_outside, read_answer, shuffle_table
from shardwise.lab.trial import power_at_error

SD = {"topic": 0.2, "topic:system": 0.1}
SMALL: dict[str, Any] = {"systems": 4, "topics": 15, "repetitions": 60, "seed": 4}
NAMES = ["s1", "s2", "s3"]


def paired_t(table: pd.DataFrame) -> pd.DataFrame:
    rows = []
    for a, b in combinations(table.columns, 2):
        test = stats.ttest_rel(table[b], table[a])
        limits = test.confidence_interval()
        rows.append((b, a, test.pvalue, limits.low, limits.high))
    return pd.DataFrame(rows, columns=["a", "b", "p", "lower", "upper"])


def cheat(table: pd.DataFrame) -> list[float]:
    return [0.0] * (table.shape[1] * (table.shape[1] - 1) // 2)


def by_name(table: pd.DataFrame) -> list[float]:
    """Call the first system different from the second, and nothing else."""
    return [0.0 if {a, b} == {"s1", "s2"} else 1.0 for a, b in combinations(table.columns, 2)]


def test_the_paired_t_test_of_scipy_is_ours() -> None:
    """Every figure is that of `t none` on the same tables: rates, coverage, directions, power, contradictions."""
    lab = sw.simulate.judge(paired_t, SD, methods=["t none"], **SMALL)
    theirs, ours = (lab.rates[lab.rates["method"] == name] for name in ("paired_t", "t none"))
    assert {"raw", "family", "coverage", "wrong_way", "found", "matched", "contradiction"} <= set(
        theirs["figure"]
    )
    for column in ("rate", "low", "high", "n"):
        np.testing.assert_allclose(theirs[column], ours[column], rtol=0, atol=1e-12)
    row, beside = lab.figures.to_dict("records")
    assert row["contradictions"] == 0.0
    # its errors are those of its level, so that power at equal error is about its power
    assert row["matched_power"] == pytest.approx(row["power"], abs=0.05)
    assert row["seconds"] > beside["seconds"] > 0.0
    assert (lab.power.groupby("method")["power"].apply(list).map(np.mean)).nunique() == 1


def test_a_cheat_gets_what_it_deserves() -> None:
    lab = sw.simulate.judge(cheat, SD, **SMALL)
    (row,) = lab.figures.to_dict("records")
    assert row["family"] == row["pair"] == 1.0
    assert lab.table["status"].tolist() == ["fails"]
    # all power is gone once its errors are as rare as those of others
    assert row["power"] > 0.9
    assert row["matched_power"] < 0.06
    assert np.isnan(row["coverage"])


def test_names_and_places_tell_nothing() -> None:
    """The first two columns are two systems at random: one pair of six, whether they differ or not."""
    lab = sw.simulate.judge(by_name, SD, **(SMALL | {"repetitions": 400}))
    (row,) = lab.figures.to_dict("records")
    # every table has one such pair; half of it would be different systems if it could be chosen
    assert row["family"] == 1.0
    assert row["pair"] == pytest.approx(1 / 6, abs=0.04)
    assert row["power"] == pytest.approx(1 / 6, abs=0.04)


def test_tables_are_shuffled_and_can_be_found_again() -> None:
    y = np.arange(24.0).reshape(4, 3, 2)
    table, places = shuffle_table(y, ("topic", "system", "shard"), np.random.default_rng(5))
    assert table.index.names == ["item", "shard"]
    assert table.columns.tolist() == NAMES
    for system in range(3):
        assert sorted(table.iloc[:, places[system]]) == sorted(y[:, system].ravel())
    orders = {
        tuple(shuffle_table(y[..., 0], ("topic", "system"), np.random.default_rng(k))[1]) for k in range(60)
    }
    assert len(orders) == 6


@pytest.mark.parametrize(
    "answer",
    [
        [0.01, 0.2, 0.3],
        np.array([[1, 0.01, 0.2], [0.01, 1, 0.3], [0.2, 0.3, 1]]),
        pd.DataFrame([[1, 0.2, 0.01], [0.2, 1, 0.3], [0.01, 0.3, 1]], ["s1", "s3", "s2"], ["s1", "s3", "s2"]),
        pd.DataFrame({"a": ["s2", "s3", "s1"], "b": ["s1", "s2", "s3"], "p": [0.01, 0.3, 0.2]}),
    ],
)
def test_answers_of_every_form(answer: object) -> None:
    p = read_answer(answer, NAMES)[0]
    np.testing.assert_array_equal(p[[0, 0, 1], [1, 2, 2]], [0.01, 0.2, 0.3])
    np.testing.assert_array_equal(p, p.T)


def test_verdicts_limits_and_nothing() -> None:
    assert read_answer(np.array([True, False, True]), NAMES)[0, [0, 0, 1], [1, 2, 2]].tolist() == [0, 1, 0]
    assert read_answer([np.nan, 0.5, 0.5], NAMES)[0, 0, 1] == 1.0
    frame = pd.DataFrame({"a": ["s2"], "b": ["s1"], "significant": [True], "lower": [1.0], "upper": [3.0]})
    said = read_answer(frame, NAMES[:2])[:3]
    assert said[:, 1, 0].tolist() == [0, 1, 3]
    assert said[:, 0, 1].tolist() == [0, -3, -1]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ([0.1], "1 values for 3 pairs"),
        ([0.1, 0.2, 1.7], "not between 0 and 1"),
        (pd.DataFrame({"a": ["s1"], "b": ["s2"], "p": [0.1]}), "leaves pairs out"),
        (pd.DataFrame({"a": ["x"] * 3, "b": NAMES, "p": [0.1] * 3}), "a system that the table lacks"),
        (pd.DataFrame({"a": ["s1", "s1", "s2"], "b": ["s2", "s3", "s3"]}), "neither p nor significant"),
        (
            pd.DataFrame({"a": ["s1"], "b": ["s2"], "p": [0.1], "lower": [1.0], "upper": [0.0]}),
            "leaves pairs out",
        ),
    ],
)
def test_nonsense_is_named(answer: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_answer(answer, NAMES)


def test_one_that_fails_costs_its_row_alone() -> None:
    calls = []

    def fail_later(table: pd.DataFrame) -> list[float]:
        calls.append(1)
        if len(calls) > 30:
            raise KeyError("no such\nkey")
        return [0.5] * 6

    lab = sw.simulate.judge(fail_later, SD, methods=["t none"], jobs=1, **SMALL)
    assert lab.table["method"].tolist() == ["t none"]
    assert lab.notes == ("fail_later left out: table 31: KeyError: 'no such\\nkey'",)
    assert len(calls) == 31
    alone = sw.calibrate(SD, ["t none"], **SMALL)
    pd.testing.assert_frame_equal(lab.rates, alone.rates)
    with pytest.raises(InputError, match="left out: table 1: it returns 1 values"):
        sw.simulate.judge(lambda table: None, SD, **SMALL)


def test_power_at_equal_error_by_hand() -> None:
    # errors reach 0.05 half way between two levels
    found = np.array([[0.1, 0.5, 1.0], [0.3, 0.7, 1.0]])
    np.testing.assert_allclose(power_at_error(np.array([0.02, 0.08, 1.0]), found, 0.05), [0.3, 0.5])
    # of a method that errs more than that at every level, chance alone is left
    np.testing.assert_allclose(power_at_error(np.array([1.0, 1.0, 1.0]), found, 0.05), [0.005, 0.015])


PROGRAM = """
import os, sys
kind = sys.argv[1]
if kind == "hang":
    import time; open(__file__ + ".pid", "w").write(str(os.getpid())); time.sleep(60)
if kind == "crash": os.kill(os.getpid(), 11)
if kind == "fail": sys.exit("a line\\nthe last \\x1b line")
if kind == "flood":
    while True: sys.stderr.write("x" * (1 << 20))
if kind == "memory": bytearray(3 << 30)
names = open(sys.argv[2]).readline().strip().split(",")[1:]
if kind == "path": names.append(str("shardwise" in sys.modules or any("wise" in p for p in sys.path)))
with open(sys.argv[3], "w") as out:
    if kind == "nonsense": out.write("hello\\n\\x00,,\\n")
    if kind == "well": out.write("a,b,p,lower,upper\\ns1,s2,0.5,-1,1\\n")
    if kind == "path": out.write(f"a,b,p\\ns1,s2,0\\n{os.environ.get('PYTHONPATH')},{names[-1]},1\\n")
if kind == "nothing": os.remove(sys.argv[3])
"""
TWO = pd.DataFrame({"s1": [0.1, 0.2], "s2": [0.3, 0.1]}, index=pd.Index(["q1", "q2"], name="item"))


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


def ask(program: Path, kind: str) -> pd.DataFrame:
    return ask_program(
        [sys.executable, "-S", "-E" if kind != "path" else "-s", str(program), kind, "{table}", "{out}"], TWO
    )


def test_a_program_writes_pairs(program: Path) -> None:
    frame = ask(program, "well")
    assert frame.to_dict("records") == [{"a": "s1", "b": "s2", "p": 0.5, "lower": -1, "upper": 1}]


def test_a_program_has_the_users_path_without_our_folder(
    program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([outside.HOME, "/elsewhere"]))
    frame = ask(program, "path")
    assert frame["a"].tolist()[1] == "/elsewhere"


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("fail", r"ended with code 1 \(the last \\x1b line\)"),
        pytest.param(
            "crash", "was ended by signal 11", marks=pytest.mark.skipif(os.name == "nt", reason="signals")
        ),
        ("nothing", "wrote no file"),
        pytest.param("flood", "ended", marks=pytest.mark.skipif(os.name == "nt", reason="no limit of files")),
        ("nonsense", "no columns a and b"),
        pytest.param(
            "memory",
            r"MemoryError",
            marks=pytest.mark.skipif(sys.platform != "linux", reason="no limit of memory"),
        ),
        ("hang", "no answer after 1 seconds"),
    ],
)
def test_a_program_that_fails_is_one_line(
    kind: str, message: str, program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outside, "MEMORY", 1 << 30)
    monkeypatch.setattr(outside, "PATIENCE", 1 if kind == "hang" else 30)
    with pytest.raises((InputError, ValueError), match=message) as caught:
        ask(program, kind)
    assert "\n" not in str(caught.value)
    if kind == "hang" and os.name != "nt":
        with pytest.raises(ProcessLookupError):
            os.kill(int(Path(f"{program}.pid").read_text()), 0)


def test_a_program_that_is_not_there() -> None:
    with pytest.raises(InputError, match=r"ended with code 127 .no-such-program: No such file"):
        ask_program(["no-such-program", "{table}", "{out}"], TWO)


def test_functions_are_loaded_by_file_and_by_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "numpy.py").write_text("raise SystemExit('a stranger')")
    (tmp_path / "mine.py").write_text("import numpy\ntest = len\nvalue = 3\n")
    assert load_function("mine:test") is len
    assert load_function(f"{tmp_path / 'mine.py'}:test") is len
    assert load_function("itertools:chain.from_iterable") is not None
    assert parse_outside("family mine:test").error_rate == "family"
    for text, problem in (
        ("mine:other", "AttributeError"),
        ("mine:value", "cannot be called"),
        ("no.such:f", "ModuleNotFound"),
    ):
        with pytest.raises(InputError, match=problem):
            load_function(text)
    with pytest.raises(InputError, match="not told where to write"):
        parse_outside("program {table}")


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    y = np.random.default_rng(2).normal(0.5, 0.1, (12, 3)).round(3)
    pd.DataFrame(y, columns=list("abc")).rename_axis("item").to_csv(tmp_path / "scores.csv")
    return tmp_path / "scores.csv"


def test_the_command_line_tries_functions_and_programs(
    scores: Path, program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(scores.parent)
    Path("mine.py").write_text("def test(table):\n    return [0.0] * 3\ndef bad(table):\n    return 1 / 0\n")
    crash = f"{sys.executable} -S {program} fail {{table}} {{out}}"
    chosen = ("--method", crash, "--scenario", "flip", "--repetitions", 20, "-q")
    done = shardwise("calibrate", scores, "--method", "mine:test", "--method", "mine.py:bad", *chosen)
    assert done.returncode == 0, done.stderr
    assert re.search(r"new items like these +mine:test +pair +1 +1 +– ", done.stdout)
    assert "mine.py:bad left out: table 1: ZeroDivisionError: division by zero" in done.stdout
    assert "{out} left out: table 1: ended with code 1 (the last \\x1b line)" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


def test_only_what_was_typed_is_run(scores: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a configuration file nor a web page names code that is run."""
    monkeypatch.chdir(scores.parent)
    Path("mine.py").write_text("open('ran', 'w')\ntest = len\n")
    Path("shardwise.toml").write_text('scores = "scores.csv"\n[calibrate]\nmethod = ["mine:test"]\n')
    done = shardwise("calibrate", "--config", "shardwise.toml", "-q")
    assert done.returncode == 2
    assert "was not typed" in done.stderr
    with pytest.raises(InputError, match="was not typed"):
        calibrate_methods(options_of("calibrate", inputs=[scores], method=["mine:test"]), statements=False)
    assert not Path("ran").exists()


def test_the_wrapper_ends_programs_that_use_too_much_time() -> None:
    if os.name == "nt":
        pytest.skip("no signals")
    command = [
        sys.executable,
        "-m",
        "shardwise.lab.child",
        "1",
        str(1 << 30),
        sys.executable,
        "-S",
        "-c",
        "while 1: pass",
    ]
    assert subprocess.run(command, check=False, timeout=20).returncode < 0
