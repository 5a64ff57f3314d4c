"""shardwise leaderboard: the systems, best first, with the range of ranks that each may have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd
import xarray as xr

from shardwise.analysis.leaderboard import Leaderboard, leaderboard, versus
from shardwise.cli.analyzing import analyze_measures, check_choices, compare_by_factors
from shardwise.cli.cluster import on_cluster
from shardwise.cli.commands import LeaderboardOptions
from shardwise.cli.inputs import InputReader, fill_gaps, pick_measure
from shardwise.cli.options import Format
from shardwise.cli.output import emit, write_text
from shardwise.comparing.comparisons import Comparisons
from shardwise.comparing.equivalence import equivalence
from shardwise.core.claim import counted
from shardwise.core.scores import nouns_of
from shardwise.core.text import short

DECIMALS = 4
"""Digits of means by a mixed model."""


def rank_systems(options: LeaderboardOptions) -> None:
    """Rank the systems and print them, or write them to a file."""
    check_choices(options)
    reader = InputReader.of(options)
    read = reader.read()
    notes: tuple[str, ...]
    if options.random:
        board, pairs = _rank_by_factors(pick_measure(read), options)
        notes = (*read.notes, *pairs.notes)
    else:
        # Ranks come from all pairs; baselines are a family of comparisons of their own.
        with on_cluster(options.cluster, options.quiet) as executor:
            analyses = analyze_measures(options, reader, read, executor=executor, baseline=None)
        board, pairs = leaderboard(*analyses, baseline=options.baseline or None), analyses[0].comparisons
        gaps = dict.fromkeys(note for one in analyses for note in fill_gaps(one.scores, options.fill)[1])
        notes = (*analyses[0].notes, *gaps)
    near_best = _near_best(pairs, board.systems, options)
    if near_best is not None:
        board = replace(board, explained=(*board.explained, _say_margin(near_best, options)))
    if options.shown is Format.html:
        write_text(board.html(page=not options.fragment), options.out, quiet=options.quiet)
    else:
        _show(board, near_best, notes, options)


def _rank_by_factors(scores: xr.DataArray, options: LeaderboardOptions) -> tuple[Leaderboard, Comparisons]:
    """Rank by a mixed model with random factors."""
    fit, pairs = compare_by_factors(scores, options)
    level, nouns, measure = 1.0 - options.alpha, nouns_of(scores), str(scores.name or "score")
    means = pairs.intervals(level).rename(columns={"estimate": "mean"})
    table = pairs.ranks(level).join(means).reset_index()
    best = set(pairs.best(options.alpha))
    table["to_best"] = table["mean"] - float(table["mean"].iloc[0])
    table["top"] = [name in best for name in table["system"]]
    against = {
        base: versus(compare_by_factors(scores, options, options.baseline)[1], base, options.alpha)
        .reindex(list(table["system"]))
        .fillna({"verdict": ""})
        for base in options.baseline
    }
    answer, *_ = pairs.summary(options.alpha).splitlines()[1:2] or [""]
    sizes = " × ".join(counted(n, nouns.get(str(dim), str(dim))) for dim, n in scores.sizes.items())
    columns = ("rank", "rank_best", "rank_worst", "system", "mean", "lower", "upper", "to_best", "top")
    board = Leaderboard(
        table[list(columns)],
        measure,
        {},
        against,
        nouns.get("system", "system"),
        level,
        {measure: DECIMALS},
        0.0,
        f"{measure}: {sizes}; mixed model, random {', '.join(options.random)}, {pairs.claim}",
        answer,
        "",
        pairs.claim,
        tuple(fit.notes),
    )
    return board, pairs


def _near_best(
    pairs: Comparisons, systems: Sequence[str], options: LeaderboardOptions
) -> pd.Series[bool] | None:
    """Whether each system is shown to be less than the margin worse than the best one, where a margin is given."""
    if options.margin is None:
        return None
    tested = equivalence(pairs, options.margin, "lower", method=options.verdict, alpha=options.alpha).table
    best = systems[0]
    shown = set(tested[(tested["b"] == best) & tested["holds"]]["a"])
    return pd.Series({name: name == best or name in shown for name in systems})


def _say_margin(near_best: pd.Series[bool], options: LeaderboardOptions) -> str:
    names = [short(str(name)) for name in near_best.index[near_best][1:]]
    listed = ", ".join(names) or "none"
    best, level = short(str(near_best.index[0])), f"{1 - options.alpha:.0%} confidence"
    return f"Less than {options.margin:g} worse than {best} ({level}): {listed}."


def _show(
    board: Leaderboard,
    near_best: pd.Series[bool] | None,
    notes: tuple[str, ...],
    options: LeaderboardOptions,
) -> None:
    """Print or write the table: rounded in text, LaTeX and Markdown, else with all digits."""
    whole = options.shown in (Format.csv, Format.json)
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
        notes=() if options.quiet else (*explained, *notes),
        facts=facts,
        quiet=options.quiet,
    )
