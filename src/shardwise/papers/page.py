"""A replication as one page, in HTML and in Markdown, with all its rows as CSV and its charts as SVG."""

from __future__ import annotations

import html
import os
import re
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from shardwise.core import late
from shardwise.core.text import escape_controls
from shardwise.io.atomic import write_atomically
from shardwise.io.spreadsheets import guard_frame
from shardwise.papers.exhibit import Exhibit, Replication

MOST_ROWS = 400  # of a table on the page; all are in its CSV
STYLE = """body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:72rem;padding:0 1rem;color:#222}
table{border-collapse:collapse;font-size:13px;margin:1rem 0;display:block;overflow-x:auto}
th,td{padding:.15rem .6rem;text-align:right;white-space:nowrap}th{border-bottom:1px solid #444}
td:first-child,th:first-child,td.w,th.w{text-align:left}tr:nth-child(even) td{background:#f6f6f6}
.p{color:#0072B2}figure{margin:1rem 0;overflow-x:auto}li,dd{margin:.2rem 0}dt{font-weight:600}"""


def write_page(replication: Replication, folder: str | os.PathLike[str]) -> None:
    """Write a page and its files into a folder, each whole or not at all."""
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    drawn: dict[str, str] = {}
    for one in replication.exhibits:
        csv = str(guard_frame(one.data).to_csv(index=False, lineterminator="\n"))
        write_atomically(target / f"{one.slug}.csv", csv.encode("utf-8", "backslashreplace"))
        if one.drawn:
            drawn[one.label] = _svg(one)
            write_atomically(target / f"{one.slug}.svg", drawn[one.label].encode())
    name = replication.paper.lower()
    for ending, text in ((".md", markdown(replication)), (".html", page(replication, drawn))):
        write_atomically(target / f"{name}{ending}", text.encode("utf-8", "backslashreplace"))


def _svg(exhibit: Exhibit) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "chart.svg"
        late.call_bound("save_chart", exhibit.plot(), path)
        return path.read_text(encoding="utf-8")


def markdown(replication: Replication) -> str:
    """The page as Markdown; charts are files beside it."""
    lines = [f"# {replication.paper}: {replication.title}", ""]
    lines += [f"- {_plainly(name)}: {_plainly(fact)}" for name, fact in replication.facts.items()]
    lines += ["", *(f"{_plainly(note)}\n" for note in replication.notes)]
    for one in replication.exhibits:
        lines += [f"## {one.label}: {_plainly(one.title)}", ""]
        if not one.drawn:
            lines += [table(one.data.head(MOST_ROWS)), ""]
        else:
            lines += [f"![{one.label}]({one.slug}.svg)", ""]
        lines += [f"{_plainly(note)}\n" for note in one.notes]
        lines += [f"[{_rows(one)}]({one.slug}.csv)", ""]
    return "\n".join(lines)


def table(frame: pd.DataFrame) -> str:
    """A table in Markdown, numbers to the right.

    >>> print(table(pd.DataFrame({"model": ["MD1"], "tau": [0.98765], "pairs": [3423]})))
    | model | tau | pairs |
    |---|---:|---:|
    | MD1 | 0.9877 | 3423 |
    """
    kinds = ["---:" if pd.api.types.is_numeric_dtype(column) else "---" for _, column in frame.items()]
    head = " | ".join(_plainly(str(name)) for name in frame.columns)
    rows = [f"| {' | '.join(map(_plainly, row))} |" for row in cells(frame)]
    return "\n".join([f"| {head} |", f"|{'|'.join(kinds)}|", *rows])


def page(replication: Replication, drawn: dict[str, str]) -> str:
    """The page as one HTML file that needs no other."""
    parts = [f"<h1>{_text(replication.paper)}: {_text(replication.title)}</h1>", "<dl>"]
    parts += [f"<dt>{_text(name)}</dt><dd>{_text(fact)}</dd>" for name, fact in replication.facts.items()]
    parts += ["</dl>", *(f"<p>{_text(note)}</p>" for note in replication.notes)]
    for one in replication.exhibits:
        parts.append(f'<h2 id="{one.slug}">{_text(one.label)}: {_text(one.title)}</h2>')
        if not one.drawn:
            parts.append(_html_table(one.data.head(MOST_ROWS), replication.paper))
        else:
            parts.append(f"<figure>{drawn[one.label]}</figure>")  # made by vl-convert, which escapes
        parts += [f"<p>{_text(note)}</p>" for note in one.notes]
        parts.append(f'<p><a href="{one.slug}.csv">{_text(_rows(one))}</a></p>')
    title = _text(f"{replication.paper} on other data")
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n<style>{STYLE}</style></head>\n<body>\n'
        + "\n".join(parts)
        + "\n</body></html>\n"
    )


def _html_table(frame: pd.DataFrame, paper: str) -> str:
    classes = [
        "p" if str(name).endswith(f"_{paper}") else "" if pd.api.types.is_numeric_dtype(column) else "w"
        for name, column in frame.items()
    ]

    def row(tag: str, texts: Sequence[str]) -> str:
        each = zip(texts, classes, strict=True)
        return "".join(f'<{tag} class="{kind}">{_text(text)}</{tag}>' for text, kind in each)

    head = row("th", [str(name) for name in frame.columns])
    body = "\n".join(f"<tr>{row('td', texts)}</tr>" for texts in cells(frame))
    return f"<table><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table>"


def cells(frame: pd.DataFrame) -> list[list[str]]:
    """The cells of a table as text, the numbers of a column alike; what is not there is empty."""
    columns = [[_shown(column)(value) for value in column] for _, column in frame.items()]
    return [list(row) for row in zip(*columns, strict=True)] if columns else []


def _shown(column: pd.Series) -> Callable[[object], str]:
    if not pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column):
        return lambda value: "" if value is None or value is pd.NA else str(value)
    values = column.to_numpy(float, na_value=np.nan)
    there = values[np.isfinite(values)]
    whole = bool((there == np.round(there)).all())
    form = ".0f" if whole else ".1f" if there.size and np.abs(there).max() >= 100 else ".4f"
    percent = str(column.name).partition("_")[0].endswith("%")

    def number(value: object) -> str:
        if pd.isna(value):  # type: ignore[call-overload]
            return ""
        return f"{value:+.2f}" if percent else f"{value:{form}}"

    return number


def _rows(one: Exhibit) -> str:
    more = not one.drawn and len(one.data) > MOST_ROWS
    return f"all {len(one.data)} rows" if more else f"{len(one.data)} rows as CSV"


def _text(text: str) -> str:
    return html.escape(escape_controls(text))


def _plainly(text: str) -> str:
    return re.sub(r"([\\`*\[\]<>|])", r"\\\1", escape_controls(text))
