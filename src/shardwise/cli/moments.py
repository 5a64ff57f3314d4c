"""Compare systems on tables that do not fit into memory: counts, means and cross-products are all that is kept."""

from __future__ import annotations

from functools import reduce
from operator import add
from pathlib import Path

import pandas as pd

from shardwise.cli.inputs import InputReader, parse_columns
from shardwise.cli.options import MOMENTS, Format
from shardwise.cli.output import emit_table, show_progress
from shardwise.cli.parsing import Options
from shardwise.comparing.compare import compare
from shardwise.comparing.comparisons import Comparisons
from shardwise.core.claim import format_count
from shardwise.core.errors import InputError
from shardwise.core.measure import is_lower_better
from shardwise.methods.moments.fit import Gaps, ScoreMoments
from shardwise.methods.names import parse_procedure

MARGINAL = "MD1"
"""Method that needs means and variances only, which take less time than cross-products."""


def compare_streamed(options: Options, reader: InputReader) -> None:
    """Read each input once, add the moments, compare the systems; save the moments where asked.

    Parameters
    ----------
    options : Options
        Options of the command.
    reader : InputReader
        The input.
    """
    options.check_effects(reader.describe_situation(streamed=True), str(reader.inputs[0]))
    if not reader.is_table:
        raise InputError(
            "moments are kept of tables of scores only", where=str(options.out), remedy="write .json"
        )
    method = options.method or "moderated"
    marginal = parse_procedure(method).method.name == MARGINAL and not options.keeps_moments
    total = reduce(add, [_read_moments(path, options, marginal) for path in reader.inputs])
    lower_is_better = reader.declared["lower_is_better"]
    pairs = compare(
        total,
        method,
        baseline=options.baseline or None,
        seed=options.seed,
        lower_is_better=_is_lower_better(options) if lower_is_better is None else lower_is_better,
    )
    if options.keeps_moments:
        total.save(options.out)
    _show_moments(total, pairs, options)


def _is_lower_better(options: Options) -> bool:
    """Return whether the column of the scores, or else the only file, has the name of such a measure."""
    column = (parse_columns(options.columns) or {}).get("score", "")
    names = [*options.measure[:1], column] if options.measure or column else [options.inputs[0].stem]
    return any(map(is_lower_better, names))


def _read_moments(path: Path, options: Options, marginal: bool) -> ScoreMoments:
    if path.suffix == MOMENTS:
        saved = ScoreMoments.load(path)
        return saved.margins() if marginal else saved
    gaps: Gaps = "drop" if options.missing == "drop" else "refuse"
    with show_progress(f"{path.name}: items read", options.quiet) as bar:
        return ScoreMoments.of(
            path,
            columns=parse_columns(options.columns),
            missing=gaps,
            margins=marginal,
            progress=lambda done, _: bar(done, done),
        )


def _show_moments(total: ScoreMoments, pairs: Comparisons, options: Options) -> None:
    # The table of systems and pairs is that of compare, which loads this module.
    from shardwise.cli.compare import pairs_table, systems_by_baseline

    by_pairs = options.table == "pairs" or (not options.table and options.chosen_format is not Format.text)
    table: pd.DataFrame = pairs_table(pairs, options) if by_pairs else systems_by_baseline(pairs, options)
    facts = {
        "procedure": pairs.procedure,
        "method": pairs.title,
        "claim": pairs.claim,
        "repeats": "",
        "model": "",
        "measure": "",
        "lower_is_better": pairs.lower_is_better,
        "alpha": options.alpha,
        "items": total.n,
        "dropped": total.dropped,
    }
    read = (f"streamed: {format_count(total.n, total.item)} × {format_count(len(total.systems), 'system')}",)
    dropped = (f"{format_count(total.dropped, total.item)} without a score of every system left out",)
    saved = (f"moments: {options.out}",) if options.keeps_moments else ()
    notes = (*read, *(dropped if total.dropped else ()), *pairs.notes, *saved)
    emit_table(table, options, title=pairs.summary(options.alpha), notes=notes, facts=facts)
