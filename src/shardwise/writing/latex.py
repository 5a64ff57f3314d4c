"""Tables for the paper, ready for booktabs."""

from __future__ import annotations

import numpy as np

from shardwise.analysis.analysis import Analysis, ClaimResult
from shardwise.writing import answer
from shardwise.writing.names import escape_tex, label_systems
from shardwise.writing.numbers import format_number, format_p, format_percent, format_ranks
from shardwise.writing.words import explain_bars, explain_term, shorten_letters

LONG = 45  # rows that fit on one page
MOST_PAIRS = 45  # beyond these, the table of pairs has only those with the best system
NAME = 32  # characters of a name in a table
FIGURE = "intervals.pdf"
MARKS = (r"\dag", r"\ddag")


def systems_latex(content: Analysis) -> str:
    r"""Return the systems, best first, with confidence intervals of their means, rank ranges, and letters.

    A system of the best set has a dagger for the leading claim, and a double dagger for the other.
    """
    d = content.decimals
    claims, many = content.distinct_results, len(content.distinct_results) > 1
    heads = {result.key: escape_tex(answer.describe_claim(result, content)) for result in claims}
    lettered = all(result.letters is not None for result in claims)
    ranked = content.lead.pairs.complete
    head = [
        "",
        escape_tex(answer.capitalize_sentence(content.noun_for("system"))),
        escape_tex(content.measure),
    ]
    head += [f"{_format_level(content)} CI"]
    head += ["Rank"] if ranked else []
    head += [f"Group, {heads[result.key]}" if many else "Group" for result in claims] if lettered else []
    intervals, names = content.lead.intervals, label_tex(content)
    ranks = (
        format_ranks(content.lead.pairs.ranks(1.0 - content.alpha).loc[list(content.systems)])
        if ranked
        else []
    )
    rows = []
    for k, name in enumerate(content.systems):
        mean, low, high = (float(intervals[column].iloc[k]) for column in ("estimate", "lower", "upper"))
        marks = "".join(
            mark
            for mark, result in zip(MARKS, claims, strict=False)
            if name in result.best_set and (k or result.may_be_best)
        )
        cells = [
            str(k + 1),
            names[name],
            _format_math(format_number(mean, d)) + (f"$^{{{marks}}}$" if marks else ""),
        ]
        ends = (_format_math(format_number(x, d)) for x in (low, high))
        cells += [" to ".join(ends) if np.isfinite(low) else "--"]
        cells += [ranks[k].replace("–", "--")] if ranked else []
        if lettered:
            cells += [escape_tex(shorten_letters((result.letters or ())[k])) for result in claims]
        rows.append(cells)
    columns = "rlr" + "r" + "l" * ranked + "l" * (len(claims) if lettered else 0)
    return _format_table(columns, head, rows, _systems_caption(content, lettered), "tab:systems")


def label_tex(content: Analysis) -> dict[str, str]:
    """Return the systems as the cells of a table name them, for LaTeX."""
    return {name: escape_tex(label, len(label)) for name, label in label_systems(content.lead, NAME).items()}


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
    return escape_tex(
        "; ".join(dict.fromkeys(result.procedure.plain_title for result in content.distinct_results)), 200
    )


def _format_level(content: Analysis) -> str:
    return format_percent(1.0 - content.alpha).replace("%", r"\%")


def pairs_latex(content: Analysis) -> str:
    """All pairs with differences and corrected p-values; where these are many, those with the best system."""
    d, lead = content.decimals, content.lead
    pairs = lead.pairs
    with_best = pairs.ia == pairs.ia.min(initial=0)
    shown = np.arange(len(pairs)) if len(pairs) <= MOST_PAIRS else np.flatnonzero(with_best)
    names = pairs.estimates.labels
    many = len(content.distinct_results) > 1
    head = ["Better", "Worse", "Difference"]
    head += [
        f"$p$, {escape_tex(answer.describe_claim(result, content))}" if many else "$p$"
        for result in content.distinct_results
    ]
    asked = {names[pairs.ia[k]] for k in shown} if len(shown) < len(pairs) else None
    verdicts = [_by_name(result, asked) for result in content.distinct_results]
    shown_names = label_tex(content)
    rows = []
    for k in shown:
        a, b = names[pairs.ia[k]], names[pairs.ib[k]]
        cells = [
            shown_names[a],
            shown_names[b],
            _format_math(format_number(float(pairs.difference[k]), d)),
        ]
        rows.append([*cells, *(texts[a, b] for texts in verdicts)])
    systems = escape_tex(content.nouns_for("system"))
    which = (
        f"All pairs of {systems}"
        if len(shown) == len(pairs)
        else f"The best of the {systems} against all others"
    )
    caption = (
        rf"{which}: differences in {escape_tex(content.measure)} and corrected $p$-values ({_join_titles(content)});"
        rf" $^{{*}}$ $p \le {content.alpha:g}$."
    )
    return _format_table("llr" + "r" * len(content.distinct_results), head, rows, caption, "tab:pairs")


