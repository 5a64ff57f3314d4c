"""Tables as people have them, with what they say: words of seven languages, layouts, dialects, traps, containers."""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.parquet

from fuzz.cases import FOLDER
from fuzz.meaning.truth import Truth, try_reading

WORDS = {
    # language: item, system, score, repeat, task, mean, right, wrong
    "en": ("topic query question item", "system model method", "score accuracy f1", "seed trial", "task", "Mean",
        "yes", "no"),
    "de": ("Frage Thema Aufgabe", "Modell Verfahren", "Wert Genauigkeit", "Durchlauf", "Datensatz", "Mittelwert",
        "ja", "nein"),
    "fr": ("sujet requête", "modèle système", "valeur exactitude", "essai graine", "dataset", "Moyenne", "oui", "non"),
    "es": ("pregunta consulta", "modelo sistema", "puntuación valor", "semilla", "dataset", "Promedio", "verdadero",
        "falso"),
    "it": ("domanda", "modello metodo", "punteggio valore", "tentativo", "dataset", "media", "vero", "falso"),
    "ru": ("вопрос запрос", "модель система", "оценка", "попытка", "dataset", "Среднее", "да", "нет"),
    "zh": ("问题 题目", "模型 系统", "得分 分数", "种子", "数据集", "平均值", "是", "否"),
}  # fmt: skip
COMMA = ("de", "fr", "es", "it", "ru")
"""Languages whose decimal mark is a comma."""
SYSTEMS = {
    "plain": ["bm25", "dense", "hybrid", "splade", "colbert"],
    "models": ["gpt-4o", "claude-3.5", "llama-3-70b", "qwen2.5-7B", "mixtral_8x7b"],
    "letters": ["A", "B", "C", "D", "E"],
    "commas": ["bm25, k1=0.9", 'the "new" one', "a; b", "tab\there", "x|y"],
    "spaces": ["Our method", "Baseline (tuned)", "GPT 4 + tools", "rerank @ 100", "no. 5"],
    "accents": ["Größe-1", "modèle léger", "база", "模型一", "Ñandú"],
    "odd": ["=1+1", "+a", "-b", "@c", "'d"],
    "worded": ["mean-pooling", "best-of-8", "cost-aware", "token-free", "rank fusion"],
    "scored": ["recall-tuned", "f1-loss", "score-fusion", "precision-first", "value-net"],
    "nouns": ["Our method", "New approach", "GPT tool", "prompt", "Baseline model"],
    "settings": ["0.1", "0.2", "0.5", "0.7", "1.0"],
    "years": ["2019", "2020", "2021", "2022", "2023"],
    "seeds": ["bm25_1", "bm25_2", "dense_1", "dense_2", "hybrid_1"],
}
"""Names of systems, of which some are taken in order."""
ITEMS: dict[str, Callable[[int], str]] = {
    "q": "q{}".format,
    "number": "{}".format,
    "padded": "{:03}".format,
    "trec": lambda k: str(300 + k),
    "sentence": "What is {0} + {0}, roughly?".format,
    "path": "set-a/case_{}".format,
    "accent": "Frage №{}".format,
    "hash": lambda k: f"{k * 2654435761 % 2**32:08x}",
    "date": lambda k: f"2024-03-{k:02}",
    "tricky": lambda k: ("Total", "best", "mean", "all")[k // 5] if k % 5 == 3 else f"word {k}",
    "literal": lambda k: ("true", "1e5", "None", "inf")[k // 5] if k % 5 == 3 else f"word {k}",
    "float": lambda k: f"{k}.5",
}
"""Names of items by their number from 1."""
VALUES: dict[str, tuple[Callable[[random.Random], float], int]] = {
    "share": (lambda g: g.random(), 4),
    "long share": (lambda g: g.random(), 15),
    "binary": (lambda g: float(g.random() < 0.6), 0),
    "percent": (lambda g: 100 * g.random(), 1),
    "grade": (lambda g: float(g.randint(1, 5)), 0),
    "count": (lambda g: float(g.randint(0, 40)), 0),
    "loss": (lambda g: 8 * g.random(), 3),
    "negative": (lambda g: -20 * g.random(), 2),
    "large": (lambda g: 3e6 * g.random(), 2),
    "tiny": (lambda g: 1e-5 * g.random(), 9),
    "verdict": (lambda g: float(g.random() < 0.5), 0),
}
"""Scores, and their digits after the point."""
BOOKKEEPING: dict[str, Callable[[random.Random, int], Any]] = {
    "latency_ms": lambda g, k: g.randint(80, 4000),
    "tokens": lambda g, k: g.randint(10, 900),
    "cost_usd": lambda g, k: round(g.random() / 50, 5),
    "timestamp": lambda g, k: 1_700_000_000 + 37 * k,
    "comment": lambda g, k: g.choice(("fine", "check again", "")),
    "answer": lambda g, k: f"answer {g.randint(0, 9)}",
    "category": lambda g, k: "abc"[k % 3],
    "difficulty": lambda g, k: 1 + k % 4,
    "Kosten": lambda g, k: round(g.random() / 50, 5),
    "durée": lambda g, k: g.randint(1, 90),
}
"""Columns that people keep beside scores."""


@dataclass(frozen=True)
class Grid:
    """Cells of a table before they are written: text, numbers and None.

    Parameters
    ----------
    header : list
        Names of the columns.
    rows : list of list
        Cells.
    digits : int
        Digits of numbers after the point.
    above, below : list of list
        Rows around the table.
    """

    header: list[str]
    rows: list[list[Any]]
    digits: int
    above: list[list[Any]] = field(default_factory=list)
    below: list[list[Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Plan:
    """Choices of one case."""

    language: str
    layout: str
    systems: str
    items: str
    values: str
    container: str
    traps: tuple[str, ...]

    @property
    def demanded(self) -> bool:
        """Whether anybody would understand it, and this program must."""
        usual = self.systems in ("plain", "models", "spaces") and self.values not in (
            "large",
            "count",
            "grade",
        )
        named = self.items not in ("hash", "sentence", "date", "tricky", "literal", "float")
        headed = self.layout in ("wide", "long", "repeats") and named
        return usual and headed and not set(self.traps) - {"gaps"}


def choose_plan(g: random.Random) -> Plan:
    """Choose a language, a layout, names, scores, a container and up to two traps."""
    layout = g.choice(list(LAYOUTS))
    # numbers as the only names, above numbers, say nothing to anybody
    systems = [name for name in SYSTEMS if layout != "nameless" or name not in ("settings", "years")]
    items = [name for name in ITEMS if layout != "transposed" or name not in ("tricky", "literal", "float")]
    return Plan(
        language=g.choice(("en", "en", *WORDS)),
        layout=layout,
        systems=g.choice(("plain", "models", *systems)),
        items=g.choice(("q", "number", *items)),
        values=g.choice(("share", "share", *VALUES)),
        container=g.choice(list(CONTAINERS)),
        traps=tuple(sorted(g.sample(list(TRAPS), g.choice((0, 0, 1, 1, 2))), key=list(TRAPS).index)),
    )


def make_table(g: random.Random) -> tuple[Truth, str, bytes]:
    """Return the truth, the name and the content of a file."""
    plan = choose_plan(g)
    words = [part.split() for part in WORDS[plan.language]]
    item, system, score, repeat, task = (g.choice(part) for part in words[:5])
    n_items, n_systems = g.randint(6, 18), g.randint(2, 5)
    draw, digits = VALUES[plan.values]
    repeats = g.randint(2, 3) if plan.layout in REPEATED else 1
    measures = {"several": (score, "recall"), "melted": ("AP", "nDCG@10"), "crossed": ("AP", "recall")}.get(
        plan.layout, (score,)
    )
    scores = {
        name: np.array(
            [
                [[round(draw(g), digits) for _ in range(repeats)] for _ in range(n_systems)]
                for _ in range(n_items)
            ]
        )
        for name in measures
    }
    if "gaps" in plan.traps:
        for _ in range(g.randint(1, 3)):
            next(iter(scores.values()))[g.randrange(n_items), 0, :] = np.nan
    truth = Truth(
        items=tuple(ITEMS[plan.items](k) for k in range(1, n_items + 1)),
        systems=tuple(SYSTEMS[plan.systems][:n_systems]),
        scores=scores,
        demanded=plan.demanded,
        # rows that stand twice, and items that are called as sums are, ask for an edit
        spoilt="twice" in plan.traps or plan.items == "tricky",
        traits=(
            plan.language,
            plan.layout,
            plan.systems,
            plan.items,
            plan.values,
            plan.container,
            *plan.traps,
        ),
    )
    heads = Heads(item, system, score, repeat, task, mean=words[5][0])
    truth, grid = LAYOUTS[plan.layout](g, truth, heads, digits)
    for trap in plan.traps:
        grid = TRAPS[trap](g, truth, grid, heads, plan)
    ending, write = CONTAINERS[plan.container]
    return truth, f"table{ending}", write(g, grid, plan)


@dataclass(frozen=True)
class Heads:
    """Words for the columns of a table."""

    item: str
    system: str
    score: str
    repeat: str
    task: str
    mean: str


# layouts: the truth as a grid -----------------------------------------------------------------------------------------

Made = tuple[Truth, Grid]


def _cell(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _lay_wide(g: random.Random, truth: Truth, heads: Heads, digits: int) -> Made:
    (scores,) = truth.scores.values()
    rows = [[name, *map(_cell, scores[k, :, 0])] for k, name in enumerate(truth.items)]
    return truth, Grid([heads.item, *truth.systems], rows, digits)


def _lay_transposed(g: random.Random, truth: Truth, heads: Heads, digits: int) -> Made:
    (scores,) = truth.scores.values()
    rows = [[name, *map(_cell, scores[:, k, 0])] for k, name in enumerate(truth.systems)]
    return truth, Grid([heads.system, *truth.items], rows, digits)


def _lay_long(g: random.Random, truth: Truth, heads: Heads, digits: int, *, repeats: bool = False) -> Made:
    header = [heads.item, heads.system, *([heads.repeat] if repeats else []), *truth.scores]
    rows = [
        [
            item,
            system,
            *([r + 1] if repeats else []),
            *(_cell(scores[k, j, r]) for scores in truth.scores.values()),
        ]
        for k, item in enumerate(truth.items)
        for j, system in enumerate(truth.systems)
        for r in range(next(iter(truth.scores.values())).shape[2])
    ]
    if g.random() < 0.3:
        g.shuffle(rows)
    if g.random() < 0.3:  # the system first
        header[:2], rows = header[1::-1], [[*row[1::-1], *row[2:]] for row in rows]
    return truth, Grid(header, rows, digits)


def _lay_wide_repeats(g: random.Random, truth: Truth, heads: Heads, digits: int) -> Made:
    (scores,) = truth.scores.values()
    rows = [
        [item, r + 1, *map(_cell, scores[k, :, r])]
        for k, item in enumerate(truth.items)
        for r in range(scores.shape[2])
    ]
    return truth, Grid([heads.item, heads.repeat, *truth.systems], rows, digits)


def _lay_melted(g: random.Random, truth: Truth, heads: Heads, digits: int) -> Made:
    rows = [
        [item, system, measure, _cell(scores[k, j, 0])]
        for k, item in enumerate(truth.items)
        for j, system in enumerate(truth.systems)
        for measure, scores in truth.scores.items()
    ]
    return truth, Grid([heads.item, heads.system, "metric", "value"], rows, digits)


def _lay_tasks(g: random.Random, truth: Truth, heads: Heads, digits: int) -> Made:
    """Items of two tasks, which may have the same names in both."""
    tasks = ["arith", "law"]
    half = len(truth.items) // 2
    shared = g.random() < 0.5
    inner = [truth.items[k % half] if shared else truth.items[k] for k in range(2 * half)]
    names = [f"{tasks[k // half]}/{name}" if shared else name for k, name in enumerate(inner)]
    (scores,) = (values[: 2 * half] for values in truth.scores.values())
    truth = replace(truth, items=tuple(names), scores={next(iter(truth.scores)): scores})
    rows = [
        [tasks[k // half], inner[k], system, _cell(scores[k, j, 0])]
        for k in range(2 * half)
        for j, system in enumerate(truth.systems)
    ]
    return truth, Grid([heads.task, heads.item, heads.system, heads.score], rows, digits)


def _lay_nameless(g: random.Random, truth: Truth, heads: Heads, digits: int) -> Made:
    truth, grid = _lay_wide(g, truth, heads, digits)
    return replace(truth, items=()), replace(
        grid, header=grid.header[1:], rows=[row[1:] for row in grid.rows]
    )


def _lay_crossed(g: random.Random, truth: Truth, heads: Heads, digits: int) -> Made:
    """A column for each system and measure: bm25_AP, bm25_recall."""
    rows = [
        [
            name,
            *(_cell(scores[k, j, 0]) for j in range(len(truth.systems)) for scores in truth.scores.values()),
        ]
        for k, name in enumerate(truth.items)
    ]
    mark = g.choice("_:/ ")
    header = [f"{system}{mark}{measure}" for system in truth.systems for measure in truth.scores]
    return truth, Grid([heads.item, *header], rows, digits)


LAYOUTS: dict[str, Callable[..., Made]] = {
    "wide": _lay_wide,
    "transposed": _lay_transposed,
    "long": _lay_long,
    "repeats": partial(_lay_long, repeats=True),
    "wide repeats": _lay_wide_repeats,
    "several": _lay_long,
    "melted": _lay_melted,
    "tasks": _lay_tasks,
    "nameless": _lay_nameless,
    "crossed": _lay_crossed,
}
REPEATED = ("repeats", "wide repeats")
TYPED = ("csv", "tsv", "txt", "csv.gz", "xlsx")
"""Containers whose cells anybody may type."""
LONG = ("long", "repeats", "several", "melted", "tasks")


# traps: what people add -----------------------------------------------------------------------------------------------


def _keep(g: random.Random, truth: Truth, grid: Grid, heads: Heads, plan: Plan) -> Grid:
    return grid


def _add_summary_row(g: random.Random, truth: Truth, grid: Grid, heads: Heads, plan: Plan) -> Grid:
    if plan.layout not in ("wide", "transposed"):
        return grid
    columns = list(zip(*[row[1:] for row in grid.rows], strict=True))
    means = [_mean(column) for column in columns]
    if plan.layout == "transposed":
        return grid
    return replace(grid, below=[[heads.mean, *means]])


def _mean(cells: Any) -> float | None:
    numbers = [cell for cell in cells if cell is not None]
    return float(np.mean(numbers)) if numbers else None


def _add_summary_column(g: random.Random, truth: Truth, grid: Grid, heads: Heads, plan: Plan) -> Grid:
    if plan.layout not in ("wide", "transposed"):
        return grid
    rows = [[*row, _mean(row[1:])] for row in grid.rows]
    return replace(
        grid, header=[*grid.header, heads.mean], rows=rows, below=[[*row, None] for row in grid.below]
    )


def _add_bookkeeping(g: random.Random, truth: Truth, grid: Grid, heads: Heads, plan: Plan) -> Grid:
    if plan.layout not in ("wide", "long", "repeats", "several", "tasks"):
        return grid
    name = g.choice(list(BOOKKEEPING))
    cells = [BOOKKEEPING[name](g, k) for k in range(len(grid.rows))]
    position = g.choice((1, len(grid.header))) if plan.layout in LONG else len(grid.header)
    rows = [[*row[:position], cell, *row[position:]] for row, cell in zip(grid.rows, cells, strict=True)]
    header = [*grid.header[:position], name, *grid.header[position:]]
    return replace(grid, header=header, rows=rows, below=[[*row, None] for row in grid.below])


def _add_title(g: random.Random, truth: Truth, grid: Grid, heads: Heads, plan: Plan) -> Grid:
    return replace(
        grid, above=[["Results of the evaluation"], []] if g.random() < 0.5 else [["# made on Monday"]]
    )


def _add_blank_rows(g: random.Random, truth: Truth, grid: Grid, heads: Heads, plan: Plan) -> Grid:
    rows = list(grid.rows)
    rows.insert(g.randrange(1, len(rows)), [None] * len(grid.header))
    return replace(grid, rows=rows)


def _add_units(g: random.Random, truth: Truth, grid: Grid, heads: Heads, plan: Plan) -> Grid:
    if plan.layout != "wide" or plan.container not in TYPED:
        return grid
    return replace(grid, rows=[[None, *["%"] * (len(grid.header) - 1)], *grid.rows])


def _add_twice(g: random.Random, truth: Truth, grid: Grid, heads: Heads, plan: Plan) -> Grid:
    """The same row a second time, as after a copy."""
    if plan.layout == "nameless":
        return grid
    return replace(grid, rows=[*grid.rows, g.choice(grid.rows)])


def _add_footnote(g: random.Random, truth: Truth, grid: Grid, heads: Heads, plan: Plan) -> Grid:
    if plan.container not in TYPED:
        return grid
    return replace(grid, below=[*grid.below, ["* all runs of May", *[None] * (len(grid.header) - 1)]])


TRAPS: dict[str, Callable[..., Grid]] = {
    "gaps": _keep,
    "summary row": _add_summary_row,
    "summary column": _add_summary_column,
    "bookkeeping": _add_bookkeeping,
    "title": _add_title,
    "blank row": _add_blank_rows,
    "units": _add_units,
    "twice": _add_twice,
    "footnote": _add_footnote,
    "percent sign": _keep,
    "thousands": _keep,
}


# containers: a grid as a file -----------------------------------------------------------------------------------------


def _spell(value: Any, grid: Grid, plan: Plan, decimal: str) -> str:
    """Write a cell as text."""
    if value is None:
        return ""
    if isinstance(value, str | int):
        return str(value)
    if plan.values == "verdict" and value in (0.0, 1.0):
        return WORDS[plan.language][6 if value else 7]
    # a mean has more digits than what it is the mean of
    digits = grid.digits + 3 * (round(value, grid.digits) != value)
    text = f"{value:.{digits}f}"
    if "thousands" in plan.traps:
        text = f"{value:,.{digits}f}".replace(",", " " if decimal == "," else ",")
    if decimal == ",":
        text = text.replace(".", ",")
    return f"{text}%" if "percent sign" in plan.traps and plan.values == "percent" else text


def _write_text(g: random.Random, grid: Grid, plan: Plan, *, delimiter: str = "") -> bytes:
    decimal = "," if plan.language in COMMA and g.random() < 0.6 else "."
    delimiter = delimiter or (";" if decimal == "," else g.choice(",,;\t|"))
    stream = io.StringIO()
    quoting = g.choice((csv.QUOTE_MINIMAL, csv.QUOTE_MINIMAL, csv.QUOTE_ALL))
    writer = csv.writer(
        stream, delimiter=delimiter, quoting=quoting, lineterminator=g.choice(("\n", "\n", "\r\n"))
    )
    for row in [*grid.above, grid.header, *grid.rows, *grid.below]:
        writer.writerow([_spell(cell, grid, plan, decimal) for cell in row])
    text = stream.getvalue()
    if g.random() < 0.1:
        text = text.rstrip("\r\n")
    return text.encode(g.choice(("utf-8", "utf-8", "utf-8-sig", "utf-16")))


def _write_packed(g: random.Random, grid: Grid, plan: Plan) -> bytes:
    return gzip.compress(_write_text(g, grid, plan), mtime=0)


def _write_workbook(g: random.Random, grid: Grid, plan: Plan) -> bytes:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    if g.random() < 0.2:
        sheet.title = "Notes"
        sheet.append(["Made by hand"])
        sheet = book.create_sheet("Scores")
    whole = plan.items in ("number", "trec") and g.random() < 0.5 and "tasks" not in plan.layout
    for row in [*grid.above, grid.header, *grid.rows, *grid.below]:
        cells = [int(cell) if whole and isinstance(cell, str) and cell.isdecimal() else cell for cell in row]
        sheet.append(cells)
        for cell in sheet[sheet.max_row]:
            if isinstance(cell.value, str):
                cell.data_type = "s"  # also where it begins like a formula
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


def _records(grid: Grid) -> list[dict[str, Any]]:
    return [
        dict(zip(grid.header, row, strict=True))
        for row in [*grid.rows, *grid.below]
        if any(c is not None for c in row)
    ]


def _write_lines(g: random.Random, grid: Grid, plan: Plan) -> bytes:
    keep = g.random() < 0.5  # the key of a missing score
    rows = [{k: v for k, v in row.items() if keep or v is not None} for row in _records(grid)]
    return "".join(json.dumps(row, ensure_ascii=g.random() < 0.5) + "\n" for row in rows).encode()


def _write_json(g: random.Random, grid: Grid, plan: Plan) -> bytes:
    return json.dumps(_records(grid), indent=g.choice((None, 1))).encode()


def _write_nested(g: random.Random, grid: Grid, plan: Plan) -> bytes:
    """{system: {item: score}} or {item: {system: score}}, of a wide table; others by columns."""
    records = _records(grid)
    if plan.layout != "wide" or plan.traps:
        return json.dumps({name: [row[name] for row in records] for name in grid.header}).encode()
    item, *systems = grid.header
    by_item = {row[item]: {name: row[name] for name in systems} for row in records}
    by_system = {name: {row[item]: row[name] for row in records} for name in systems}
    return json.dumps(g.choice((by_item, by_system)), ensure_ascii=False).encode()


def _write_parquet(g: random.Random, grid: Grid, plan: Plan) -> bytes:
    columns = {name: [row.get(name) for row in _records(grid)] for name in grid.header}
    stream = io.BytesIO()
    pa.parquet.write_table(pa.table(columns), stream)
    return stream.getvalue()


CONTAINERS: dict[str, tuple[str, Callable[..., bytes]]] = {
    "csv": (".csv", _write_text),
    "tsv": (".tsv", partial(_write_text, delimiter="\t")),
    "txt": (".txt", _write_text),
    "csv.gz": (".csv.gz", _write_packed),
    "xlsx": (".xlsx", _write_workbook),
    "jsonl": (".jsonl", _write_lines),
    "json": (".json", _write_json),
    "nested": (".json", _write_nested),
    "parquet": (".parquet", _write_parquet),
}


def try_table(case: tuple[Truth, str, bytes]) -> str:
    """Write the file and read it."""
    truth, name, content = case
    FOLDER.mkdir(exist_ok=True)
    path: Path = FOLDER / name
    path.write_bytes(content)
    return try_reading(truth, [path], FOLDER)
