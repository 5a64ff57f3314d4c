"""Everything that a paper needs of an analysis: tables, figure, methods, references, and every number by name."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from shardwise.analysis.analysis import Analysis, ClaimResult
from shardwise.analysis.leaderboard import tabulate_against
from shardwise.core.errors import InputError, Option
from shardwise.core.text import shorten_name
from shardwise.io.atomic import write_atomically
from shardwise.plot.saving import import_converter, specify_chart
from shardwise.plot.theme import COLUMN
from shardwise.stats.groups import name_group
from shardwise.writing import answer
from shardwise.writing.assets import ReportFile, make_text_file
from shardwise.writing.methods import format_bibliography, methods_latex
from shardwise.writing.names import escape_tex, label_systems
from shardwise.writing.numbers import (
    equate_p,
    format_interval,
    format_number,
    format_p,
    format_percent,
    format_ranks,
)
from shardwise.writing.slices import slices_latex
from shardwise.writing.table import TypedColumn, format_math, set_float, set_table, set_tabular
from shardwise.writing.words import explain_bars, explain_term, shorten_letters

LETTERED = 12  # systems that letters tell apart; beyond these a superscript counts those that are beaten
NAME, HEAD = 28, 16  # characters of the name of a system, and of a measure
ROWS = 42  # of a panel: what fits on a page under its caption
MOST_DRAWN = 42  # rows of the figure, which fit on a page
# points; the narrowest column of common two-column classes, and the narrowest page of one column (article at 10pt)
NARROW, PAGE = 229.0, 345.0
# points at \footnotesize: a digit, a capital, a superscript, the space between columns, a name
DIGIT, CAPITAL, SMALL, GAP, LEAST_NAME = 4.3, 5.0, 3.2, 6.0, 78.0
MOST_MACROS = 500  # pairs whose differences all have names
PACKAGES = "% needs \\usepackage{booktabs,tabularx,graphicx}"


def write_paper(
    folder: str | os.PathLike[str], analysis: Analysis, columns: int | None = None
) -> tuple[ReportFile, ...]:
    """Write table.tex, figure.pdf, figure.svg, methods.tex, refs.bib and numbers.tex into a folder."""
    files = make_paper(analysis, columns)
    Path(folder).mkdir(parents=True, exist_ok=True)
    for file in files:
        write_atomically(Path(folder) / file.name, file.content)
    return files


def make_paper(first: Analysis, columns: int | None = None) -> tuple[ReportFile, ...]:
    """Return the files of a paper."""
    if columns not in (None, 1, 2):
        raise InputError(
            f"a table cannot have {columns} columns",
            remedy=("use 1 or 2 for ", Option("columns")),
            argument="columns",
        )
    # the forest of differences from the baselines, or of the best from the others, in a column of a paper
    most = MOST_DRAWN // max(len(first.baselines), 1)
    specification = specify_chart(first.plot("forest", width=COLUMN, most=most))
    # A column has no room for margins, and its fonts are embedded.
    specification["padding"] = 2
    converter = import_converter()
    pdf, svg = converter.vegalite_to_pdf(specification), converter.vegalite_to_svg(specification)
    parts = [] if first.slices is None else [first.slices]
    return (
        make_text_file("table.tex", "systems and measures, best in bold", table_latex(first, columns)),
        ReportFile("figure.pdf", "the differences with their confidence intervals, 8 cm wide", pdf),
        make_text_file("figure.svg", "the same for other uses", svg),
        *(make_text_file("slices.tex", f"systems by {part.name}", slices_latex(part)) for part in parts),
        make_text_file("methods.tex", "the methods paragraph", methods_latex(first)),
        make_text_file("refs.bib", "its sources", format_bibliography(first)),
        make_text_file("numbers.tex", r"every number by name, as in \sw{mean/bm25/AP}", numbers_latex(first)),
    )


def table_latex(first: Analysis, columns: int | None = None) -> str:
    """The table of systems and measures, in as many panels and floats as it takes."""
    analyses, names = first.each, first.systems
    # the systems that have a letter: the baselines, or all of few
    marked = first.baselines or (names if len(names) <= LETTERED else ())
    texts, widths = zip(*(_format_cells(analysis, names, marked) for analysis in analyses), strict=True)
    letters = {name: name_group(k) for k, name in enumerate(marked)}
    labels = label_systems(first.lead, NAME)
    noun = escape_tex(answer.capitalize_sentence(first.noun_for("system")))
    shown = [_format_name(labels[name], letters.get(name, ""), bool(marked)) for name in names]
    heads = [rf"\multicolumn{{1}}{{r}}{{{escape_tex(analysis.measure, HEAD)}}}" for analysis in analyses]
    measures = [TypedColumn(head, column, "tex") for head, column in zip(heads, texts, strict=True)]
    # As many measures as the width has room for, and panels of systems side by side where these are many.
    wide = max(*widths, *(CAPITAL * len(shorten_name(analysis.measure, HEAD)) + GAP for analysis in analyses))
    fits = [int((room - LEAST_NAME) // wide) for room in (NARROW, PAGE)]
    across = columns == 2 or (columns is None and (len(analyses) > fits[0] or len(names) > ROWS))
    room, most = (PAGE, max(fits[1], 1)) if across else (NARROW, max(fits[0], 1))
    most = -(-len(analyses) // -(-len(analyses) // most))  # blocks of one size
    panels = max(1, int(room // (LEAST_NAME + wide * most + GAP)))
    panels = min(panels, -(-len(names) // ROWS)) if len(names) > ROWS else 1
    share = r"\linewidth" if panels == 1 else rf"{(1.0 - 0.03 * (panels - 1)) / panels:.3f}\linewidth"
    kind, layout = "table*" if across else "table", r"\centering\footnotesize\setlength{\tabcolsep}{3pt}"
    floats: list[str] = []
    for first_measure in range(0, len(analyses), most):
        block = [TypedColumn(noun, shown, "tex"), *measures[first_measure : first_measure + most]]
        for page in _cut_range(range(len(names)), ROWS * panels):
            parts = [set_tabular(block, rows, share) for rows in _cut_range(page, -(-len(page) // panels))]
            lines = [line for part in parts for line in (r"\hfill", *part)][1:]
            caption = r"Continued from Table~\ref{tab:sw}." if floats else _write_caption(first, marked)
            floats.append(set_float(kind, layout, caption, "" if floats else "tab:sw", lines))
    return "\n".join([PACKAGES, *floats])


def _cut_range(whole: range, size: int) -> list[range]:
    """A range in parts of a size."""
    return [range(k, min(k + size, whole.stop)) for k in range(whole.start, whole.stop, size)]


def _format_cells(analysis: Analysis, names: Sequence[str], marked: Sequence[str]) -> tuple[list[str], float]:
    """One cell a system in the order of the table, and the points that the widest takes.

    A cell is a mean, bold where it is the best and underlined where it is tied with it, with whom it beats above and
    whom it is beaten by below.
    """
    means, d = analysis.lead.intervals["estimate"], analysis.decimals
    best = format_number(float(means.min() if analysis.comparisons.lower_is_better else means.max()), d)
    cells, wide, ties = [], 0.0, analysis.lead.best_set
    for name, signs in zip(names, analysis.lead.direction_matrix(tuple(names)), strict=True):
        shown = format_number(float(means[name]), d)
        text = rf"\textbf{{{shown}}}" if shown == best else shown.replace("−", "$-$")
        if name in ties and shown != best:
            text = rf"\underline{{{text}}}"
        decided = {other: sign for other, sign in zip(names, signs, strict=True) if sign}
        beaten, lost = (
            [name_group(k) for k, other in enumerate(marked) if decided.get(other) == sign]
            for sign in (1, -1)
        )
        wins = int((signs > 0).sum())
        above = (
            shorten_letters(beaten).replace(" ", "").replace("–", "--") if marked else str(wins) * (wins > 0)
        )
        below = "".join(lost) if analysis.baselines else ""
        text += rf"\textsuperscript{{{above}}}" if above else ""
        text += rf"\textsubscript{{{below}}}" if below else ""
        cells.append(text)
        wide = max(wide, DIGIT * len(shown) + SMALL * (len(above) + len(below)) + GAP)
    return cells, wide


def _format_name(label: str, letter: str, lettered: bool) -> str:
    """A name that may be broken anywhere that is not ugly, after the letter it is referred to by."""
    parts = re.findall(r"[^\W_]{1,9}|.", label, re.DOTALL)
    broken = r"\allowbreak{}".join(escape_tex(part) for part in parts)
    mark = rf"\makebox[1em][l]{{\textit{{{letter}}}}}" if lettered else ""
    return f"{mark}{broken}"


def _write_caption(first: Analysis, marked: Sequence[str]) -> str:
    """What the table shows, and what its superscripts mean."""
    systems, system = escape_tex(first.nouns_for("system")), escape_tex(first.noun_for("system"))
    over = first.format_count(first.topics, "topic")
    several = (
        ""
        if not first.others
        else "each measure separately"
        if first.lead.family is None
        else "all measures together"
    )
    test = escape_tex(first.lead.title, 120)
    level = rf"$p < {first.alpha:g}$"
    tied = (
        ", those tied with it underlined" if any(len(each.lead.best_set) > 1 for each in first.each) else ""
    )
    claim = escape_tex(answer.describe_claim(first.lead, first), 200)
    text = rf"Mean scores of {len(first.systems):,} {systems} on {escape_tex(over)}; the best in bold{tied}."
    if lower := [item.measure for item in first.each if item.comparisons.lower_is_better]:
        text += f" Lower is better: {escape_tex(answer.join_names(lower), 200)}."
    if first.baselines:
        text += (
            rf" A superscript names the baselines that a {system} is significantly better than, a subscript those that"
            " it is significantly worse than"
        )
    elif marked:
        text += rf" A superscript names the {systems} that one is significantly better than"
    else:
        text += rf" A superscript counts the {systems} that one is significantly better than"
    detail = ", ".join(part for part in (test, level, several) if part)
    return f"{text} ({detail}), for {claim}."


def numbers_latex(first: Analysis) -> str:
    r"""Every number of the text as ``\sw{mean/bm25/AP}``; a name that is not there is an error, not a gap."""
    lead = first.lead
    values = {
        "topics": format_math(f"{first.topics:,}"),
        "systems": format_math(f"{len(first.systems):,}"),
        "alpha": f"{first.alpha:g}",
        "level": format_percent(1.0 - first.alpha).replace("%", r"\%"),
        "best": rf"\ifmmode\mbox{{{escape_tex(lead.best)}}}\else {escape_tex(lead.best)}\fi",
    }
    for analysis in first.each:
        m, d, result = analysis.measure, analysis.decimals, analysis.lead
        counts = {"pairs": len(result.pairs), "found": result.n_significant, "top": len(result.best_set)}
        values |= {f"{key}/{m}": format_math(f"{n:,}") for key, n in counts.items() if n or key != "top"}
        for name, row in result.intervals.rename(columns={"estimate": "mean"}).iterrows():
            for column in ("mean", "lower", "upper"):
                values[f"{column}/{name}/{m}"] = format_math(format_number(float(row[column]), d))
        if result.pairs.complete:
            ranks = result.pairs.ranks(1.0 - analysis.alpha)
            for name, rank, may in zip(ranks.index, ranks["rank"], format_ranks(ranks), strict=True):
                values |= {f"rank/{name}/{m}": f"{rank}", f"ranks/{name}/{m}": format_math(may)}
        for base in _list_bases(analysis):
            for name, row in tabulate_against(result.pairs, base, analysis.alpha).iterrows():
                pair, ends = f"{name}/{base}/{m}", (float(row["lower"]), float(row["upper"]))
                values[f"difference/{pair}"] = format_math(format_number(float(row["difference"]), d))
                if np.isfinite(ends).all():
                    limits = format_interval(*ends, d, significant=row["verdict"] != "tied")
                    values[f"interval/{pair}"] = " to ".join(map(format_math, limits.split(" to ")))
                    numbers = (format_math(format_number(end, d)) for end in ends)
                    values |= zip((f"lower/{pair}", f"upper/{pair}"), numbers, strict=True)
                p = format_p(float(row["p_adjusted"]), result.resolution)
                values |= {f"p/{pair}": format_math(equate_p(p)), f"pvalue/{pair}": format_math(p)}
        if (lift := analysis.measure_lift(result)) is not None:
            shares = zip(("lift", "liftlower", "liftupper"), lift, strict=True)
            known = {key: format_number(100.0 * share, 1) for key, share in shares if np.isfinite(share)}
            values |= {f"{key}/{m}": format_math(text) + r"\%" for key, text in known.items()}
    lines = [
        rf"\expandafter\def\csname sw@{_format_key(key)}\endcsname{{{text}}}" for key, text in values.items()
    ]
    return "\n".join(
        [
            r"\providecommand{\sw}[1]{\ifcsname sw@#1\endcsname\csname sw@#1\endcsname"
            r"\else\errmessage{numbers.tex has no #1}\fi}",
            *lines,
            "",
        ]
    )


def _list_bases(analysis: Analysis) -> tuple[str, ...]:
    """The systems whose differences from others have a name: all of few, else those that the answer speaks of."""
    lead = analysis.lead
    if analysis.baselines or not lead.pairs.complete:
        return analysis.baselines or (lead.best,)
    if len(lead.pairs) <= MOST_MACROS:
        return lead.names
    runner_up = next((name for name in lead.names if name not in lead.best_set), lead.best)
    return tuple(dict.fromkeys((lead.best, runner_up)))


def _format_key(text: str) -> str:
    """A name that TeX takes as it is typed: what is special there becomes a hyphen."""
    return re.sub(r"[^A-Za-z0-9@/.:+=_-]", "-", text)


MOST_PAIRS = 45  # beyond these, the table of pairs has only those with the best system
LONG_NAME = 32  # characters of a name in a table
FIGURE = "intervals.pdf"
MARKS = (r"\dag", r"\ddag")


def systems_latex(content: Analysis) -> str:
    r"""Return the systems, best first, with confidence intervals of their means, rank ranges, and letters.

    A system of the best set has a dagger for the leading claim, and a double dagger for the other.
    """
    claims, systems, lead = content.distinct_results, content.systems, content.lead
    marks = [
        "".join(
            mark
            for mark, result in zip(MARKS, claims, strict=False)
            if name in result.best_set and (k or result.may_be_best)
        )
        for k, name in enumerate(systems)
    ]
    means = TypedColumn("", list(lead.intervals["estimate"]), "number", content.decimals).set_tex()
    means = [mean + (f"$^{{{mark}}}$" if mark else "") for mean, mark in zip(means, marks, strict=True)]
    ends = list(zip(lead.intervals["lower"], lead.intervals["upper"], strict=True))
    noun, labels = answer.capitalize_sentence(content.noun_for("system")), label_systems(lead, LONG_NAME)
    columns = [
        TypedColumn("", range(1, len(systems) + 1), "d"),
        TypedColumn(escape_tex(noun), [labels[name] for name in systems]),
        TypedColumn(escape_tex(content.measure), means, "tex"),
        TypedColumn(f"{_format_level(content)} CI", ends, "interval", content.decimals),
    ]
    if lead.pairs.complete:
        columns.append(
            TypedColumn("Rank", format_ranks(lead.pairs.ranks(1.0 - content.alpha).loc[list(systems)]))
        )
    lettered = all(result.letters is not None for result in claims)
    for result in claims if lettered else ():
        claim = f", {escape_tex(answer.describe_claim(result, content))}" if len(claims) > 1 else ""
        columns.append(
            TypedColumn(f"Group{claim}", [shorten_letters(names) for names in result.letters or ()])
        )
    return set_table(columns, _systems_caption(content, lettered), "tab:systems")


def _systems_caption(content: Analysis, lettered: bool) -> str:
    claims, systems = content.distinct_results, escape_tex(content.nouns_for("system"))
    marks = ", ".join(
        f"${mark}$ {escape_tex(answer.describe_claim(result, content))}"
        for mark, result in zip(MARKS, claims, strict=False)
        if result.best_set
    )
    best = (
        f"Best set ({_format_level(content)} confidence)"
        if content.lead.may_be_best
        else "Tied with the best"
    )
    return (
        rf"{answer.capitalize_sentence(systems)} by mean {escape_tex(content.measure)}"
        f"{' (lower is better)' * content.comparisons.lower_is_better} with"
        rf" {_format_level(content)} confidence intervals ({_join_titles(content)})."
        + (f" {best}: {marks}." if marks else "")
        + (f" {answer.capitalize_sentence(systems)} that share a letter are tied." if lettered else "")
    )


def _join_titles(content: Analysis) -> str:
    """The procedures in words, once where claims share them."""
    return escape_tex("; ".join(dict.fromkeys(result.title for result in content.distinct_results)), 200)


def _format_level(content: Analysis) -> str:
    return format_percent(1.0 - content.alpha).replace("%", r"\%")


def pairs_latex(content: Analysis) -> str:
    """All pairs with differences and corrected p-values; where these are many, those with the best system."""
    pairs, results = content.lead.pairs, content.distinct_results
    with_best = pairs.ia == pairs.ia.min(initial=0)
    shown = np.arange(len(pairs)) if len(pairs) <= MOST_PAIRS else np.flatnonzero(with_best)
    names, labels = pairs.estimates.labels, label_systems(content.lead, LONG_NAME)
    a, b = ([names[k] for k in ends[shown]] for ends in (pairs.ia, pairs.ib))
    asked = set(a) if len(shown) < len(pairs) else None
    columns = [
        TypedColumn("Better", [labels[name] for name in a]),
        TypedColumn("Worse", [labels[name] for name in b]),
        TypedColumn("Difference", pairs.difference[shown].tolist(), "number", content.decimals),
    ]
    for result in results:
        claim = f", {escape_tex(answer.describe_claim(result, content))}" if len(results) > 1 else ""
        texts = _by_name(result, asked)
        columns.append(TypedColumn(f"$p${claim}", [texts[pair] for pair in zip(a, b, strict=True)], "tex"))
    systems = escape_tex(content.nouns_for("system"))
    every = "All pairs" if pairs.complete else "The pairs compared"
    which = f"The best of the {systems} against all others" if asked else f"{every} of {systems}"
    caption = (
        rf"{which}: differences in {escape_tex(content.measure)} and corrected $p$-values ({_join_titles(content)});"
        rf" $^{{*}}$ $p < {content.alpha:g}$."
    )
    return set_table(columns, caption, "tab:pairs")


def _by_name(result: ClaimResult, asked: set[str] | None) -> dict[tuple[str, str], str]:
    """The p-value of each pair, whichever system is named first; told the other way round, it is marked so.

    Where few systems are asked for, of their pairs alone.
    """
    pairs = result.pairs
    names, p, ia, ib = pairs.estimates.labels, pairs.p_adjusted, pairs.ia, pairs.ib
    wanted = np.array([asked is None or name in asked for name in names])
    texts = {}
    for k in np.flatnonzero(wanted[ia] | wanted[ib]):
        i, j = ia[k], ib[k]
        text = format_math(format_p(float(p[k]), result.resolution))
        star = bool(p[k] <= result.alpha)
        texts[names[i], names[j]] = text + "$^{*}$" * star
        texts[names[j], names[i]] = text + (r"$^{*}$ (reversed)" if star else "")
    return texts


def anova_latex(content: Analysis) -> str:
    """The ANOVA table."""
    table = content.fit.table
    shown = {"ss": ("SS", ".4g"), "df": ("df", ".0f"), "ms": ("MS", ".4g"), "F": ("$F$", ".2f")}
    shown |= {"p": ("$p$", "tex"), "omega_sq": (r"$\hat\omega^2$", ".3f")}
    columns = [TypedColumn("Source", [str(term) for term in table.index])]
    for name, (head, kind) in shown.items():
        values = table[name].astype(float).tolist()
        cells = [format_math(format_p(p)) if np.isfinite(p) else "" for p in values]
        columns.append(TypedColumn(head, cells if kind == "tex" else values, kind))
    caption = (
        rf"Analysis of variance of {escape_tex(content.measure)}, {escape_tex(content.fit.model.title, 200)}."
    )
    return set_table(columns, caption, "tab:anova")


def figure_latex(content: Analysis) -> str:
    """The figure of intervals; its file is among the downloads of the report."""
    claims = " and ".join(escape_tex(result.claim, 200) for result in content.distinct_results)
    kind = "comparison" if all(result.has_comparison_intervals for result in content.claims) else "confidence"
    systems = escape_tex(content.nouns_for("system"))
    caption = (
        rf"Mean {escape_tex(content.measure)} of the {systems} with {_format_level(content)} {kind} intervals,"
        rf" for {claims}. {escape_tex(explain_bars(content), 200)}"
    )
    return "\n".join(
        [
            r"\begin{figure}",
            r"  \centering",
            rf"  \includegraphics[width=\linewidth]{{{FIGURE}}}",
            rf"  \caption{{{caption}}}",
            r"  \label{fig:intervals}",
            r"\end{figure}",
            "",
        ]
    )


def render_latex(content: Analysis) -> str:
    """All tables and the figure in one file, to be read by \\input."""
    return "\n".join(
        [
            r"% needs \usepackage{booktabs,graphicx,longtable}",
            systems_latex(content),
            pairs_latex(content),
            *([] if content.slices is None else [slices_latex(content.slices)]),
            anova_latex(content),
            "% "
            + "\n% ".join(f"{term}: {explain_term(str(term), content)}" for term in content.fit.table.index),
            figure_latex(content),
        ]
    )
