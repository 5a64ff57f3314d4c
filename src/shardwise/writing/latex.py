"""Tables for the paper, ready for booktabs."""

from __future__ import annotations

import numpy as np

from shardwise.analysis import answer
from shardwise.analysis.analysis import Analysis, ClaimResult
from shardwise.analysis.figures import number, p_value
from shardwise.writing.names import tex
from shardwise.writing.words import meaning, shortened

LONG = 45  # rows that fit on one page
MOST_PAIRS = 45  # beyond these, the table of pairs has only those with the best system
NAME = 32  # characters of a name in a table
FIGURE = "intervals.pdf"
MARKS = (r"\dag", r"\ddag")


def systems_latex(content: Analysis) -> str:
    r"""Systems, best first, with intervals, and letters: systems that share one are not told apart.

    A system of the top group has a dagger for the claim that leads, and a double dagger for the other.
    """
    d = content.decimals
    claims, many = content.shown, len(content.shown) > 1
    heads = {one.key: tex(answer.subject(one, content)) for one in claims}
    lettered = all(one.letters is not None for one in claims)
    uniform = False
    head = ["", tex(answer.capital(content.noun("system"))), tex(content.measure)]
    head += [] if uniform else [rf"$\pm$, {heads[one.key]}" if many else r"$\pm$" for one in claims]
    head += [f"Groups, {heads[one.key]}" if many else "Groups" for one in claims] if lettered else []
    rows = []
    for k, name in enumerate(content.systems):
        mean = float(content.lead.intervals["estimate"].iloc[k])
        marks = "".join(
            mark
            for mark, one in zip(MARKS, claims, strict=False)
            if name in one.top and (k or one.may_be_best)
        )
        cells = [str(k + 1), tex(name, NAME), _math(number(mean, d)) + (f"$^{{{marks}}}$" if marks else "")]
        cells += [] if uniform else [_math(number(_half(one, k), d)) for one in claims]
        if lettered:
            cells += [tex(shortened((one.letters or ())[k])) for one in claims]
        rows.append(cells)
    n = len(claims)
    columns = "rlr" + "r" * (0 if uniform else n) + "l" * (n if lettered else 0)
    return _table(columns, head, rows, _systems_caption(content, uniform, lettered), "tab:systems")


def _systems_caption(content: Analysis, uniform: bool, lettered: bool) -> str:
    claims, systems = content.shown, tex(content.nouns_for("system"))
    kind = "confidence"
    widths = " and ".join(
        rf"$\pm${number(_half(one, 0), content.decimals)} for {tex(answer.subject(one, content))}"
        for one in claims
    )
    marks = ", ".join(
        f"${mark}$ {tex(answer.subject(one, content))}"
        for mark, one in zip(MARKS, claims, strict=False)
        if one.top
    )
    top = "May be the best" if content.lead.may_be_best else "Not told from the best"
    return (
        rf"{answer.capital(systems)} by mean {tex(content.measure)} with {_level(content)} {kind} intervals"
        rf" ({_titles(content)}{f': {widths}' if uniform else ''})."
        + (f" {top}: {marks}." if marks else "")
        + (f" {answer.capital(systems)} that share a letter are not told apart." if lettered else "")
    )


def _titles(content: Analysis) -> str:
    """The procedures in words, once where claims share them."""
    return tex("; ".join(dict.fromkeys(one.procedure.plain_title for one in content.shown)), 200)


def _level(content: Analysis) -> str:
    return rf"{100 * (1 - content.alpha):g}\,\%"


def pairs_latex(content: Analysis) -> str:
    """All pairs with differences and corrected p-values; where these are many, those with the best system."""
    d, lead = content.decimals, content.lead
    pairs = lead.pairs
    with_best = pairs.ia == pairs.ia.min(initial=0)
    shown = np.arange(len(pairs)) if len(pairs) <= MOST_PAIRS else np.flatnonzero(with_best)
    names = pairs.estimates.labels
    many = len(content.shown) > 1
    head = ["Better", "Worse", "Difference"]
    head += [f"$p$, {tex(answer.subject(one, content))}" if many else "$p$" for one in content.shown]
    asked = {names[pairs.ia[k]] for k in shown} if len(shown) < len(pairs) else None
    verdicts = [_by_name(one, asked) for one in content.shown]
    rows = []
    for k in shown:
        a, b = names[pairs.ia[k]], names[pairs.ib[k]]
        cells = [tex(a, NAME), tex(b, NAME), _math(number(float(pairs.difference[k]), d))]
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
        text = _math(p_value(float(p[k]), one.resolution))
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
        cells += [_known(p, _math(p_value(p))), _known(omega, f"{omega:.3f}")]
        rows.append(cells)
    caption = rf"Analysis of variance of {tex(content.measure)}, {tex(content.fit.model.title, 200)}."
    return _table("lrrrrrr", head, rows, caption, "tab:anova")


def figure_latex(content: Analysis) -> str:
    """The figure of intervals; its file is among the downloads of the report."""
    words = " and ".join(tex(one.claim, 200) for one in content.shown)
    compared = all(one.comparison for one in content.claims)
    exact = compared and all(one.uniform for one in content.claims)
    systems = tex(content.nouns_for("system"))
    overlap = (
        f" Intervals that do not overlap belong to {systems} that differ{'' if exact else ', as a rule'}."
        if compared
        else f" Each interval is of its own mean; their overlap does not say which {systems} differ."
    )
    return "\n".join(
        [
            r"\begin{figure}",
            r"  \centering",
            rf"  \includegraphics[width=\linewidth]{{{FIGURE}}}",
            rf"  \caption{{Mean {tex(content.measure)} of the {systems} with {_level(content)}"
            rf" {'comparison' if compared else 'confidence'} intervals, {words}.{overlap}}}",
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
            "% " + "\n% ".join(f"{term}: {meaning(str(term), content)}" for term in content.fit.table.index),
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


def _half(claim: ClaimResult, k: int) -> float:
    row = claim.intervals.iloc[k]
    return float(row["upper"] - row["estimate"])
