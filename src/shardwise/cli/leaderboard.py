"""shardwise leaderboard: the systems, best first, with the ranks that each may have."""

from __future__ import annotations

import sys
from concurrent.futures import Executor

from shardwise.analysis.analysis import Analysis
from shardwise.analysis.analyze import AnalysisOptions, analyze
from shardwise.analysis.leaderboard import Leaderboard, leaderboard
from shardwise.cli import inputs as opt
from shardwise.cli.cluster import on_cluster
from shardwise.cli.commands.leaderboard import BoardFormat, LeaderboardOptions
from shardwise.cli.commands.paper import PaperOptions
from shardwise.cli.options import Format
from shardwise.cli.output import emit, progress
from shardwise.core.errors import InputError
from shardwise.io.atomic import write_atomically
from shardwise.procedures.vocabulary import parse


def rank_systems(options: LeaderboardOptions) -> None:
    """Rank the systems and print them, or write them to a file."""
    shown = options.shown
    if options.fragment and shown is not BoardFormat.html:
        raise InputError("--fragment does nothing here", remedy="add --format html")
    if options.method:
        parse(options.method)
    with on_cluster(options.cluster, options.quiet) as executor:
        found = analysed(options, executor=executor)
    board = leaderboard(*found, baseline=options.baseline or None)
    if shown is BoardFormat.html:
        text = board.html(page=not options.fragment)
        if options.out is None:
            sys.stdout.write(text)
        else:
            write_atomically(options.out, text.encode("utf-8", "backslashreplace"))
        return
    _tell(board, found, options)


def analysed(
    options: LeaderboardOptions | PaperOptions,
    baseline: tuple[str, ...] | None = None,
    executor: Executor | None = None,
) -> list[Analysis]:
    """An analysis of each measure, that which ranks first; of all pairs unless there are baselines."""
    source = opt.RunInputs.of(options)
    read = source.read()
    if not source.measure:
        opt.single(read)  # refuses to choose
    chosen = AnalysisOptions(
        method=options.method or None,
        generalize=options.generalize or None,
        alpha=options.alpha,
        fill=opt.fill_policy(options.fill),
        baseline=baseline,
        seed=options.seed,
        notes=read.notes,
    )
    found = []
    for name in source.measure or tuple(map(str, read.scores.data_vars)):
        with progress(f"{name}: comparing", options.quiet) as told:
            found.append(analyze(read.scores[name], chosen, executor=executor, progress=told))
    return found


def _tell(board: Leaderboard, found: list[Analysis], options: LeaderboardOptions) -> None:
    """Print or write the table: as people read it in text, LaTeX and Markdown, else with all digits."""
    format = Format(options.shown.value)
    whole = format in (Format.csv, Format.json)
    filled = dict.fromkeys(note for one in found for note in opt.filled(one.scores, options.fill)[1])
    notes = () if options.quiet else (*found[0].notes, *filled)
    facts = {
        "procedure": board.procedure,
        "claim": board.claim,
        "measure": board.measure,
        "measures": list(board.others),
        "baselines": list(board.against),
        "alpha": options.alpha,
        "explained": list(board.explained),
    }
    said = () if whole or options.quiet else board.explained
    emit(
        board.to_frame() if whole else board.shown(),
        format,
        options.out,
        title=f"{board.heading}\n{board.answer}",
        notes=(*said, *notes),
        facts=facts,
    )
