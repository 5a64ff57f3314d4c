"""A replication as one page: verdicts first, each table in its printed shape, all rows as CSV."""

from __future__ import annotations

import html
import os
import re
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from shardwise.core import late
from shardwise.core.claim import format_count
from shardwise.core.text import escape_controls, guard_frame
from shardwise.io.atomic import write_atomically
from shardwise.papers.exhibit import FAILS, HOLDS, UNKNOWN, Exhibit, Replication
from shardwise.writing.names import escape_tex

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
    "% omega_sq": "ω² %",
    "% significant": "Sig %",
    "% not_significant": "NotSig %",
    "% top_group": "TopG %",
    "tau": "τ",
    "width": "width",
    "share": "share",
    "least": "min",
    "largest": "max",
    "min_diff": "minD",
    "variance": "σ²",
    "topics_power": "n (power)",
    "topics_interval": "n (CI)",
    "judged": "judged/topic",
}
"""Short titles of columns, as the papers have them."""
SIGNS = {
    "ω²": r"$\omega^2$",
    "σ²": r"$\sigma^2$",
    "τ": r"$\tau$",
    "α": r"$\alpha$",
    "β": r"$\beta$",
    "±": r"$\pm$",
    "♯": r"$\sharp$",
    "→": r"$\to$",
    "≥": r"$\ge$",
    "−": "$-$",
    "–": "--",
}
"""Signs in headings, as LaTeX has them."""
CLASSES = {HOLDS: "yes", FAILS: "no", UNKNOWN: "na"}
STYLE = """:root{color-scheme:light}body{font:15px/1.5 system-ui,sans-serif;margin:1.5rem auto;max-width:76rem;
padding:0 1rem;color:#222;background:#fff}
h1{font-size:1.5rem;margin:.2rem 0}h2{font-size:1.1rem;margin:2rem 0 .3rem}.lead{font-size:1.1rem;margin:.3rem 0 1rem}
.wide{overflow-x:auto}table{border-collapse:collapse;font-size:13px;margin:.4rem 0}
th,td{padding:.15rem .55rem;text-align:right;white-space:nowrap;vertical-align:top}
thead th{border-bottom:1px solid #999}
thead tr:first-child th{border-top:2px solid #444}tbody tr:last-child td{border-bottom:2px solid #444}
thead tr:last-child th{border-bottom:1px solid #444}th.w,td.w{text-align:left}.p{color:#0067a3}
table.claims td,table.claims th{white-space:normal;text-align:left}table.claims td:first-child{white-space:nowrap}
b.yes{color:#00694d}b.no{color:#a33500}b.na{color:#666}.where{color:#666}
figure{margin:.4rem 0;overflow-x:auto}figure svg{max-width:100%;height:auto;min-width:34rem}
p.note{color:#444;font-size:14px;max-width:60rem;margin:.3rem 0}dl{display:grid;grid-template-columns:max-content 1fr;
gap:.1rem 1rem;font-size:14px}dt{color:#666}dd{margin:0;overflow-wrap:anywhere}
@media(max-width:40rem){dl{display:block}table.claims tr,table.claims td{display:block}table.claims thead{display:none}
table.claims tbody tr{border-bottom:1px solid #ccc;padding:.3rem 0}table.claims tbody tr:last-child td{border:0}}"""


def write_replication(replication: Replication, folder: str | os.PathLike[str]) -> None:
    """Write a page and its files into a folder, each whole or not at all."""
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    drawings: dict[str, str] = {}
    for exhibit in replication.exhibits:
        _write_frame(exhibit.data, target / f"{exhibit.slug}.csv")
        if exhibit.is_figure:
            drawings[exhibit.label] = _draw_svg(exhibit)
            write_atomically(target / f"{exhibit.slug}.svg", drawings[exhibit.label].encode())
        else:
            text = write_exhibit_latex(exhibit, replication.paper)
            write_atomically(target / f"{exhibit.slug}.tex", text.encode("utf-8", "backslashreplace"))
    if replication.verdicts:
        _write_frame(replication.claims_frame(), target / "claims.csv")
    if len(equal := list_equal_cells(replication)):
        _write_frame(equal, target / "equal-cells.csv")
    name = replication.paper.lower()
    pages = ((".md", write_markdown(replication)), (".html", write_page(replication, drawings)))
    for ending, text in pages:
        write_atomically(target / f"{name}{ending}", text.encode("utf-8", "backslashreplace"))


