"""How many files with a known truth are read right, refused or misread: three sets of them, and parts kept aside.

    python bench/reading.py                          # all sets without the parts that nobody tunes on: counts
    python bench/reading.py --set wild --list        # what is said of each case of one set
    python bench/reading.py --only misread           # those that need work
    python bench/reading.py --held-out               # the parts kept aside: once, when nothing is changed any more

The folder of the data (SHARDWISE_DATA) holds ``spreadsheets``: tables and ``truth.json``, {case: {files, expect,
items, systems, cells, scale}}; and ``wild``: files of others and ``truth.json``, {cases: [{id, kind, expect, readings,
lower_is_better, files}]}. The third set is made by ``tests/found``. A case is kept aside by the hash of its name. A
refused file of ``wild`` and of ``found`` is tried again with every option that the refusal prints.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import io
import json
import os
import re
import shlex
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import xarray as xr
from tests.found.tables import TABLES, is_kept_aside

from shardwise.cli.main import main as run_command
from shardwise.core.errors import InputError
from shardwise.io.scores import read_scores

DATA = Path(os.environ.get("SHARDWISE_DATA", Path(__file__).parents[2] / "shared" / "data"))
SETS = ("spreadsheets", "wild", "found")
WRONG = ("misread", "upside down", "crash")
"""Outcomes that must not occur."""
REFUSALS = (2, 3)
"""Exit codes of a refusal."""
_OPTION = re.compile(r"""(?P<name>--[a-z][a-z-]*|-m)(?:[ =](?P<value>'[^']*'|"[^"]*"|[^\s;'"]+))""")
_CHOICES = re.compile(r"(?P<name>--[a-z][a-z-]*|-m): (?P<values>[^;]+)$", re.MULTILINE)


class Verdict(NamedTuple):
    """What became of a case: the outcome in a word, and what the reader says."""

    outcome: str
    text: str


def is_held_out(name: str) -> bool:
    """Tell whether a case is of the third that nobody tunes on."""
    return int(hashlib.sha256(name.encode()).hexdigest(), 16) % 3 == 0


def judge_case(folder: Path, case: dict[str, Any]) -> Verdict:
    """Return exact, several (measures), refused, misread or crash for one spreadsheet."""
    files = [folder / name for name in case["files"]]
    try:
        scores = read_scores(files if len(files) > 1 else files[0])
    except InputError as error:
        return Verdict("refused", str(error))
    except Exception as error:
        return Verdict("crash", f"{type(error).__name__}: {error}")
    if isinstance(scores, xr.Dataset):
        primary = scores.attrs.get("primary")
        if primary is None:
            names = ", ".join(map(str, scores.data_vars))
            first = next(iter(scores.data_vars.values()))
            text = f"measures {names}; {first.attrs['read_as']}"
            return Verdict("misread" if judge_scores(first, case) else "several", text)
        scores = scores[primary].assign_attrs({**scores.attrs, **scores[primary].attrs})
    problem = judge_scores(scores, case)
    read_as = str(scores.attrs["read_as"])
    return Verdict("misread", f"{problem} | {read_as}") if problem else Verdict("exact", read_as)


def judge_scores(scores: xr.DataArray, case: dict[str, Any]) -> str:
    """Return what differs between scores and the truth; an empty text where nothing does."""
    if case["expect"] == "refuse":
        return f"should be refused: {case.get('reason')}"
    extra = [dim for dim in scores.dims if dim not in ("topic", "system")]
    table = scores.mean(extra) if extra else scores
    systems = [str(name) for name in table["system"].values]
    if sorted(systems) != sorted(case["systems"]):
        return f"systems {systems[:6]} instead of {list(case['systems'])[:6]}"
    if table.sizes["topic"] != case["items"]:
        return f"{table.sizes['topic']} items instead of {case['items']}"
    for factor in case.get("scale") or [1]:
        if all(
            _same_cells(table.sel(system=name).values, cells, factor) for name, cells in case["cells"].items()
        ) and _same_rows(table, case, factor):
            return ""
    return "other scores"


