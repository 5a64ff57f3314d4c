"""Commands with their expected output: one file a case in tests/golden, errors included.

A case is a comment, a command line, its exit code, and what it writes. SHARDWISE_UPDATE_GOLDEN=1 writes the
outputs of all cases anew; look at the difference before keeping it. Inputs are in golden/inputs, and damaged
ones are made here.
"""

from __future__ import annotations

import gzip
import os
import re
import shlex
import shutil
from pathlib import Path

import pytest

from command_line import Done, shardwise

GOLDEN = Path(__file__).parent.parent / "golden"
CASES = sorted(path.stem for path in GOLDEN.glob("*.txt"))
GUARDS = (
    "compare", "compare-baseline", "compare-bootstrap", "compare-holes", "compare-markdown", "compare-names-latex",
    "compare-scores-csv", "compare-scores-json", "compare-shards", "design-interval", "design-pools", "design-power",
    "error-config-option", "error-run-duplicate", "error-scores-word", "gate", "gate-markdown",
    "instances-single", "leaderboard", "moments", "score", "score-csv", "score-diversity", "simulate", "stability",
)  # fmt: skip
"""Cases that make check tries too: one of every command and format that takes less than a second."""
UPDATE = bool(os.environ.get("SHARDWISE_UPDATE_GOLDEN"))
PYTHON = re.compile(  # that nobody at the command line is told to write
    r"""\bsw\.|\bscores(\.\w+\(|\[)|\b[a-z_]+=(['"(\[{]|True\b|None\b)|\bfill_undefined\b|\b\w+\(\.\.\."""
)
NUMBER = re.compile(r"-?\d+\.\d+(?:[eE][-+]?\d+)?|-?\d+e[-+]?\d+")

