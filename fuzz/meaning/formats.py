"""One result in every format: each number that is shown is that of the JSON, to the digits shown."""

from __future__ import annotations

import csv
import html
import io
import math
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fuzz.cases import Wrong
from fuzz.meaning.commands import read_json
from fuzz.meaning.inputs import INPUTS, Given
from fuzz.meaning.terminal import Done, run_line, run_well, write_inputs
from shardwise.writing.tables import MARKS

Row = Mapping[str, Any]
NUMBER = re.compile(r"[−-]?\d[\d,]*\.?\d*(?:e[+-]?\d+)?")
NOTHING = {"", "–", "--", "nan", "None"}
INFINITE = {"inf", "∞", "infty"}
"""What JSON has null for."""
OPTIONS = {
    "compare": (
        "--alpha 0.1",
        "--method 't holm'",
        "--only",
        "--baseline",
        "--margin 0.1",
        "--method 'wilcoxon bh'",
    ),
    "leaderboard": ("--alpha 0.1", "--method 't holm'", "--only", "--baseline"),
    "gate": ("--alpha 0.1", "--margin 0.1", "--lower-is-better"),
}
KINDS = ("wide", "gaps", "long", "repeats", "tasks", "measures")


@dataclass(frozen=True)
class Surface:
    """A command with its inputs."""

    command: str
    words: tuple[str, ...]
    given: Given
    table: str


def make_surface(g: random.Random) -> Surface:
    """Return a command whose result has many formats."""
    command = g.choice(list(OPTIONS))
    given = INPUTS[g.choice(KINDS)].make(g)
    words = list(given.inputs)
    if len(given.measures) > 1:
        words += ["--measure", given.measures[0]]
    if command == "gate":
        words += ["--baseline", given.systems[0], "--new", given.systems[1], "--missing", "leave"]
    for option in g.sample(OPTIONS[command], g.choice((0, 1, 1, 2))):
        if option in ("--only", "--baseline"):
            chosen = given.systems[:2] if option == "--only" else given.systems[-1:]
            words += [word for name in chosen for word in (option, name)]
        elif option.split()[0] not in words:
            words += option.replace("'", "").split(" ", 1)
    return Surface(
        command, tuple(words), given, g.choice(("systems", "pairs")) if command == "compare" else ""
    )


def try_surface(case: Surface) -> str:
    """Run a command in every format, and compare each with its JSON."""
    folder = write_inputs(case.given.files)
    shown = ["--table", case.table] if case.table else []
    words = (case.command, *case.words, *shown)
    first = run_line(folder, *words, "--format", "json")
    if first.code == 2:
        return "refused"
    whole = read_json(first)
    rows = whole["rows"]
    _compare_exactly(rows, csv.DictReader(io.StringIO(run_well(folder, *words, "--format", "csv").out)), case)
    for form, split in (("text", _split_text), ("markdown", _split_markdown), ("latex", _split_latex)):
        done = run_well(folder, *words, "--format", form)
        if done.code != first.code:
            raise Wrong(f"{form} ends with {done.code}, JSON with {first.code}: {done.explain()}")
        _compare_shown(rows, list(split(done.out)), f"{form} of {done.explain()}")
        answer = whole.get("answer", whole["title"].split("\n")[0])
        if _plain(answer) not in _plain(done.out):
            raise Wrong(f"{form} lacks {answer!r}: {done.explain()}")
    if case.command == "leaderboard":
        page = run_well(folder, *words, "--out", "board.html").files["board.html"].decode()
        _compare_board(rows, page, "leaderboard page")
    if case.command == "compare":
        _compare_report(folder, case, rows)
        _compare_sentences(folder, case, whole)
    return "right"


def _plain(text: str) -> str:
    """A text without what Markdown and LaTeX put between its characters."""
    return re.sub(r"[\\${}~*%\s]|ensuremath|textbf", "", html.unescape(text).replace("−", "-"))


def _parse(text: str) -> float | None:
    text = text.replace("−", "-").replace(",", "").replace("$", "").strip().lstrip("+")
    return None if text in NOTHING else math.inf if text in INFINITE else float(text)


def agrees(shown: str, value: Any) -> bool:
    """Tell whether a number is another one, rounded to the digits it is shown with; bounds such as "< 0.001" too."""
    text = shown.strip(" ▲▼△▽=≈").replace("−", "-").replace("$", "").removeprefix("+")
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return text in NOTHING or text.lstrip("-") in INFINITE
    if bound := re.fullmatch(r"(?:<|≤|&lt;|\\le)\s*(.+)", text):
        return value <= float(bound[1]) * (1 + 1e-9)
    number = _parse(text)
    if number is None:
        return False
    if math.isinf(number) or math.isinf(value):
        return number == value
    mantissa, _, exponent = text.lower().partition("e")
    step = 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
    return abs(number - value) <= 0.5 * step + 1e-9 * max(1.0, abs(value))