def _same_cells(values: np.ndarray, cells: list[float | None], factor: float) -> bool:
    expected = np.sort([np.nan if cell is None else cell * factor for cell in cells])
    return bool(np.allclose(np.sort(values), expected, rtol=1e-9, atol=1e-12, equal_nan=True))


def _same_rows(table: xr.DataArray, case: dict[str, Any], factor: float) -> bool:
    names = sorted(case["cells"])
    expected = [[np.nan if cell is None else cell * factor for cell in case["cells"][name]] for name in names]
    rows = [tuple(np.round(row, 9)) for row in np.array(expected, dtype=float).T.tolist()]
    read = [
        tuple(np.round(row, 9))
        for row in table.sel(system=names).transpose("topic", "system").values.tolist()
    ]
    return Counter(map(str, rows)) == Counter(map(str, read))


def judge_wild(folder: Path, case: dict[str, Any]) -> Verdict:
    """Return right, after remedy, misled, refused, misread, upside down or crash for one case of the wild.

    ``after remedy``: refused, and an option that the refusal prints reads it right; ``misled``: refused, and the
    options that it prints give wrong answers only.
    """
    files = [entry["saved"].split("/", 1)[1] for entry in case["files"]]
    with contextlib.chdir(folder / case["id"]):
        code, out, err = run_leaderboard(files)
        if code not in REFUSALS:
            return _judge_answer(code, out, err, case)
        text = err.strip()
        trials = {shlex.join(options): options for options in list_remedies(text)}
        outcomes = {
            shown: _judge_answer(*run_leaderboard([*files, *trials[shown]]), case) for shown in trials
        }
    answers = {verdict.outcome for verdict in outcomes.values()} - {"refused"}
    tried = "".join(f"\n      {verdict.outcome:12} {shown}" for shown, verdict in outcomes.items())
    outcome = "misled" if answers else "refused"
    outcome = next((known for known in ("crash", "right") if known in answers), outcome)
    return Verdict("after remedy" if outcome == "right" else outcome, text + tried)


def _judge_answer(code: int | str, out: str, err: str, case: dict[str, Any]) -> Verdict:
    """Return the verdict on what one command printed."""
    if code in REFUSALS:
        return Verdict("refused", err.strip())
    if code != 0:
        return Verdict("crash", err.strip())
    result = json.loads(out)
    rows = result["rows"]
    text = " | ".join(map(str, result.get("notes", [])[:2]))
    if not any(agree_means(rows, reading["means"]) for reading in case["readings"]):
        votes = "votes" in case["kind"] and case["expect"] == "read"
        return Verdict("right" if votes else "misread", text)
    means = [row["mean"] for row in rows if row.get("mean") is not None]
    turned = case["lower_is_better"] and means and means[0] > means[-1]
    return Verdict("upside down" if turned else "right", text)


def agree_means(rows: Sequence[dict[str, Any]], means: dict[str, float | None] | None) -> bool:
    """Tell whether every system has a mean that is expected; a name may be longer than expected, such as a file's."""
    waiting = {name: mean for name, mean in (means or {}).items() if not name.endswith("#n")}
    if len(rows) != len(waiting):
        return False
    for row in rows:
        named = [name for name in waiting if _simplify(name) == _simplify(row["system"])] or list(waiting)
        equal = [name for name in named if _is_close(row.get("mean"), waiting[name])]
        if not equal:
            return False
        del waiting[equal[0]]
    return True


def _is_close(mean: float | None, expected: float | None) -> bool:
    return (
        mean is not None
        and expected is not None
        and abs(mean - expected) <= 1e-4 * max(1.0, abs(expected)) + 1e-6
    )


def _simplify(name: str) -> str:
    return re.sub(r"[^a-z0-9#*]+", "", str(name).lower())


def list_remedies(text: str) -> Iterator[list[str]]:
    """Yield the options that a refusal prints, those that stand side by side together.

    >>> list(list_remedies("a.csv: unclear; say --columns item=a or --columns 'item=b c' --measure x"))
    [['--columns', 'item=a'], ['--columns', 'item=b c', '--measure', 'x']]
    >>> list(list_remedies("a.csv: has 2 measures; choose one with --measure: loss, acc"))
    [['--measure', 'loss'], ['--measure', 'acc']]
    """
    for match in _CHOICES.finditer(text):
        yield from ([match["name"], value.strip()] for value in match["values"].split(", "))
    group: list[str] = []
    end = 0
    for match in _OPTION.finditer(text):
        if group and text[end : match.start()].strip():
            yield group
            group = []
        value = "".join(shlex.split(match["value"].rstrip(",.:")))
        end = match.end()
        if "…" not in value:
            group = [*group, match["name"], value]
    if group:
        yield group


