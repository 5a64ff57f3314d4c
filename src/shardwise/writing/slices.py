"""Write where systems differ: sentences on the slices of an answer, and the table of systems and slices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from shardwise.analysis.slices import VERDICTS, Slices
from shardwise.comparing.comparisons import Comparisons
from shardwise.core.claim import format_count, pluralize_noun
from shardwise.core.libraries import pd
from shardwise.core.text import escape_controls, shorten_names
from shardwise.writing.names import escape_tex
from shardwise.writing.numbers import (
    equate_p,
    format_interval,
    format_number,
    format_p,
    format_percent,
    format_signed,
)
from shardwise.writing.table import TypedColumn, render_box, render_lines, set_table, show_columns

MARKS = {"better": "▲", "worse": "▼", "tied": "", "": ""}
"""Marks of verdicts."""
ALL = "(all)"
"""The slice that has all items, in files."""
FEW_NAMED = 3
"""Slices, or systems, that sentences name."""
MOST_COLUMNS = 8
"""Systems that stand beside each other in the table; more stand below each other where slices are fewer."""


def write_slices(slices: Slices) -> list[str]:
    """Write which slices differ, whether differences depend on the slice, and what was not tested."""
    labels = shorten_names(slices.systems)
    few = len(slices.interactions) == 1 or (bool(slices.baselines) and len(slices.interactions) <= FEW_NAMED)
    significant = (
        [_write_pair(slices, a, b, labels) for a, b in slices.interactions[["a", "b"]].to_numpy()]
        if few
        else [_write_all(slices, labels)]
    )
    untested = [name for name in slices.labels if name not in slices.tested]
    left = f"Shown, not tested (too few {slices.items_noun}): {_join_some(untested)}." if untested else ""
    return [line for line in (*significant, _write_interaction(slices, labels), left) if line]


def _write_pair(slices: Slices, a: str, b: str, labels: dict[str, str]) -> str:
    """On which slices one system is better or worse than another."""
    rows = slices.pairs[(slices.pairs["a"] == a) & (slices.pairs["b"] == b)]
    rows = rows.sort_values("difference", key=np.abs, ascending=False, kind="stable")
    parts = []
    for verdict in ("worse", "better"):
        hit = rows[rows["verdict"] == verdict]
        if len(hit):
            shown = [f"{row.slice} {_write_gain(slices, row)}" for row in hit.head(FEW_NAMED).itertuples()]
            more = f" and {len(hit) - FEW_NAMED:,} more" if len(hit) > FEW_NAMED else ""
            parts.append(f"significantly {verdict} than {labels[b]} on {', '.join(shown)}{more}")
    noun, tested = _name_slice(slices), len(slices.tested)
    if not tested:
        return ""
    if not parts:
        return f"{labels[a]} and {labels[b]} differ significantly on no {noun} ({tested:,} tested)."
    left = tested - int(rows["verdict"].isin(["better", "worse"]).sum())
    rest = f"; no other {noun} differs significantly" if left else ""
    return f"{labels[a]} is {' and '.join(parts)}{rest}."


def _write_all(slices: Slices, labels: dict[str, str]) -> str:
    """On which slices any pairs differ, the one with the largest difference first."""
    hit = slices.pairs[slices.pairs["verdict"].isin(["better", "worse"])]
    tested = slices.pairs[slices.pairs["verdict"] != ""]
    if not len(tested):
        return ""
    noun, plural = _name_slice(slices), pluralize_noun(_name_slice(slices))
    if not len(hit):
        return f"No pair differs significantly on any {noun} ({len(slices.tested):,} tested)."
    hit = hit.assign(size=hit["difference"].abs()).sort_values("size", ascending=False, kind="stable")
    parts = []
    for name in list(dict.fromkeys(hit["slice"]))[:FEW_NAMED]:
        rows = hit[hit["slice"] == name]
        first = next(rows.itertuples())
        better, worse = (first.a, first.b) if first.verdict == "better" else (first.b, first.a)
        total = format_count(int((tested["slice"] == name).sum()), "pair")
        gain = _write_gain(slices, first, reverse=first.verdict == "worse")
        parts.append(
            f"{len(rows):,} of {total} on {name}, most of all {labels[better]} over {labels[worse]} {gain}"
        )
    differing = hit["slice"].nunique()
    count = f"{differing:,} of {len(slices.tested):,} {plural}"
    verb = "has" if differing == 1 else "have"
    return f"{count} {verb} significant differences: {'; '.join(parts)}."


def _write_gain(slices: Slices, row: object, *, reverse: bool = False) -> str:
    """A difference with its interval, in parentheses; the other way round where that is asked for."""
    difference, lower, upper = (float(getattr(row, name)) for name in ("difference", "lower", "upper"))
    if reverse:
        difference, lower, upper = -difference, -upper, -lower
    detail = equate_p(format_p(float(row.p_adjusted), slices.resolution))  # type: ignore[attr-defined]
    if np.isfinite(lower):
        interval = format_interval(lower, upper, slices.decimals, significant=True)
        detail = f"{format_percent(1.0 - slices.alpha)} CI {interval}"
    return f"({format_signed(difference, slices.decimals)}, {detail})"


def _write_interaction(slices: Slices, labels: dict[str, str]) -> str:
    """Whether differences depend on the slice."""
    known = slices.interactions[slices.interactions["p"].notna()]
    noun = _name_slice(slices)
    if not len(known):
        return ""
    depends = known[known["p"] <= slices.alpha]
    if len(slices.interactions) == 1:
        p = equate_p(format_p(float(known["p"].iloc[0])))
        if len(depends):
            return f"The difference depends on the {noun} ({p})."
        return f"No evidence that the difference depends on the {noun} ({p})."
    if not len(depends):
        return f"No evidence that any difference depends on the {noun} (p < {slices.alpha:g}, corrected)."
    first = depends.iloc[int(depends["statistic"].to_numpy().argmax())]
    total = format_count(len(known), "pair")
    return (
        f"The difference depends on the {noun} in {len(depends):,} of {total} (p < {slices.alpha:g}, corrected),"
        f" most of all {labels[str(first['a'])]} against {labels[str(first['b'])]}."
    )


def _name_slice(slices: Slices) -> str:
    return slices.by[0] if len(slices.by) == 1 else "slice"


def _join_some(names: Sequence[str]) -> str:
    more = f" and {len(names) - FEW_NAMED:,} more" if len(names) > FEW_NAMED else ""
    return f"{', '.join(names[:FEW_NAMED])}{more}"


def explain_marks(slices: Slices) -> str:
    """Write what the marks of the table mean, and which error rate they have."""
    if not slices.tested:
        return ""
    two = len(slices.interactions) == 1
    how = f"all {pluralize_noun(_name_slice(slices))}{'' if two else ' and pairs'} corrected together"
    rate = f"family-wise error {format_percent(slices.alpha)}"
    return f"{explain_verdicts(slices.baselines, two)}; {how} ({rate})."


def explain_verdicts(baselines: Sequence[str], two: bool) -> str:
    """Write what the marks of systems mean, of two systems or more, as the start of a sentence."""
    if two:
        return "▲ significantly better, ▼ significantly worse"
    against, worse = (baselines[0], baselines[0]) if baselines else ("all others", "at least one other")
    if len(baselines) > 1:
        against, worse = "all baselines", "at least one baseline"
    return f"▲ significantly better than {against}, ▼ significantly worse than {worse}"


def list_columns(slices: Slices) -> list[TypedColumn]:
    """Return the table of systems and slices: means with marks, and of two systems the difference too."""
    names, systems, means = slices.labels, slices.systems, slices.means
    items = means.drop_duplicates("slice")["items"].tolist()
    texts = [
        f"{format_number(mean, slices.decimals)} {MARKS[verdict]}".strip()
        for mean, verdict in zip(means["mean"], means["verdict"], strict=True)
    ]
    cells = np.array(texts, dtype=object).reshape(len(names), len(systems))
    if len(systems) > MOST_COLUMNS and len(names) <= MOST_COLUMNS:
        heads = [f"{name} (n = {n:,})" for name, n in zip(names, items, strict=True)]
        labels = shorten_names(systems)
        columns = [TypedColumn(head, list(column), "cell") for head, column in zip(heads, cells, strict=True)]
        return [TypedColumn("", [labels[name] for name in systems]), *columns]
    labels = shorten_names(systems)
    columns = [TypedColumn(slices.name, names), TypedColumn("n", items, "d")]
    columns += [TypedColumn(labels[name], list(cells[:, k]), "cell") for k, name in enumerate(systems)]
    if len(slices.interactions) == 1:
        rows = slices.pairs
        decided = rows["verdict"].isin(["better", "worse"])
        limits = list(zip(rows["lower"], rows["upper"], decided, strict=True))
        columns += [
            TypedColumn("difference", rows["difference"].tolist(), "signed", slices.decimals),
            TypedColumn(f"{format_percent(1.0 - slices.alpha)} CI", limits, "limits", slices.decimals),
            TypedColumn(
                "p",
                [format_p(p, slices.resolution) if p == p else "not tested" for p in rows["p_adjusted"]],
                "cell",
            ),
        ]
    return columns


def show_slices(slices: Slices) -> pd.DataFrame:
    """Return the table of systems and slices as people read it."""
    return show_columns(list_columns(slices))


def summarize_slices(slices: Slices) -> str:
    """Write the answer by slices as text: sentences, the table, and what its marks mean."""
    table = show_slices(slices).to_string(index=False)
    return "\n".join(line for line in (*write_slices(slices), table, explain_marks(slices)) if line)


def describe_slices(slices: Slices) -> dict[str, Any]:
    """Return what programs read of slices: sentences, and all figures as rows."""
    frames = {"slices": slices.means, "slice_pairs": slices.pairs, "interactions": slices.interactions}
    rows = {name: frame.to_dict("records") for name, frame in frames.items()}
    return {"by": list(slices.by), "by_slice": write_slices(slices), **rows}


def join_pairs(slices: Slices, whole: Comparisons) -> pd.DataFrame:
    """Return the pairs on all items, and those of each slice below them, as one table."""
    frame = whole.to_frame(1.0 - slices.alpha)
    items = int(slices.means.drop_duplicates("slice")["items"].sum())
    words = [VERDICTS[sign] for sign in whole.directions(slices.alpha).tolist()]
    every = frame.assign(slice=ALL, items=items, verdict=words)[list(slices.pairs.columns)]
    return pd.concat([every, slices.pairs], ignore_index=True)


def render_slices(slices: Slices | None) -> str:
    """Return the answer by slices as an element of a page; empty where there is none."""
    if slices is None:
        return ""
    table = render_box(f"Table by {escape_controls(slices.name)}", list_columns(slices))
    return f"{render_lines(write_slices(slices))}{table}{render_lines([explain_marks(slices)])}"


def slices_latex(slices: Slices) -> str:
    """Return the table of systems and slices in LaTeX, with what it shows as its caption."""
    heads = [replace(column, head=escape_tex(str(column.head))) for column in list_columns(slices)]
    what = f"Mean {escape_tex(slices.measure)} by {escape_tex(slices.name)}."
    return set_table(heads, f"{what} {escape_tex(explain_marks(slices), 400)}".strip(), "tab:slices")