def _compare_exactly(rows: Sequence[Row], table: Any, case: Surface) -> None:
    """The CSV has all digits of the JSON."""
    lines = list(table)
    if len(lines) != len(rows):
        raise Wrong(f"{len(lines)} rows of CSV, {len(rows)} of JSON: {case.words}")
    for row, line in zip(rows, lines, strict=True):
        for name, text in line.items():
            value = row.get(name)
            number = isinstance(value, int | float) and not isinstance(value, bool)
            absent = value is None and (not text or text.lstrip("-") in INFINITE)
            if not (float(text) == value if number else absent or text == str(value)):
                raise Wrong(f"CSV {name} is {text!r}, JSON {value!r}: {case.command} {case.words}")


def _find_value(row: Row, name: str, text: str) -> Any:
    """Return the field that a column shows: under its name, or people's word for it."""
    key = name.replace(" ", "_")
    if name in ("verdict", "") and text in MARKS.values():
        return MARKS[row["verdict"]]
    if f"{name} difference" in row:
        return row[f"{name} difference"]
    if name.startswith("p vs "):
        return row[f"{name.removeprefix('p ')} p_adjusted"]
    if key in row:
        return row[key]
    if name == "p" and "p_adjusted" in row:
        return row["p_adjusted"]
    # the user's word for a system, and the name of the measure above the means
    return row["system"] if text == row.get("system") else row.get("mean")


def _compare_shown(rows: Sequence[Row], table: Sequence[Sequence[str]], where: str) -> None:
    """Every cell of a table is that of the JSON."""
    header, *lines = table
    if len(lines) != len(rows):
        raise Wrong(f"{len(lines)} rows, JSON has {len(rows)}: {where}")
    for row, line in zip(rows, lines, strict=True):
        for name, text in zip(header, line, strict=True):
            _compare_cell(row, name, text, where)


def _compare_cell(row: Row, name: str, text: str, where: str) -> None:
    fields = re.fullmatch(r"\d+(\.\d+)?% (CI.*|interval.*)", name)
    if fields or (" to " in text and {"lower", "upper"} <= row.keys()):
        ends = text.split(" to ") if " to " in text else ["", ""]
        right = all(agrees(end, row[key]) for end, key in zip(ends, ("lower", "upper"), strict=True))
    elif name == "rank" and "rank_best" in row:
        ends = re.split("[–-]+", text)
        right = [int(ends[0]), int(ends[-1])] == [row["rank_best"], row["rank_worst"]]
    else:
        value = _find_value(row, name, text)
        number = (isinstance(value, int | float) and not isinstance(value, bool)) or value is None
        right = agrees(text, value) if number else str(value) == text or isinstance(value, bool)
    if not right:
        raise Wrong(f"{name} is {text!r}, JSON {dict(row)}: {where}")


def _split_text(out: str) -> Iterator[list[str]]:
    """The table among the lines of a terminal: those with two spaces between cells, as many as the first has."""
    lines = [re.split(r"\s{2,}", line.strip()) for line in out.splitlines()]
    width = next((len(cells) for cells in lines if len(cells) > 3), 0)
    marked = any(cells[-1] == "verdict" for cells in lines)
    if any(len(cells) == width + 1 and cells[-1] in MARKS.values() for cells in lines):
        # the column of marks has no heading
        width, marked = width + 1, True
    # a tie has no mark at the end of its line
    lines = [[*cells, ""] if marked and len(cells) == width - 1 else cells for cells in lines]
    yield from (cells for cells in lines if len(cells) == width)


def _split_markdown(out: str) -> Iterator[list[str]]:
    for line in out.splitlines():
        if line.startswith("|") and not line.startswith("| ---"):
            yield [cell.strip().replace("\\", "") for cell in line.strip()[1:-1].split("|")]


def _split_latex(out: str) -> Iterator[list[str]]:
    for line in out.splitlines():
        if " & " in line and line.rstrip().endswith("\\\\"):
            math_set = re.sub(r"\\ensuremath\{([^{}]*)\}", r"$\1$", line)
            cells = math_set.rstrip().removesuffix("\\\\").split("& ")
            for mark, command in (("▲", "$\\bigtriangleup$"), ("▼", "$\\bigtriangledown$")):
                cells = [cell.replace(command, mark) for cell in cells]
            yield [cell.strip().replace("$", "").replace("\\", "") for cell in cells]


def _list_rows(table: str) -> Iterator[list[str]]:
    """Texts of the cells of the rows of an HTML table, drawings left out."""
    for row in re.findall(r"<tr.*?</tr>", table, re.S):
        cells = re.findall(
            r"<t[dh]\b[^>]*>(.*?)</t[dh]>", re.sub(r"<svg.*?</svg>", "", row, flags=re.S), re.S
        )
        yield [" ".join(html.unescape(re.sub(r"<[^>]+>", " ", cell)).split()) for cell in cells]