def _by_name(result: ClaimResult, asked: set[str] | None) -> dict[tuple[str, str], str]:
    """The p-value of each pair, whichever system is named first; told the other way round, it is marked so.

    Where few systems are asked for, of their pairs alone.
    """
    names, p, ia, ib = (
        result.pairs.estimates.labels,
        result.pairs.p_adjusted,
        result.pairs.ia,
        result.pairs.ib,
    )
    wanted = np.array([asked is None or name in asked for name in names])
    texts = {}
    for k in np.flatnonzero(wanted[ia] | wanted[ib]):
        i, j = ia[k], ib[k]
        text = _format_math(format_p(float(p[k]), result.resolution))
        star = bool(p[k] <= result.alpha)
        texts[names[i], names[j]] = text + "$^{*}$" * star
        texts[names[j], names[i]] = text + (r"$^{*}$ (reversed)" if star else "")
    return texts


def anova_latex(content: Analysis) -> str:
    """The ANOVA table."""
    head = ["Source", "SS", "df", "MS", "$F$", "$p$", r"$\hat\omega^2$"]
    rows = []
    for term, row in content.fit.table.iterrows():
        figures = [float(row[name]) for name in ("ss", "df", "ms", "F", "p", "omega_sq")]
        ss, df, ms, f, p, omega = figures
        cells = [
            escape_tex(str(term)),
            f"{ss:.4g}",
            f"{df:.0f}",
            _format_known(ms, f"{ms:.4g}"),
            _format_known(f, f"{f:.2f}"),
        ]
        cells += [_format_known(p, _format_math(format_p(p))), _format_known(omega, f"{omega:.3f}")]
        rows.append(cells)
    caption = (
        rf"Analysis of variance of {escape_tex(content.measure)}, {escape_tex(content.fit.model.title, 200)}."
    )
    return _format_table("lrrrrrr", head, rows, caption, "tab:anova")


def figure_latex(content: Analysis) -> str:
    """The figure of intervals; its file is among the downloads of the report."""
    claims = " and ".join(escape_tex(result.claim, 200) for result in content.distinct_results)
    kind = "comparison" if all(result.has_comparison_intervals for result in content.claims) else "confidence"
    systems = escape_tex(content.nouns_for("system"))
    return "\n".join(
        [
            r"\begin{figure}",
            r"  \centering",
            rf"  \includegraphics[width=\linewidth]{{{FIGURE}}}",
            rf"  \caption{{Mean {escape_tex(content.measure)} of the {systems} with {_format_level(content)}"
            rf" {kind} intervals, for {claims}. {escape_tex(explain_bars(content), 200)}}}",
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
            anova_latex(content),
            "% "
            + "\n% ".join(f"{term}: {explain_term(str(term), content)}" for term in content.fit.table.index),
            figure_latex(content),
        ]
    )


def _format_table(columns: str, head: list[str], rows: list[list[str]], caption: str, name: str) -> str:
    lines = [" & ".join(cells) + r" \\" for cells in rows]
    top = [r"\toprule", " & ".join(head) + r" \\", r"\midrule"]
    if len(rows) > LONG:
        return "\n".join(
            [
                rf"\begin{{longtable}}{{@{{}}{columns}@{{}}}}",
                rf"\caption{{{caption}}}\label{{{name}}}\\",
                *top,
                r"\endfirsthead",
                *top,
                r"\endhead",
                r"\bottomrule",
                r"\endfoot",
                *lines,
                r"\end{longtable}",
                "",
            ]
        )
    return "\n".join(
        [
            r"\begin{table}",
            r"  \centering",
            rf"  \caption{{{caption}}}",
            rf"  \label{{{name}}}",
            rf"  \begin{{tabular}}{{@{{}}{columns}@{{}}}}",
            *(f"    {line}" for line in (*top, *lines, r"\bottomrule")),
            r"  \end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def _format_math(text: str) -> str:
    shown = text.replace("−", "-").replace("–", "--")
    shown = shown.replace("≤", r"\le")
    return f"${shown}$" if shown.startswith(("-", "<", r"\le")) and not shown.startswith("--") else shown


def _format_known(value: float, text: str) -> str:
    return text if np.isfinite(value) else ""
