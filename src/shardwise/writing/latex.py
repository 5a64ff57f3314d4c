"""Tables for the paper, ready for booktabs."""

from __future__ import annotations

import numpy as np

from shardwise.analysis.analysis import Analysis, ClaimResult
from shardwise.writing import answer
from shardwise.writing.names import tex
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
    claims, many = content.shown, len(content.shown) > 1
    heads = {result.key: tex(answer.describe_claim(result, content)) for result in claims}
    lettered = all(result.letters is not None for result in claims)
    ranked = content.lead.pairs.complete
    head = ["", tex(answer.capitalize(content.noun("system"))), tex(content.measure)]
    head += [f"{_level(content)} CI"]
    head += ["Rank"] if ranked else []
    head += [f"Group, {heads[result.key]}" if many else "Group" for result in claims] if lettered else []
    intervals = content.lead.intervals
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
            if name in result.top and (k or result.may_be_best)
        )
        cells = [
            str(k + 1),
            tex(name, NAME),
            _math(format_number(mean, d)) + (f"$^{{{marks}}}$" if marks else ""),
        ]
        ends = (_math(format_number(x, d)) for x in (low, high))
        cells += [" to ".join(ends) if np.isfinite(low) else "--"]
        cells += [ranks[k].replace("–", "--")] if ranked else []
        if lettered:
            cells += [tex(shorten_letters((result.letters or ())[k])) for result in claims]
        rows.append(cells)
    columns = "rlr" + "r" + "l" * ranked + "l" * (len(claims) if lettered else 0)
    return _table(columns, head, rows, _systems_caption(content, lettered), "tab:systems")


def _systems_caption(content: Analysis, lettered: bool) -> str:
    claims, systems = content.shown, tex(content.nouns_for("system"))
    marks = ", ".join(
        f"${mark}$ {tex(answer.describe_claim(result, content))}"
        for mark, result in zip(MARKS, claims, strict=False)
        if result.top
    )
    best = f"Best set ({_level(content)} confidence)" if content.lead.may_be_best else "Tied with the best"
    return (
        rf"{answer.capitalize(systems)} by mean {tex(content.measure)} with {_level(content)} confidence intervals"
        rf" ({_titles(content)})."
        + (f" {best}: {marks}." if marks else "")
        + (f" {answer.capitalize(systems)} that share a letter are tied." if lettered else "")
    )


def _titles(content: Analysis) -> str:
    """The procedures in words, once where claims share them."""
    return tex("; ".join(dict.fromkeys(one.procedure.plain_title for one in content.shown)), 200)


def _level(content: Analysis) -> str:
    return format_percent(1.0 - content.alpha).replace("%", r"\%")


def pairs_latex(content: Analysis) -> str:
    """All pairs with differences and corrected p-values; where these are many, those with the best system."""
    d, lead = content.decimals, content.lead
    pairs = lead.pairs
    with_best = pairs.ia == pairs.ia.min(initial=0)
    shown = np.arange(len(pairs)) if len(pairs) <= MOST_PAIRS else np.flatnonzero(with_best)
    names = pairs.estimates.labels
    many = len(content.shown) > 1
    head = ["Better", "Worse", "Difference"]
    head += [f"$p$, {tex(answer.describe_claim(one, content))}" if many else "$p$" for one in content.shown]
    asked = {names[pairs.ia[k]] for k in shown} if len(shown) < len(pairs) else None
    verdicts = [_by_name(one, asked) for one in content.shown]
    rows = []
    for k in shown:
        a, b = names[pairs.ia[k]], names[pairs.ib[k]]
        cells = [tex(a, NAME), tex(b, NAME), _math(format_number(float(pairs.difference[k]), d))]
        rows.append([*cells, *(found[a, b] for found in verdicts)])
    systems = tex(content.nouns_for("system"))
    which = (
        f"All pairs of {systems}"
        if len(shown) == len(pairs)
        else f"The best of the {systems} against all others"
    )
    caption = (
        rf"{which}: differences in {tex(content.measure)} and corrected $p$-values ({_titles(content)});"
        rf" $^{{*}}$ $p \le {content.alpha:g}$."
    )
    return _table("llr" + "r" * len(content.shown), head, rows, caption, "tab:pairs")


def _by_name(one: ClaimResult, asked: set[str] | None) -> dict[tuple[str, str], str]:
    """The p-value of each pair, whichever system is named first; told the other way round, it is marked so.

    Where few systems are asked for, of their pairs alone.
    """
    names, p, ia, ib = one.pairs.estimates.labels, one.pairs.p_adjusted, one.pairs.ia, one.pairs.ib
    wanted = np.array([asked is None or name in asked for name in names])
    found = {}
    for k in np.flatnonzero(wanted[ia] | wanted[ib]):
        i, j = ia[k], ib[k]
        text = _math(format_p(float(p[k]), one.resolution))
        star = bool(p[k] <= one.alpha)
        found[names[i], names[j]] = text + "$^{*}$" * star
        found[names[j], names[i]] = text + (r"$^{*}$ (reversed)" if star else "")
    return found


def anova_latex(content: Analysis) -> str:
    """The ANOVA table."""
    head = ["Source", "SS", "df", "MS", "$F$", "$p$", r"$\hat\omega^2$"]
    rows = []
    for term, row in content.fit.table.iterrows():
        figures = [float(row[name]) for name in ("ss", "df", "ms", "F", "p", "omega_sq")]
        ss, df, ms, f, p, omega = figures
        cells = [tex(str(term)), f"{ss:.4g}", f"{df:.0f}", _known(ms, f"{ms:.4g}"), _known(f, f"{f:.2f}")]
        cells += [_known(p, _math(format_p(p))), _known(omega, f"{omega:.3f}")]
        rows.append(cells)
    caption = rf"Analysis of variance of {tex(content.measure)}, {tex(content.fit.model.title, 200)}."
    return _table("lrrrrrr", head, rows, caption, "tab:anova")


def figure_latex(content: Analysis) -> str:
    """The figure of intervals; its file is among the downloads of the report."""
    claims = " and ".join(tex(result.claim, 200) for result in content.shown)
    kind = "comparison" if all(result.comparison for result in content.claims) else "confidence"
    systems = tex(content.nouns_for("system"))
    return "\n".join(
        [
            r"\begin{figure}",
            r"  \centering",
            rf"  \includegraphics[width=\linewidth]{{{FIGURE}}}",
            rf"  \caption{{Mean {tex(content.measure)} of the {systems} with {_level(content)}"
            rf" {kind} intervals, for {claims}. {tex(explain_bars(content), 200)}}}",
            r"  \label{fig:intervals}",
            r"\end{figure}",
            "",
        ]
    )


def latex(content: Analysis) -> str:
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


def _table(columns: str, head: list[str], rows: list[list[str]], caption: str, name: str) -> str:
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


def _math(text: str) -> str:
    shown = text.replace("−", "-").replace("–", "--")
    shown = shown.replace("≤", r"\le")
    return f"${shown}$" if shown.startswith(("-", "<", r"\le")) and not shown.startswith("--") else shown


def _known(value: float, text: str) -> str:
    return text if np.isfinite(value) else ""