RUN = b"401 Q0 A-00 1 9.5 x\n401 Q0 B-01 2 9.4 x\n"
GAPS = "topic,system,shard,AP\n" + "".join(  # topic 1 has nothing relevant in shard 2; system x lacks a score
    f"{t},{s},{h},{0.2 + 0.1 * ((3 * t + h + k) % 5):.1f}\n"
    if (t, h) != (1, 2) and (t, s, h) != (2, "x", 1)
    else f"{t},{s},{h},nan\n"
    for t in range(1, 5)
    for k, s in enumerate("xyz")
    for h in (1, 2)
)
DAMAGED = {
    "empty.run": b"",
    "byte.run": RUN.replace(b"B-01", b"B\0-1"),
    "columns.run": RUN + b"401 Q0 A-02 3 9.3\n",
    "number.run": RUN.replace(b"9.4", b"9,4"),
    "nan.run": RUN.replace(b"9.4", b"nan"),
    "twice.run": RUN + b"401 Q0 A-00 3 9.3 x\n",
    "latin.run": RUN.replace(b" x\n", b" \xe9t\xe9\n"),
    "tags.run": RUN.replace(b"9.4 x", b"9.4 y"),
    "some.run": RUN,
    "elsewhere.run": RUN.replace(b"401", b"999"),
    "escape.run": RUN.replace(b" x\n", b" \x1b[31mred\n"),
    "cut.gz": gzip.compress(RUN * 50, mtime=0)[:-9],
    "noise.gz": b"this is no gzip file",
    "grade.qrels": b"401 0 A-00 1\n401 0 B-01 high\n",
    "judged-twice.qrels": b"401 0 A-00 1\n401 0 A-00 2\n",
    "empty.qrels": b"",
    "subtopics.qrels": b"401 1 A-00 1\n401 2 B-01 1\n",
    "intents.txt": b"401 1 0.5\n401 2\n",
    "few-intents.txt": b"401 1 0.5\n",
    "empty.csv": b"",
    "header.csv": b"topic,x,y\n",
    "numbers.csv": b"1,0.5,0.4\n2,0.3,0.2\n",
    "uneven.csv": b"topic,x,y\nt1,0.5,0.4\nt2,0.3\n",
    "word.csv": b"topic,x,y\nt1,0.5,good\nt2,0.3,0.2\n",
    "same.csv": b"topic,x,x\nt1,0.5,0.4\n",
    "twice.csv": b"topic,system,AP\nt1,x,0.5\nt1,x,0.4\n",
    "absent.csv": b"topic,system,AP\nt1,x,0.5\nt1,y,0.4\nt2,x,0.4\nt3,x,0.3\nt3,y,0.1\n",
    "inf.csv": b"topic,x,y\nt1,0.5,inf\nt2,0.3,0.2\n",
    "one-topic.csv": b"topic,x,y\nt1,0.5,0.4\n",
    "one-system.csv": b"topic,x\nt1,0.5\nt2,0.4\n",
    "holes.csv": b"topic,x,y\nt1,0.5,nan\nt2,0.3,0.2\nt3,0.2,0.15\nt4,0.4,0.2\n",
    "gaps.csv": GAPS.encode(),
    "one-measure.csv": b"topic,system,AP\nt1,x,0.5\nt1,y,0.4\nt2,x,0.4\nt2,y,0.1\n",
    "no-scores.csv": b"topic,system\nt1,x\nt2,y\n",
    "noise.nc": b"this is no NetCDF file",
    "noise.parquet": b"this is no Parquet file",
    "names.csv": b"topic,\x1b[2Jclear," + b"n" * 300 + b",<b>&_%$#\n1,0.5,0.4,0.1\n2,0.3,0.25,0.1\n3,0.4,0.3,0.2\n",
    "base.csv": b"question,model,correct\n" + b"".join(b"%d,old,%d\n" % (k, k % 3 > 0) for k in range(40)),
    "new.csv": b"question,model,correct\n" + b"".join(b"%d,new,%d\n" % (k, k % 3 > 0 or k % 7 == 0) for k in range(42)),
    "list.csv": b"file,system\na.run,x\n",
    "documents.txt": b"",
    "page.html": b"<html><body>no report</body></html>",
    "syntax.toml": b"[compare]\nmodel = MD1\n",
    "option.toml": b"[compare]\n\nmodle = \"MD1\"\n",
    "command.toml": b"[compair]\nmodel = \"MD1\"\n",
    "above.toml": b"baseline = \"x\"\n",
    "value.toml": b"[compare]\nscores = \"scores.csv\"\nalpha = \"five\"\n",
    "range.toml": b"[compare]\nscores = \"scores.csv\"\nalpha = 5\n",
    "list.toml": b"[compare]\nscores = \"scores.csv\"\nalpha = [0.05, 0.01]\n",
    "flag.toml": b"[compare]\nscores = \"scores.csv\"\nquiet = \"yes\"\n",
    "both.toml": b"[compare]\nscores = \"scores.csv\"\nqrels = \"qrels.txt\"\nruns = \"runs\"\n",
    "half.toml": b"[compare]\nqrels = \"qrels.txt\"\n",
    "format.toml": b"[compare]\nscores = \"scores.csv\"\nformat = \"pdf\"\n",
    "date.toml": b"[compare]\nscores = 2024-01-01\n",
    "idle.toml": b"[compare]\nscores = \"scores.csv\"\nshards = 5\n",
    "shared.toml": b"shards = 5\nread = \"names=file\"\n[compare]\nscores = \"scores.csv\"\n",
    "latin.toml": b"[compare]\nmodel = \"\xe9\"\n",
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with good and damaged inputs, to work in."""
    here = tmp_path / "work"
    shutil.copytree(GOLDEN / "inputs", here, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    (here / "bad").mkdir()
    for name, content in DAMAGED.items():
        (here / (name if name.endswith(".toml") else f"bad/{name}")).write_bytes(content)
    (here / "nothing").mkdir()
    monkeypatch.chdir(here)
    return here


def written(comment: str, command: str, done: Done) -> str:
    parts = [
        comment,
        f"$ {command}",
        f"exit {done.returncode}",
        "--- stdout",
        done.stdout + "--- stderr",
        done.stderr,
    ]
    return "\n".join(parts)


def alike(found: str, expected: str) -> None:
    """The same text, with decimal numbers that may differ as processors round differently.

    By one in the last place shown, or by a millionth of their size where more places are shown than a number has.
    """
    assert NUMBER.split(found) == NUMBER.split(expected)
    for a, b in zip(NUMBER.findall(found), NUMBER.findall(expected), strict=True):
        digits, _, power = b.lower().partition("e")
        last = 10.0 ** (int(power or 0) - len(digits.partition(".")[2]))
        assert abs(float(a) - float(b)) <= max(1.01 * last, 1e-6 * abs(float(b))), (a, b)


@pytest.mark.guard
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("case", GUARDS)
def test_guard(case: str) -> None:
    check_case(case)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("case", sorted(set(CASES) - set(GUARDS)))
def test_case(case: str) -> None:
    check_case(case)


def check_case(case: str) -> None:
    """Run the command of a case, and compare what it writes with what is expected."""
    path = GOLDEN / f"{case}.txt"
    expected = path.read_text(encoding="utf-8")
    comment, line = expected.splitlines()[:2]
    assert comment.startswith("# ")
    assert line.startswith("$ shardwise ")
    done = shardwise(*shlex.split(line)[2:])
    assert done.returncode == 0 or not PYTHON.search(done.stderr), done.stderr
    found = written(comment, line[2:], done)
    if UPDATE:
        path.write_text(found, encoding="utf-8")
    alike(found, expected if not UPDATE else found)


@pytest.mark.skipif(UPDATE, reason="the cases are being written")
def test_errors_are_one_line_on_standard_error() -> None:
    for case in CASES:
        code, _, output = (
            (GOLDEN / f"{case}.txt").read_text(encoding="utf-8").split("\nexit ")[1].partition("\n")
        )
        stdout, _, stderr = output.partition("--- stderr\n")
        assert code in ("0", "2", "3"), case
        if code == "2":
            assert stdout == "--- stdout\n", case
            assert len(stderr.splitlines()) == 1, case
            assert len(stderr) < 600, case
        assert "\x1b" not in output, case
        assert "Traceback" not in output, case