def _write_frame(frame: pd.DataFrame, path: Path) -> None:
    text = str(guard_frame(frame).to_csv(index=False, lineterminator="\n"))
    write_atomically(path, text.encode("utf-8", "backslashreplace"))


def _draw_svg(exhibit: Exhibit) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "chart.svg"
        late.call_bound("save_chart", exhibit.plot(), path)
        return path.read_text(encoding="utf-8")


def answer_replication(replication: Replication) -> str:
    """Return the first line of a page: how many claims hold."""
    counts = {kind: sum(v.verdict == kind for v in replication.verdicts) for kind in CLASSES}
    total = len(replication.verdicts)
    if not total:
        return f"{format_count(len(replication.exhibits), 'table or figure')}."
    if counts[UNKNOWN] == total:
        reasons = " and ".join(dict.fromkeys(v.numbers for v in replication.verdicts))
        return f"None of the {total} claims can be checked with these data: {reasons}."
    verbs = {n: "s" if n == 1 else "" for n in counts.values()}
    parts = [
        f"{counts[HOLDS]} of {format_count(total, 'claim')} hold{verbs[counts[HOLDS]]}",
        f"{counts[FAILS]} fail{verbs[counts[FAILS]]}",
    ]
    if counts[UNKNOWN]:
        parts.append(f"{counts[UNKNOWN]} cannot be said here")
    failed = [v.name for v in replication.verdicts if v.verdict == FAILS]
    return ", ".join(parts) + "." + (f" Fails: {'; '.join(failed)}." if failed else "")


def write_text(replication: Replication) -> str:
    """Return the verdicts and the names of all tables and figures, for a terminal."""
    lines = [f"{replication.paper}: {replication.title}", answer_replication(replication)]
    if any(v.verdict != UNKNOWN for v in replication.verdicts):
        lines += [f"  {v.verdict:<20} {v.name}: {v.numbers}" for v in replication.verdicts]
    lines += [f"Note: {note}" for note in replication.notes]
    shown = [f"{e.label} ({len(e.data)} rows)" for e in replication.exhibits]
    return "\n".join([*lines, "Made: " + ", ".join(shown)])


def list_equal_cells(replication: Replication) -> pd.DataFrame:
    """Return every cell that equals the printed one to its last digit: `label, cell, ours, printed`."""
    rows = []
    ending = f"_{replication.paper}"
    for exhibit in replication.exhibits:
        frame = exhibit.data
        for column in [str(c) for c in frame.columns if str(c).endswith(ending)]:
            value = column.removesuffix(ending)
            if value not in frame:
                continue
            words = [c for c in frame.columns if not pd.api.types.is_float_dtype(frame[c]) and c != value]
            for _, row in frame[frame[column].notna() & frame[value].notna()].iterrows():
                ours, given = float(row[value]), float(row[column])
                digits = len(f"{given:.10g}".partition(".")[2])
                if abs(ours - given) <= 0.5 * 10.0**-digits + 1e-12:
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
    texts = {value: _format_cells(frame, value, shape.halves.get(value, ""), paper) for value in shape.values}
    row_keys = [_head_rows(frame[name]) for name in shape.rows]
    column_keys = [_head_columns(frame[name], name) for name in shape.columns]
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


def _format_cells(frame: pd.DataFrame, value: str, half: str, paper: str) -> list[str]:
    printed = f"{value}_{paper}"
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


def _head_columns(column: pd.Series, name: str) -> list[str]:
    form = HEADINGS.get(name, "{}")
    return [form.format(text) for text in _head_rows(column)]


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