def _compare_board(rows: Sequence[Row], page: str, where: str) -> None:
    """The first table of a page has name, mean, interval, ranks and group of every system."""
    board = next(table for table in _list_tables(page) if 'id="board"' in table or "data-rank=" in table)
    ranked = "Rank" in board
    by_name = {row["system"]: row for row in rows}
    seen = set()
    for cells in _list_rows(board):
        name = next((cell for cell in cells if cell in by_name), None)
        if name is None:
            continue
        row = by_name[name]
        seen.add(name)
        text = " ".join(cell for cell in cells if cell != name)
        interval = re.search(rf"({NUMBER.pattern}) to ({NUMBER.pattern})", text)
        if row["lower"] is not None and (
            interval is None or not (agrees(interval[1], row["lower"]) and agrees(interval[2], row["upper"]))
        ):
            raise Wrong(f"{where}: interval of {name} in {cells}, JSON {row}")
        if not any(agrees(number, row["mean"]) for number in NUMBER.findall(text) if "." in number):
            raise Wrong(f"{where}: mean of {name} in {cells}, JSON {row}")
        ranks = {str(row["rank_best"]), f"{row['rank_best']}–{row['rank_worst']}"}
        if ranked and not ranks & set(text.split()):
            raise Wrong(f"{where}: ranks of {name} in {cells}, JSON {row}")
        if ranked and row.get("group") and row["group"] not in [cell.replace(" ", "") for cell in cells]:
            raise Wrong(f"{where}: group of {name} in {cells}, JSON {row}")
    if seen != set(by_name):
        raise Wrong(f"{where}: lacks {sorted(set(by_name) - seen)}")


def _list_tables(page: str) -> Iterator[str]:
    yield from re.findall(r"<table.*?</table>", page, re.S)


def _compare_report(folder: Path, case: Surface, rows: Sequence[Row]) -> None:
    """The report shows the systems and pairs of the JSON."""
    quiet = ("--quiet", "--report", "r.html", "--calibration", "0")
    done = run_line(folder, "compare", *case.words, *quiet)
    if done.code == 2 or "--baseline" in case.words:
        return
    page = done.files["r.html"].decode()
    systems = read_json(run_well(folder, "compare", *case.words, "--table", "systems", "--format", "json"))[
        "rows"
    ]
    _compare_board(systems, page, f"report of {case.words}")
    pairs = read_json(run_well(folder, "compare", *case.words, "--table", "pairs", "--format", "json"))[
        "rows"
    ]
    forest = next((table for table in _list_tables(page) if 'id="forest-0"' in table), None)
    if forest is None:
        return
    best = systems[0]["system"]
    for cells in _list_rows(forest):
        pair = next((p for p in pairs if {p["a"], p["b"]} == {best, cells[0]}), None)
        if pair is None:
            continue
        sign = 1 if pair["a"] == cells[0] else -1
        ends = sorted(sign * pair[key] for key in ("lower", "upper")) if pair["lower"] is not None else []
        shown = cells[2].split(" to ")
        right = agrees(cells[1], sign * pair["difference"]) and agrees(cells[4], pair["p_adjusted"])
        if not right or (ends and not all(agrees(text, end) for text, end in zip(shown, ends, strict=True))):
            raise Wrong(f"report of {case.words}: {cells}, JSON {pair}")


def _compare_sentences(folder: Path, case: Surface, whole: Mapping[str, Any]) -> None:
    """Means, differences, p-values and counts in sentences are those of the tables."""
    done = run_well(folder, "compare", *case.words)
    systems = {row["system"]: row for row in _read_rows(folder, case, "systems")}
    pairs = _read_rows(folder, case, "pairs")
    for name, mean in re.findall(rf"([\w-]+) \(({NUMBER.pattern})\)", whole["answer"]):
        if name in systems and not agrees(mean, systems[name]["mean"]):
            raise Wrong(f"{name} ({mean}), JSON {systems[name]['mean']}: {done.explain()}")
    if count := re.search(r"(\d+) of (\d+) (?:pairs|systems|\w+) differ significantly", done.out):
        found = sum(row["p_adjusted"] is not None and row["p_adjusted"] <= whole["alpha"] for row in pairs)
        if [found, len(pairs)] != [int(count[1]), int(count[2])]:
            raise Wrong(f"{count[0]}, but {found} of {len(pairs)}: {done.explain()}")
    for difference, p in re.findall(
        rf"\(([+−]{NUMBER.pattern})[^)]*p (?:= |(?=[<≤]))([<≤ .\d]+)\)", whole["answer"]
    ):
        near = [row for row in pairs if agrees(difference.replace("+", ""), row["difference"])]
        near += [row for row in pairs if agrees(difference.replace("+", ""), -row["difference"])]
        if not any(agrees(p, row["p_adjusted"]) for row in near):
            raise Wrong(f"{difference}, p {p} in {whole['answer']!r}: {done.explain()}")


def _read_rows(folder: Path, case: Surface, table: str) -> list[Row]:
    done: Done = run_well(folder, "compare", *case.words, "--table", table, "--format", "json")
    rows: list[Row] = read_json(done)["rows"]
    return rows
