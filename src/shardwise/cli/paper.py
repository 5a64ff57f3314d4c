"""shardwise paper: a folder of files for a paper."""

from __future__ import annotations

import pandas as pd

from shardwise.analysis.analysis import Analysis
from shardwise.cli.analyzing import analyze_measures, check_choices, test_margin
from shardwise.cli.cluster import on_cluster
from shardwise.cli.inputs import InputReader
from shardwise.cli.options import Format
from shardwise.cli.output import emit_table, render_table
from shardwise.cli.parsing import Options
from shardwise.core.arguments import validate_choice
from shardwise.io.atomic import write_atomically
from shardwise.writing.answer import write_answer, write_scope
from shardwise.writing.paper import write_paper

WIDTHS = {"": None, "narrow": 1, "wide": 2}
"""Columns of a page that the table takes, by the words of the option."""


def write_files(options: Options) -> None:
    """Write the files, and say what they hold."""
    check_choices(options)
    validate_choice(options.table, "table", tuple(WIDTHS))
    reader = InputReader(options).check()
    read = reader.read_input()
    with on_cluster(options.cluster, options.quiet) as executor:
        analyses = analyze_measures(options, reader, read, executor=executor)
    files = write_paper(options.out, *analyses, columns=WIDTHS[options.table])
    rows = [{"file": str(options.out / file.name), "holds": file.holds} for file in files]
    rows += [_write_margin(options, analyses[0])] if options.margin is not None else []
    if options.quiet and options.format is Format.text:
        return
    first = analyses[0]
    facts = {
        "folder": str(options.out),
        "procedure": first.procedure.name,
        "claim": first.comparisons.claim,
        "measures": [analysis.measure for analysis in analyses],
        "lower_is_better": analyses[0].comparisons.lower_is_better,
        "baselines": list(first.baselines),
        "alpha": first.alpha,
    }
    emit_table(
        pd.DataFrame(rows),
        options,
        title=f"{write_answer(first)}\n{write_scope(first)}",
        notes=first.notes,
        facts=facts,
    )


def _write_margin(options: Options, analysis: Analysis) -> dict[str, str]:
    """Write the test of every pair against the margin as a LaTeX table."""
    tested = test_margin(analysis.comparisons, options)
    assert tested is not None
    path = options.out / "margin.tex"
    write_atomically(
        path, render_table(tested.table, Format.latex, title=str(tested)).encode("utf-8", "backslashreplace")
    )
    return {"file": str(path), "holds": f"differences against a margin of {options.margin:g}"}