def run_leaderboard(arguments: Sequence[str]) -> tuple[int | str, str, str]:
    """Return exit code and output of one command; the code is "crash" where it ends otherwise."""
    streams = [io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2)]
    code: int | str = 0
    command = ["shardwise", "leaderboard", *arguments, "--format", "json"]
    with (
        contextlib.redirect_stdout(streams[0]),
        contextlib.redirect_stderr(streams[1]),
        patch.object(sys, "argv", command),
    ):
        try:
            run_command()
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 1 if stop.code else 0
        except BaseException:
            code = "crash"
            streams[1].write(traceback.format_exc()[-400:])
    return code, *(stream.buffer.getvalue().decode("utf-8", "replace") for stream in streams)


def list_cases(data: Path, which: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield name and truth of every case of a set."""
    truth = json.loads((data / which / "truth.json").read_text())
    if which == "spreadsheets":
        yield from truth.items()
    else:
        yield from ((case["id"], case) for case in truth["cases"])


def write_found(folder: Path) -> None:
    """Write the tables of ``tests/found`` as those of the wild are kept."""
    cases = []
    for name, make in TABLES.items():
        found, home = make(), folder / "found" / "files" / name
        home.mkdir(parents=True)
        for file, text in found.files.items():
            (home / file).write_text(text, encoding="utf-8")
        cases.append(
            {
                "id": name,
                "kind": "found",
                "expect": found.expect,
                "readings": [{"means": means} for means in found.readings],
                "lower_is_better": found.lower_is_better,
                "files": [{"saved": f"{name}/{file}"} for file in found.files],
            }
        )
    (folder / "found" / "truth.json").write_text(json.dumps({"cases": cases}))


def main() -> None:
    """Print counts by what was expected, for each set; a line for each case where asked."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--set", choices=SETS, action="append", help="which set (default: both)")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the sets")
    parser.add_argument("--held-out", action="store_true", help="the third kept aside, instead of the rest")
    parser.add_argument("--list", action="store_true", help="what is said of each case")
    parser.add_argument("--only", default="", help="list cases of this outcome, such as misread")
    parser.add_argument("--match", default="", help="part of the name of a case")
    arguments = parser.parse_args()
    os.environ.update(COLUMNS="100", NO_COLOR="1", TERM="dumb")
    with tempfile.TemporaryDirectory() as folder:
        write_found(Path(folder))
        for which in arguments.set or SETS:
            count_outcomes(which, Path(folder) if which == "found" else arguments.data, arguments)


def count_outcomes(which: str, data: Path, arguments: argparse.Namespace) -> None:
    """Print the counts of one set, and the cases that are asked for."""
    folder = data.absolute() / which
    is_aside = is_kept_aside if which == "found" else is_held_out
    counts: Counter[tuple[str, str]] = Counter()
    for name, case in list_cases(data, which):
        if arguments.match not in name or is_aside(name) != arguments.held_out:
            continue
        verdict = judge_case(folder, case) if which == "spreadsheets" else judge_wild(folder / "files", case)
        counts[case["expect"], verdict.outcome] += 1
        wanted = arguments.only in ("", verdict.outcome, f"{case['expect']}:{verdict.outcome}")
        if wanted and (arguments.list or arguments.only):
            print(f"{verdict.outcome:12} {case['expect']:14} {name:32} {verdict.text}")
    print(f"{which}{', the part kept aside' if arguments.held_out else ''}: {sum(counts.values())} cases")
    for (expected, outcome), count in sorted(counts.items()):
        print(f"{count:6}  expected {expected:14} {outcome}")
    print(f"{sum(count for (_, outcome), count in counts.items() if outcome in WRONG):6}  wrong in all")


if __name__ == "__main__":
    main()