def write_exhibit_latex(exhibit: Exhibit, paper: str = "") -> str:
    """Return a table in LaTeX with booktabs, headings spanning their columns."""
    table = lay_out_exhibit(exhibit, paper)
    keys = [_escape_cell(str(name or "")) for name in table.index.names]
    lines = []
    for depth in range(table.columns.nlevels):
        last = depth == table.columns.nlevels - 1
        cells, rules = (list(keys) if last else [""] * len(keys)), []
        start = len(keys) + 1
        for text, span in _group_headings(table.columns, depth):
            wide = rf"\multicolumn{{{span}}}{{c}}{{{_escape_cell(text)}}}" if span > 1 else _escape_cell(text)
            cells.append(wide)
            if span > 1:
                rules.append(rf"\cmidrule(lr){{{start}-{start + span - 1}}}")
            start += span
        lines.append(" & ".join(cells) + r" \\")
        if rules and not last:
            lines.append(" ".join(rules))
    body = []
    for key, row in zip(table.index, table.to_numpy(), strict=True):
        heads = key if isinstance(key, tuple) else (key,)
        body.append(" & ".join(_escape_cell(str(text)) for text in (*heads, *row)) + r" \\")
    layout = "l" * len(keys) + "r" * table.shape[1]
    caption = _escape_cell(f"{exhibit.label}{f' of {paper}' if paper else ''}: {exhibit.title}")
    return "\n".join(
        [
            r"\begin{table}",
            r"  \centering\small",
            rf"  \caption{{{caption}}}",
            rf"  \begin{{tabular}}{{@{{}}{layout}@{{}}}}",
            *(f"    {line}" for line in (r"\toprule", *lines, r"\midrule", *body, r"\bottomrule")),
            r"  \end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def _escape_cell(text: str) -> str:
    """Return text for a cell in LaTeX; signs of formulas as commands, everything else escaped."""
    parts = re.split(f"({'|'.join(map(re.escape, SIGNS))})", escape_controls(text))
    return "".join(SIGNS.get(part) or escape_tex(part, len(part)) for part in parts if part)


def _group_headings(columns: pd.Index, depth: int) -> list[tuple[str, int]]:
    """Return the headings of one level with the number of columns that each spans."""
    groups: list[tuple[tuple[str, ...], int]] = []
    for column in columns:
        key = tuple(map(str, column if isinstance(column, tuple) else (column,)))[: depth + 1]
        last = depth == columns.nlevels - 1
        if groups and groups[-1][0] == key and not last:
            groups[-1] = (key, groups[-1][1] + 1)
        else:
            groups.append((key, 1))
    return [(key[-1], span) for key, span in groups]


def write_markdown(replication: Replication) -> str:
    """Return the page as Markdown; charts are files beside it."""
    lines = [f"# {replication.paper}: {replication.title}", "", answer_replication(replication), ""]
    if replication.verdicts:
        lines += ["| verdict | claim | numbers |", "|---|---|---|"]
        for v in replication.verdicts:
            claim = f"{_escape_markdown(v.statement)} ({_escape_markdown(v.section)})"
            lines.append(f"| {v.verdict} | {claim} | {_escape_markdown(v.numbers)} |")
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
    parts = [
        f"<h1>{_escape(replication.paper)}: {_escape(replication.title)}</h1>",
        f'<p class="lead">{_escape(answer_replication(replication))}</p>',
        _write_verdicts(replication),
        "<dl>",
        *(f"<dt>{_escape(name)}</dt><dd>{_escape(fact)}</dd>" for name, fact in replication.facts.items()),
        "</dl>",
        *(f'<p class="note">{_escape(note)}</p>' for note in replication.notes),
    ]
    for exhibit in replication.exhibits:
        parts.append(f'<h2 id="{exhibit.slug}">{_escape(exhibit.label)}: {_escape(exhibit.title)}</h2>')
        if exhibit.is_figure:
            # made by vl-convert, which escapes
            parts.append(f"<figure>{drawings[exhibit.label]}</figure>")
        else:
            parts.append(_write_html_table(lay_out_exhibit(exhibit, replication.paper)))
        parts += [f'<p class="note">{_escape(note)}</p>' for note in exhibit.notes]
        files = [f'<a href="{exhibit.slug}.csv">{format_count(len(exhibit.data), "row")} as CSV</a>']
        if not exhibit.is_figure:
            files.append(f'<a href="{exhibit.slug}.tex">LaTeX</a>')
        parts.append(f'<p class="note">{" · ".join(files)}</p>')
    return wrap_page(f"{replication.paper} on other data", "\n".join(parts))


def wrap_page(title: str, body: str) -> str:
    """Return a whole HTML file around a body."""
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{_escape(title)}</title>\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n<style>{STYLE}</style></head>\n<body>\n'
        f"{body}\n</body></html>\n"
    )


def _write_verdicts(replication: Replication) -> str:
    if not replication.verdicts:
        return ""
    rows = [
        f'<tr><td><b class="{CLASSES[v.verdict]}">{_escape(v.verdict)}</b></td><td>{_escape(v.statement)} '
        f'<span class="where">{_escape(v.section)}</span></td><td>{_escape(v.numbers)}</td></tr>'
        for v in replication.verdicts
    ]
    head = "<thead><tr><th>verdict</th><th>claim</th><th>numbers</th></tr></thead>"
    return f'<table class="claims">{head}\n<tbody>' + "\n".join(rows) + "</tbody></table>"


def _write_html_table(table: pd.DataFrame) -> str:
    names = [str(name or "") for name in table.index.names]
    head = []
    for depth in range(table.columns.nlevels):
        last = depth == table.columns.nlevels - 1
        cells = [f'<th class="w">{_escape(name) if last else ""}</th>' for name in names]
        groups = _group_headings(table.columns, depth)
        cells += [
            f'<th colspan="{n}">{_escape(text)}</th>' if n > 1 else f"<th>{_escape(text)}</th>"
            for text, n in groups
        ]
        head.append(f"<tr>{''.join(cells)}</tr>")
    body = []
    for key, row in zip(table.index, table.to_numpy(), strict=True):
        keys = key if isinstance(key, tuple) else (key,)
        cells = [f'<td class="w">{_escape(str(text))}</td>' for text in keys]
        cells += [f"<td>{_mark_printed(str(text))}</td>" for text in row]
        body.append(f"<tr>{''.join(cells)}</tr>")
    return f'<div class="wide"><table><thead>{"".join(head)}</thead>\n<tbody>{chr(10).join(body)}</tbody></table></div>'


def _mark_printed(text: str) -> str:
    """Return a cell in HTML, its printed value in brackets set apart."""
    ours, bracket, given = text.partition(" (")
    return f'{_escape(ours)} <span class="p">({_escape(given)}</span>' if bracket else _escape(text)


def write_overview(replications: Sequence[Replication], refusals: dict[str, str]) -> str:
    """Return one page that opens all papers: their verdicts, and why others could not be made."""
    parts = ["<h1>Five papers on these data</h1>"]
    for replication in replications:
        tag = replication.paper.lower()
        name = f"{_escape(replication.paper)}: {_escape(replication.title)}"
        parts.append(f'<h2><a href="{tag}/{tag}.html">{name}</a></h2>')
        parts += [
            f'<p class="lead">{_escape(answer_replication(replication))}</p>',
            _write_verdicts(replication),
        ]
    parts += [
        f"<h2>{_escape(tag)}</h2><p>Not made: {_escape(reason)}</p>" for tag, reason in refusals.items()
    ]
    return wrap_page("Five papers on these data", "\n".join(parts))


def _escape(text: str) -> str:
    return html.escape(escape_controls(text))


def _escape_markdown(text: str) -> str:
    return re.sub(r"([\\`*\[\]<>|])", r"\\\1", escape_controls(text))
