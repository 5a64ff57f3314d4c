"""shardwise leaderboard: the systems, best first, with the range of ranks that each may have."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from shardwise.analysis.analysis import Analysis
from shardwise.analysis.leaderboard import Leaderboard, leaderboard
from shardwise.cli.analyzing import analyze_measures, check_choices
from shardwise.cli.cluster import on_cluster
from shardwise.cli.commands import LeaderboardOptions
from shardwise.cli.inputs import InputReader, filled
from shardwise.cli.options import Format
from shardwise.cli.output import emit, write_text
from shardwise.comparing.equivalence import equivalence
from shardwise.core.text import short


def rank_systems(options: LeaderboardOptions) -> None:
    """Rank the systems and print them, or write them to a file."""
    check_choices(options)
    reader = InputReader.of(options)
    read = reader.read()
    # Ranks come from all pairs; baselines are a family of comparisons of their own.
    with on_cluster(options.cluster, options.quiet) as executor:
        analyses = analyze_measures(options, reader, read, executor=executor, baseline=None)
    board = leaderboard(*analyses, baseline=options.baseline or None)
    near_best = _near_best(analyses[0], options)
    if near_best is not None:
        board = replace(board, explained=(*board.explained, _say_margin(near_best, options)))
    if options.shown is Format.html:
        write_text(board.html(page=not options.fragment), options.out, quiet=options.quiet)
    else:
        _show(board, near_best, analyses, options)


def _near_best(analysis: Analysis, options: LeaderboardOptions) -> pd.Series | None:
    """Whether each system is shown to be less than the margin worse than the best one, where a margin is given."""
    if options.margin is None:
        return None
    tested = equivalence(
        analysis.comparisons, options.margin, "lower", method=options.verdict, alpha=options.alpha
    ).table
    best = analysis.systems[0]
    shown = tested[(tested["b"] == best) & tested["holds"]]["a"]
    return pd.Series({name: name == best or name in set(shown) for name in analysis.systems})


def _say_margin(near_best: pd.Series, options: LeaderboardOptions) -> str:
    names = [short(str(name)) for name in near_best.index[near_best][1:]]
    listed = ", ".join(names) or "none"
    best, level = short(str(near_best.index[0])), f"{1 - options.alpha:.0%} confidence"
    return f"Less than {options.margin:g} worse than {best} ({level}): {listed}."


def _show(
    board: Leaderboard, near_best: pd.Series | None, analyses: list[Analysis], options: LeaderboardOptions
) -> None:
    """Print or write the table: rounded in text, LaTeX and Markdown, else with all digits."""
    whole = options.shown in (Format.csv, Format.json)
    gaps = dict.fromkeys(note for one in analyses for note in filled(one.scores, options.fill)[1])
    notes = () if options.quiet else (*analyses[0].notes, *gaps)
    facts = {
        "procedure": board.procedure,
        "claim": board.claim,
        "measure": board.measure,
        "measures": list(board.others),
        "baselines": list(board.against),
        "alpha": options.alpha,
        "explained": list(board.explained),
    }
    explained = () if whole or options.quiet else board.explained
    frame = board.to_frame() if whole else board.shown()
    if whole and near_best is not None:
        facts["margin"] = options.margin
        frame["near_best"] = near_best.loc[list(board.systems)].to_numpy()
    emit(
        frame,
        options.shown,
        options.out,
        title=f"{board.heading}\n{board.answer}",
        notes=(*explained, *notes),
        facts=facts,
        quiet=options.quiet,
    )
