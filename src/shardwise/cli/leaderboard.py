"""shardwise leaderboard and paper: the systems, best first, on the screen, on a page or in the files of a paper."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from shardwise.analysis.analysis import PairResult
from shardwise.analysis.leaderboard import leaderboard, rank_pairs
from shardwise.cli.analyzing import (
    analyze_measures,
    check_choices,
    compare_by_factors,
    list_files,
    test_margin,
)
from shardwise.cli.compare import planning_command
from shardwise.cli.inputs import InputReader, fill_gaps
from shardwise.cli.options import Format
from shardwise.cli.output import Result, render_table
from shardwise.cli.parsing import Options
from shardwise.comparing.equivalence import equivalence
from shardwise.core.arguments import validate_choice
from shardwise.core.libraries import pd
from shardwise.io.atomic import write_atomically
from shardwise.writing.answer import write_answer, write_measures, write_range, write_scope
from shardwise.writing.paper import write_paper
from shardwise.writing.tables import answer_leaderboard, describe_parts, explain_leaderboard


def rank_systems(options: Options) -> Result:
    """Rank the systems."""
    check_choices(options)
    validate_choice(options.table, "table", ("", "fragment"))
    reader = InputReader(options).check()
    read = reader.read_input()
    notes: tuple[str, ...]
    if options.random:
        scores = read.pick_measure()
        _, pairs = compare_by_factors(scores, options)
        baselines = compare_by_factors(scores, options, options.baseline)[1] if options.baseline else None
        result = PairResult(pairs=pairs, alpha=options.alpha)
        board = rank_pairs(result, scores.measure.name, baselines, options.baseline)
        notes = (*read.notes, *pairs.notes)
    else:
        # Ranks come from all pairs; baselines are a family of comparisons of their own.
        # A page names its files.
        inputs = list_files(options, reader, read.files) if options.chosen_format is Format.html else ()
        analysis = analyze_measures(options, reader, read, baseline=None, inputs=inputs)
        board, pairs = leaderboard(analysis, baseline=options.baseline or None), analysis.comparisons
        gaps = dict.fromkeys(
            note for each in analysis.each for note in fill_gaps(each.scores, options.fill)[1]
        )
        notes = (*analysis.notes, *gaps, write_range(analysis))
    options = options.for_measure(board.measure)
    if options.margin is not None:
        margin = float(options.margin)
        tested = equivalence(pairs, margin, "lower", method=options.margin.verdict, alpha=options.alpha).table
        shown = set(tested[(tested["b"] == board.systems[0]) & tested["holds"]]["a"])
        near_best = tuple(name for name in board.systems if name in shown)
        board = replace(board, margin=margin, near_best=near_best)
    if options.chosen_format is Format.html:
        page = board.to_html(page=not options.table)
        return Result(answer_leaderboard(board)[:2], page=page, answers=True)
    # Rounded in text, LaTeX and Markdown, else with all digits.
    whole = options.chosen_format in (Format.csv, Format.json)
    command = planning_command(options, board.measure)
    answer, scope, step = answer_leaderboard(board, command)
    sentences = explain_leaderboard(board)
    facts: dict[str, Any] = {
        "answer": answer,
        "scope": scope,
        "procedure": board.result.pairs.procedure,
        "claim": board.result.claim,
        "measure": board.measure,
        "lower_is_better": board.result.pairs.lower_is_better,
        "measures": list(board.others),
        "baselines": list(board.against),
        "alpha": options.alpha,
        "explained": list(sentences),
    }
    explained = () if whole else sentences
    if board.analysis is not None:
        facts |= describe_parts(board.analysis)
        if board.analysis.slices is not None and not whole:
            explained += tuple(str(board.analysis.slices).split("\n"))
    frame = board.to_frame() if whole else board.format_table()
    if whole and board.margin is not None:
        facts["margin"] = board.margin
        near = {board.systems[0], *board.near_best}
        frame["near_best"] = [name in near for name in board.systems]
    return Result((answer, scope), frame, (*explained, *notes, step), facts=facts, answers=True)


WIDTHS = {"": None, "narrow": 1, "wide": 2}
"""Columns of a page that the table takes, by the words of the option."""


def write_files(options: Options) -> list[Result]:
    """Write the files, and say what they hold."""
    check_choices(options)
    validate_choice(options.table, "table", tuple(WIDTHS))
    reader = InputReader(options).check()
    read = reader.read_input()
    first = analyze_measures(options, reader, read)
    files = write_paper(options.out, first, columns=WIDTHS[options.table])
    rows = [{"file": str(options.out / file.name), "holds": file.about} for file in files]
    options = options.for_measure(first.measure)
    if (tested := test_margin(first.comparisons, options)) is not None:
        # The test of every pair against the margin.
        text = render_table(tested.table, Format.latex, title=str(tested))
        write_atomically(options.out / "margin.tex", text.encode("utf-8", "backslashreplace"))
        holds = f"differences against a margin of {options.margin:g}"
        rows.append({"file": str(options.out / "margin.tex"), "holds": holds})
    if options.quiet and options.format is Format.text:
        return []
    facts = {
        "folder": str(options.out),
        "procedure": first.procedure.name,
        "claim": first.comparisons.claim,
        "measures": [each.measure for each in first.each],
        "lower_is_better": first.comparisons.lower_is_better,
        "baselines": list(first.baselines),
        "alpha": first.alpha,
    }
    lines = (write_answer(first), write_scope(first), *write_measures(first))
    return [Result(lines, pd.DataFrame(rows), first.notes, facts=facts)]
