"""A replication as one page: verdicts first, each table in its printed shape, all rows as CSV."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from shardwise.core.claim import format_count
from shardwise.core.libraries import pd
from shardwise.core.text import escape_controls, write_csv
from shardwise.io.atomic import write_atomically
from shardwise.papers.claims import FAILS, HOLDS, UNDECIDED, UNKNOWN, VERDICTS
from shardwise.papers.exhibit import ClaimVerdict, Exhibit, Replication, Shape, count_decimals
from shardwise.plot.saving import render_svg
from shardwise.writing.assets import load_templates, read_asset
from shardwise.writing.names import escape_tex
from shardwise.writing.table import TypedColumn, render_html, set_float, set_tabular

MOST_ROWS = 24
"""Rows of a table without a shape on the page; all are in its CSV file."""
HEADINGS = {
    "shards": "{} shards",
    "alpha": "α = {}",
    "tails": "{}-tailed",
    "systems": "{} systems",
    "power": "power {}",
    "depth": "depth {}",
}
"""How values of a column read as the heading of columns; others stand as they are."""
TITLES = {
    "omega_sq": "ω²",
    "significant": "Sig",
    "not_significant": "NotSig",
    "top_group": "TopG",
    "related_pairs": "related pairs",
    "% omega_sq": "ω² %",
    "% significant": "Sig %",
    "% not_significant": "NotSig %",
    "% top_group": "TopG %",
    "tau": "τ",
    "width_percent": "width (percent)",
    "least": "min",
    "largest": "max",
    "min_diff": "minD",
    "variance": "σ²",
    "topics_power": "n (power)",
    "topics_interval": "n (CI)",
    "judged": "judged/topic",
}
"""Short titles of columns, as the papers have them."""
CLASSES = {HOLDS: "yes", FAILS: "no", UNDECIDED: "open", UNKNOWN: "na"}


def write_replication(replication: Replication, folder: str | os.PathLike[str]) -> None:
    """Write a page and its files into a folder, each whole or not at all."""
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    drawings: dict[str, str] = {}
    for exhibit in replication.exhibits:
        _write_frame(exhibit.data, target / f"{exhibit.slug}.csv")
        if exhibit.is_figure:
            drawings[exhibit.label] = render_svg(exhibit.plot())
            write_atomically(target / f"{exhibit.slug}.svg", drawings[exhibit.label].encode())
    if replication.verdicts:
        _write_frame(replication.claims_frame(), target / "claims.csv")
    if len(equal := list_equal_cells(replication)):
        _write_frame(equal, target / "equal-cells.csv")
    texts = {"md": write_markdown(replication), "html": write_page(replication, drawings)}
    if tables := write_latex([replication]):
        texts["tex"] = tables
    for ending, text in texts.items():
        path = target / f"{replication.paper.lower()}.{ending}"
        write_atomically(path, text.encode("utf-8", "backslashreplace"))


def _write_frame(frame: pd.DataFrame, path: Path) -> None:
    write_atomically(path, write_csv(frame).encode("utf-8", "backslashreplace"))


def answer_replication(replication: Replication) -> str:
    """Return the first line of a page: how many claims hold, in general and on this collection."""
    verdicts = replication.verdicts
    total = len(verdicts)
    if not total:
        return replication.answer or f"Tables and figures: {len(replication.exhibits)}."
    if all(v.verdict == UNKNOWN for v in verdicts):
        reasons = " and ".join(dict.fromkeys(v.numbers for v in verdicts))
        return f"None of the {total} claims can be checked with these data: {reasons}."
    parts = [count_verdicts([v.verdict for v in verdicts], total)]
    here = [v.here for v in verdicts]
    failed = [v.name for v in verdicts if v.verdict == FAILS]
    parts += [f"Fails: {'; '.join(failed)}."] if failed else []
    return " ".join([*parts, f"On this collection {here.count(HOLDS)} hold and {here.count(FAILS)} fail."])


def count_verdicts(words: Sequence[str], total: int) -> str:
    """Return how many claims hold, fail, and are left open.

    >>> count_verdicts(["holds", "undecided", "holds"], 3)
    '2 of 3 claims hold, 1 undecided.'
    """
    counts = {kind: words.count(kind) for kind in VERDICTS}
    verb = "holds" if counts[HOLDS] == 1 else "hold"
    parts = [f"{counts[HOLDS]} of {format_count(total, 'claim')} {verb}"]
    if counts[FAILS]:
        parts.append(f"{counts[FAILS]} {'fails' if counts[FAILS] == 1 else 'fail'}")
    parts += [f"{counts[kind]} {kind}" for kind in (UNDECIDED, UNKNOWN) if counts[kind]]
    return ", ".join(parts) + "."


def describe_numbers(verdict: ClaimVerdict) -> str:
    """Return the numbers behind a verdict, with the splits that agree and the source of the limit."""
    source = f"limit: {verdict.source}" if verdict.source and verdict.verdict != UNKNOWN else ""
    return "; ".join(text for text in (verdict.numbers, verdict.splits, source) if text)


def write_text(replication: Replication) -> str:
    """Return the verdicts and the names of all tables and figures, for a terminal."""
    lines = [f"{replication.paper}: {replication.title}", answer_replication(replication)]
    for v in replication.verdicts:
        if v.verdict != UNKNOWN:
            numbers = "; ".join(text for text in (v.numbers, v.splits, f"in print: {v.in_print}") if text)
            lines.append(f"  {v.verdict:<10} {v.name}: {numbers}")
    absent = [v.name for v in replication.verdicts if v.verdict == UNKNOWN]
    if 0 < len(absent) < len(replication.verdicts):
        lines.append(f"  {UNKNOWN}: {'; '.join(absent)}")
    lines += [f"Note: {note}" for note in replication.notes]
    shown = [f"{e.label} ({len(e.data)} rows)" for e in replication.exhibits]
    return "\n".join([*lines, "Made: " + ", ".join(shown)])


def list_equal_cells(replication: Replication) -> pd.DataFrame:
    """Return every cell that equals the printed one to its last digit, if the data are the paper's own.

    The columns are `label, cell, ours, printed`.
    """
    rows = []
    decimals = count_decimals(replication.paper)
    ending = f"_{replication.paper}"
    for exhibit in replication.exhibits if replication.is_own else ():
        frame = exhibit.data
        for column in [str(c) for c in frame.columns if str(c).endswith(ending)]:
            value = column.removesuffix(ending)
            if value not in frame:
                continue
            words = [c for c in frame.columns if not pd.api.types.is_float_dtype(frame[c]) and c != value]
            for _, row in frame[frame[column].notna() & frame[value].notna()].iterrows():
                ours, given = float(row[value]), float(row[column])
                if abs(ours - given) <= 0.5 * 10.0 ** -decimals.get(value, 0) + 1e-12:
                    key = ", ".join(f"{c} {row[c]}" for c in words if not str(c).endswith(ending))
                    rows.append(
                        {"label": exhibit.label, "cell": f"{value}: {key}", "ours": ours, "printed": given}
                    )
    return pd.DataFrame(rows, columns=["label", "cell", "ours", "printed"])


def lay_out_exhibit(exhibit: Exhibit, paper: str = "") -> pd.DataFrame:
    """Return a table as a paper prints it: text cells, with half widths after ± and printed values in brackets."""
    frame = exhibit.data if exhibit.summary is None else exhibit.summary
    shape = exhibit.shape
    if shape is None:
        cells = {str(name): [format_column(column)(v) for v in column] for name, column in frame.items()}
        text = pd.DataFrame(cells, dtype=object).head(MOST_ROWS)
        return text.set_index(text.columns[0]) if len(text.columns) > 1 else text
    for name, kept in shape.only.items():
        frame = frame[frame[name].isin(list(kept))]
    # every cell as text, in long form
    texts = {value: _format_cells(frame, value, shape, paper) for value in shape.values}
    row_keys = [_head_rows(frame[name]) for name in shape.rows]
    column_keys = [
        [HEADINGS.get(name, "{}").format(text) for text in _head_rows(frame[name])] for name in shape.columns
    ]
    rows = list(zip(*row_keys, strict=True))
    columns = list(zip(*column_keys, strict=True)) if column_keys else [()] * len(rows)
    # headings keep the order in which they come; a heading of values is needed only where there are several
    several = len(shape.values) > 1 or not shape.columns
    heads = [(*c, TITLES.get(v, v)) if several else c for c in dict.fromkeys(columns) for v in shape.values]
    filled = {
        (row, (*column, TITLES.get(value, value)) if several else column): texts[value][k]
        for k, (row, column) in enumerate(zip(rows, columns, strict=True))
        for value in shape.values
    }
    body = [[filled.get((row, head), "") for head in heads] for row in dict.fromkeys(rows)]
    names = [TITLES.get(name, name) for name in shape.rows]
    index = pd.MultiIndex.from_tuples(list(dict.fromkeys(rows)), names=names)
    return pd.DataFrame(body, index=index, columns=pd.MultiIndex.from_tuples(heads), dtype=object)


def _format_cells(frame: pd.DataFrame, value: str, shape: Shape, paper: str) -> list[str]:
    half, printed = shape.halves.get(value, ""), f"{value}_{paper}"
    if shape.totals and value in shape.counts:
        ours, theirs = shape.totals
        scales = {value: ours, half: ours, printed: theirs}
        frame = frame.assign(**{name: frame[name] / scales[name] for name in scales if name in frame})
    together = pd.concat([frame[value].astype(float), frame[printed]]) if printed in frame else frame[value]
    form = format_column(pd.Series(together, name=value))
    texts = [form(v) for v in frame[value]]
    if half and half in frame:
        texts = [f"{text} ± {form(h)}" if text else "" for text, h in zip(texts, frame[half], strict=True)]
    if printed not in frame:
        return texts
    return [
        f"{text} ({form(p)})" if pd.notna(p) else text for text, p in zip(texts, frame[printed], strict=True)
    ]


def _head_rows(column: pd.Series) -> list[str]:
    return ["" if pd.isna(v) else f"{v:g}" if isinstance(v, float) else str(v) for v in column]


def format_column(column: pd.Series) -> Callable[[object], str]:
    """Return a function that formats the values of a column alike; absent ones are empty.

    >>> form = format_column(pd.Series([0.98765, 1.5]))
    >>> form(0.98765)
    '0.9877'
    """
    if not pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column):
        return lambda value: "" if value is None or value is pd.NA else str(value)
    values = column.to_numpy(float, na_value=np.nan)
    finite = values[np.isfinite(values)]
    integral = bool((finite == np.round(finite)).all())
    form = ".0f" if integral else ".1f" if finite.size and np.abs(finite).max() >= 100 else ".4f"
    percent = str(column.name).startswith("%")

    def format_value(value: object) -> str:
        if pd.isna(value):  # type: ignore[call-overload]
            return ""
        return f"{value:+.1f}" if percent else f"{value:{form}}"

    return format_value


def list_columns(table: pd.DataFrame) -> list[TypedColumn]:
    """Return the columns of a table as it is laid out: what names its rows first, on the left."""
    keys = [key if isinstance(key, tuple) else (key,) for key in table.index]
    names = [str(name or "") for name in table.index.names]
    columns = [TypedColumn(name, [str(key[k]) for key in keys]) for k, name in enumerate(names)]
    heads = [
        tuple(map(str, head if isinstance(head, tuple) else (head,))) for head in list[Any](table.columns)
    ]
    cells = table.to_numpy().T
    return columns + [
        TypedColumn(head, list(map(str, column)), "cell") for head, column in zip(heads, cells, strict=True)
    ]


def write_latex(replications: Sequence[Replication]) -> str:
    """Return all tables in LaTeX with booktabs, headings spanning their columns."""
    tables = []
    for paper in replications:
        for exhibit in paper.exhibits:
            if not exhibit.is_figure:
                caption = f"{exhibit.label} of {paper.paper}: {exhibit.title}"
                lines = set_tabular(list_columns(lay_out_exhibit(exhibit, paper.paper)), escape_heads=True)
                caption = escape_tex(caption, 8 * len(caption))
                tables.append(set_float("table", r"\centering\small", caption, "", lines))
    return "\n".join(tables)


def write_markdown(replication: Replication) -> str:
    """Return the page as Markdown; charts are files beside it."""
    lines = [f"# {replication.paper}: {replication.title}", "", answer_replication(replication), ""]
    if replication.verdicts:
        lines += ["| claim | in general | on this collection | in print | numbers |", "|---|---|---|---|---|"]
        for v in replication.verdicts:
            claim = f"{_escape_markdown(v.statement)} ({_escape_markdown(v.section)})"
            words = f"{v.verdict} | {v.here} | {v.in_print}"
            lines.append(f"| {claim} | {words} | {_escape_markdown(describe_numbers(v))} |")
        lines.append("")
    lines += [
        f"- {_escape_markdown(name)}: {_escape_markdown(fact)}" for name, fact in replication.facts.items()
    ]
    lines += ["", *(f"{_escape_markdown(note)}\n" for note in replication.notes)]
    for exhibit in replication.exhibits:
        lines += [f"## {exhibit.label}: {_escape_markdown(exhibit.title)}", ""]
        if exhibit.is_figure:
            lines += [f"![{exhibit.label}]({exhibit.slug}.svg)", ""]
        else:
            lines += [write_markdown_table(lay_out_exhibit(exhibit, replication.paper)), ""]
        lines += [f"{_escape_markdown(note)}\n" for note in exhibit.notes]
        lines += [f"[{format_count(len(exhibit.data), 'row')} as CSV]({exhibit.slug}.csv)", ""]
    return "\n".join(lines)


def write_markdown_table(table: pd.DataFrame) -> str:
    """Return a table in Markdown, headings of several levels joined.

    >>> print(write_markdown_table(pd.DataFrame({"Sig": ["3423"]}, index=pd.Index(["MD1"], name="model"))))
    | model | Sig |
    |---|---:|
    | MD1 | 3423 |
    """
    heads = [" ".join(map(str, c)) if isinstance(c, tuple) else str(c) for c in list[Any](table.columns)]
    names = [str(name or "") for name in table.index.names]
    lines = [
        f"| {' | '.join(map(_escape_markdown, [*names, *heads]))} |",
        "|" + "---|" * len(names) + "---:|" * len(heads),
    ]
    for key, row in zip(table.index, table.to_numpy(), strict=True):
        texts = [*(key if isinstance(key, tuple) else (key,)), *row]
        lines.append(f"| {' | '.join(_escape_markdown(str(text)) for text in texts)} |")
    return "\n".join(lines)


def write_page(replication: Replication, drawings: dict[str, str]) -> str:
    """Return the page as one HTML file that needs no other."""
    tables = {
        exhibit.label: Markup(
            render_html(list_columns(lay_out_exhibit(exhibit, replication.paper)), labelled=True)
        )
        for exhibit in replication.exhibits
        if not exhibit.is_figure
    }
    # made by vl-convert, which escapes
    drawn = {label: Markup(svg) for label, svg in drawings.items()}
    return render_page(f"{replication.paper} on other data", [replication], tables=tables, drawings=drawn)


def render_page(title: str, replications: Sequence[Replication], **content: Any) -> str:
    """Return a page of replications: all of one, or the verdicts of several and why others could not be made."""
    content |= {
        "title": title,
        "replications": replications,
        "classes": CLASSES,
        "answer": answer_replication,
        "numbers": describe_numbers,
    }
    style = Markup(read_asset("replication.css").rstrip())
    return load_templates().get_template("replication.html").render(style=style, **content) + "\n"


def _escape_markdown(text: str) -> str:
    return re.sub(r"([\\`*\[\]<>|])", r"\\\1", escape_controls(text))
