"""Make the tables of systems that every surface shows: mean, confidence interval, rank range and group."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from shardwise.analysis.analysis import Analysis, PairResult
from shardwise.comparing.comparisons import Comparisons
from shardwise.core.claim import format_count, pluralize_noun
from shardwise.core.libraries import pd
from shardwise.core.text import list_columns, shorten_name
from shardwise.writing.answer import (
    describe_lift,
    join_names,
    write_answer,
    write_byline,
    write_date,
    write_measures,
    write_next_step,
    write_scope,
    write_title,
)
from shardwise.writing.names import label_systems
from shardwise.writing.numbers import format_number, format_p, format_percent, format_ranks
from shardwise.writing.slices import MARKS, describe_slices, explain_verdicts
from shardwise.writing.table import TypedColumn, render_box, render_lines, show_columns

if TYPE_CHECKING:
    from shardwise.analysis.leaderboard import Leaderboard

KINDS = {"mean": "number", "difference": "signed"}


def tabulate_systems(pairs: Comparisons, alpha: float) -> dict[str, list[Any]]:
    """Return the systems, best first: `system, mean, lower, upper`, and `rank_best, rank_worst, group` of all pairs."""
    columns = {
        "mean" if name == "estimate" else name: list(values)
        for name, values in pairs.list_systems(alpha).items()
        if name != "rank"
    }
    letters = PairResult(pairs=pairs, alpha=alpha).letters if pairs.complete else None
    return columns if letters is None else columns | {"group": ["".join(names) for names in letters]}


def tabulate_baselines(pairs: Comparisons, baselines: Iterable[str], alpha: float) -> pd.DataFrame:
    """Return the systems against baselines: `system, mean, difference, lower, upper, p_adjusted, verdict`."""
    from shardwise.analysis.leaderboard import tabulate_against

    bases = list(baselines)
    mean = pd.Series(pairs.means, index=pairs.estimates.labels)
    tables = []
    for base in bases:
        frame = tabulate_against(pairs, base, alpha).reset_index()
        frame.insert(1, "mean", mean.loc[frame["system"]].to_numpy())
        frame = frame.sort_values("mean", ascending=pairs.lower_is_better, kind="stable").drop(columns="p")
        share = pairs.estimates.win_share
        if share is not None:
            # the share of wins rises with the difference, so that limits of one are limits of the other
            ends = {"win_rate": "difference", "win_lower": "lower", "win_upper": "upper"}
            rates = {name: share.of_difference(frame[end].to_numpy()) for name, end in ends.items()}
            verdict = frame.pop("verdict")
            frame = frame.assign(**rates, verdict=verdict)
        if len(bases) > 1:
            frame.insert(0, "baseline", base)
        tables.append(frame)
    return pd.concat(tables, ignore_index=True)


def show_table(
    table: Mapping[str, Sequence[Any]] | pd.DataFrame, alpha: float, decimals: int, resolution: float = 0.0
) -> dict[str, list[str]]:
    """Return a table of systems as people read it: one column for an interval, one for a rank range."""
    frame = list_columns(table)
    # only differences have a verdict
    verdicts = frame.get("verdict", [""] * len(frame["system"]))
    columns = []
    for name, values in frame.items():
        column = TypedColumn(name, values, KINDS.get(name, "text"), decimals)
        if name == "lower":
            found = [verdict in ("better", "worse") for verdict in verdicts]
            limits = list(zip(frame["lower"], frame["upper"], found, strict=True))
            column = TypedColumn(f"{format_percent(1.0 - alpha)} CI", limits, "limits", decimals)
        elif name == "rank_best":
            column = TypedColumn("rank", format_ranks(frame))
        elif name == "win_rate":
            rates = zip(frame["win_rate"], frame["win_lower"], frame["win_upper"], strict=True)
            column = TypedColumn("win rate", [f"{x:.0%} ({low:.0%} to {high:.0%})" for x, low, high in rates])
        elif name == "p_adjusted":
            tested = zip(values, np.isfinite(frame["lower"]) | np.isfinite(values), strict=True)
            column = TypedColumn(
                "p", [format_p(p, resolution) if known else "not tested" for p, known in tested]
            )
        elif name == "verdict":
            column = TypedColumn("", [MARKS[verdict] for verdict in verdicts])
        if name not in ("upper", "rank_worst", "win_lower", "win_upper"):
            columns.append(column)
    return {str(column.head): column.show() for column in columns}


def show_leaderboard(board: Leaderboard) -> pd.DataFrame:
    """Return a leaderboard as people read it."""
    table, digits = board.table, board.decimals[board.measure]
    ends, labels = list(zip(table["lower"], table["upper"], strict=True)), label_systems(board.result)
    columns = [
        TypedColumn("system" if board.noun in ("rank", "group") else board.noun, list(table["system"])),
        TypedColumn(board.measure, list(table["mean"]), "number", digits),
        TypedColumn(f"{format_percent(board.level)} CI", ends, "interval", digits),
        TypedColumn("rank", format_ranks(table)),
        *([TypedColumn("group", list(table["group"]))] if board.has_letters else []),
        TypedColumn("to best", list(table["to_best"]), "number", digits),
    ]
    if (whole := board.analysis) is not None:
        columns += [TypedColumn(each.measure, mark_means(each, whole), "cell") for each in whole.others]
    for name, frame in board.against.items():
        differences = TypedColumn("", list(frame["difference"]), "signed", digits).show()
        marked = zip(differences, frame["verdict"], strict=True)
        columns.append(
            TypedColumn(f"vs {labels[name]}", [f"{text} {MARKS[word]}".strip() for text, word in marked])
        )
        columns.append(
            TypedColumn(f"p vs {labels[name]}", list(frame["p_adjusted"]), "p", resolution=board.resolution)
        )
    return show_columns(columns)


def answer_leaderboard(board: Leaderboard, command: str = "") -> tuple[str, str, str]:
    """Return the answer of a leaderboard, what it applies to, and the next step."""
    analysis = board.analysis
    setting = analysis or board.result
    step = "" if analysis is None else write_next_step(analysis, command)
    return write_answer(setting), write_scope(setting), step


def head_leaderboard(board: Leaderboard) -> tuple[str, str]:
    """Return the title of a leaderboard, and the line with its files, sizes and date."""
    if board.analysis is not None:
        return write_title(board.analysis), write_byline(board.analysis)
    return f"{board.measure}: {format_count(len(board), board.noun)}", write_date()


def explain_leaderboard(board: Leaderboard) -> tuple[str, ...]:
    """Write what the columns of a leaderboard mean, a sentence each."""
    level, alpha, systems = format_percent(board.level), board.result.alpha, pluralize_noun(board.noun)
    sentences = [
        explain_ranks(board.result, systems),
        f"{level} CI: confidence interval of each mean; {systems} with overlapping intervals may differ significantly.",
    ]
    labels = label_systems(board.result)
    if board.against:
        bases = join_names([labels[name] for name in board.against])
        paired = board.result.pairs.error_rate == "pair"
        how = "not corrected" if paired else f"corrected for {format_count(board.comparisons, 'comparison')}"
        sentences.append(
            f"▲ significantly better than {bases}, ▼ significantly worse (p < {alpha:g}, {how})."
        )
    if board.margin is not None:
        names = join_names([labels[name] for name in board.near_best]) if board.near_best else "none"
        best = labels[board.systems[0]]
        sentences.append(f"At most {board.margin:g} worse than {best} ({level} confidence): {names}.")
    if board.analysis is not None and board.analysis.others:
        sentences += [*write_measures(board.analysis), explain_measures(board.analysis)]
    return tuple(sentences)


def explain_ranks(result: PairResult, systems: str) -> str:
    """Write how sure the rank ranges of systems are."""
    rate = result.pairs.error_rate
    if rate == "family":
        return f"Rank ranges hold for all {systems} together with {format_percent(1.0 - result.alpha)} confidence."
    if rate == "discovery":
        return f"Rank ranges come from pairs at a false discovery rate of {format_percent(result.alpha)}."
    return "Rank ranges come from uncorrected tests and do not hold jointly."


def write_leaderboard(board: Leaderboard) -> str:
    """Write a leaderboard as plain text: the answer, its scope, the table, and what its columns mean."""
    answer, scope, step = answer_leaderboard(board)
    table = show_leaderboard(board).to_string(index=False)
    lines = [answer, scope, table, *explain_leaderboard(board), step]
    return "\n".join(line for line in lines if line)


def list_measures(analysis: Analysis) -> list[TypedColumn]:
    """Return the table of systems and measures: means with marks, the best of each measure in bold."""
    labels = label_systems(analysis.lead)
    columns = [TypedColumn(analysis.noun_for("system"), [labels[name] for name in analysis.systems])]
    for each in analysis.each:
        means = each.lead.intervals["estimate"]
        best = format_number(
            float(means.min() if each.comparisons.lower_is_better else means.max()), each.decimals
        )
        texts = mark_means(each, analysis)
        bold = frozenset(k for k, text in enumerate(texts) if text.split(" ")[0] == best)
        columns.append(TypedColumn(shorten_name(each.measure), texts, "cell", bold=bold))
    return columns


def mark_means(each: Analysis, analysis: Analysis) -> list[str]:
    """Return the means by one of the measures of an analysis with their marks, in the order of its systems."""
    names = analysis.systems
    verdicts = each.lead.judge_systems(names, analysis.baselines)
    means = each.lead.intervals["estimate"][list(names)]
    return [
        f"{format_number(float(mean), each.decimals)} {MARKS[verdict]}".strip()
        for mean, verdict in zip(means, verdicts, strict=True)
    ]


def explain_measures(analysis: Analysis) -> str:
    """Write what the marks of the table of measures mean; empty for one measure."""
    if not analysis.others:
        return ""
    lower = [shorten_name(each.measure) for each in analysis.each if each.comparisons.lower_is_better]
    turned = f"; lower is better: {join_names(lower)}" if lower else ""
    return f"{explain_verdicts(analysis.baselines, len(analysis.systems) == 2)} by that measure{turned}."


def render_measures(analysis: Analysis) -> str:
    """Return the table of systems and measures as an element of a page; empty for one measure."""
    if not analysis.others:
        return ""
    return render_box("Table by measure", list_measures(analysis)) + render_lines(
        [explain_measures(analysis)]
    )


def describe_parts(analysis: Analysis) -> dict[str, Any]:
    """Return what programs read of a lift, of further measures and of slices, where there are such."""
    slices = {} if analysis.slices is None else describe_slices(analysis.slices)
    return {**describe_lift(analysis), **describe_measures(analysis), **slices}


def describe_measures(analysis: Analysis) -> dict[str, Any]:
    """Return what programs read of several measures: sentences, and the systems by measure; nothing for one."""
    if not analysis.others:
        return {}
    from shardwise.analysis.measures import find_unbeaten, tabulate_measures

    return {
        "by_measure": tabulate_measures(analysis).to_dict("records"),
        "other_measures": write_measures(analysis),
        "unbeaten": list(find_unbeaten(analysis)),
        "joint": analysis.lead.family is not None,
    }
