"""Tables for the paper, ready for booktabs."""

from __future__ import annotations

import numpy as np

from shardwise.analysis.analysis import Analysis, ClaimResult
from shardwise.report.names import tex
from shardwise.report.words import decimals_for, meaning, number, p_value, shortened

LONG = 45  # rows that fit on one page
MOST_PAIRS = 45  # beyond these, the table of pairs has only those with the best system
NAME = 32  # characters of a name in a table
FIGURE = "intervals.pdf"
HEADS = {"here": "these topics", "like": "topics like these"}


def systems_latex(content: Analysis) -> str:
    r"""Systems, best first, with intervals, and letters: systems that share one are not told apart.

    A system that is not told from the best has a dagger (these topics) or a double dagger (topics like these).
    """
    d = decimals_for(content)
    lettered = all(claim.letters is not None for claim in content.claims)
    head = ["", "System", tex(content.measure)]
    uniform = all(claim.uniform for claim in content.claims)
    head += [] if uniform else [rf"$\pm$ {HEADS[claim.key]}" for claim in content.claims]
    head += [rf"Groups, {HEADS[claim.key]}" for claim in content.claims] if lettered else []
    rows = []
    for k, name in enumerate(content.systems):
        mean = float(content.claims[0].intervals["estimate"].iloc[k])
        marks = "".join(
            mark
            for mark, claim in zip((r"\dag", r"\ddag"), content.claims, strict=False)
            if k and name in claim.top
        )
        cells = [str(k + 1), tex(name, NAME), _math(number(mean, d)) + (f"$^{{{marks}}}$" if marks else "")]
        cells += [] if uniform else [_math(number(_half(claim, k), d)) for claim in content.claims]
        if lettered:
            cells += [tex(shortened((claim.letters or ())[k])) for claim in content.claims]
        rows.append(cells)
    marks = ", ".join(
        f"${mark}$ {HEADS[claim.key]}"
        for mark, claim in zip((r"\dag", r"\ddag"), content.claims, strict=False)
    )
    widths = " and ".join(
        rf"$\pm${number(_half(claim, 0), d)} for {HEADS[claim.key]}" for claim in content.claims
    )
    caption = (
        rf"Systems by mean {tex(content.measure)} with {100 * (1 - content.alpha):g}\,\% intervals"
        rf" ({tex(content.claims[0].pairs.title)}{f': {widths}' if uniform else ''})."
        f" Not distinguishable from the best: {marks}."
        + (" Systems that share a letter are not told apart." if lettered else "")
    )
    n = len(content.claims)
    columns = "rlr" + "r" * (0 if uniform else n) + "l" * (n if lettered else 0)
    return _table(columns, head, rows, caption, "tab:systems")


def pairs_latex(content: Analysis) -> str:
    """Pairs with differences and corrected p-values; of many, those with the best system."""
    d = decimals_for(content)
    first = content.claims[0].pairs
    shown = (
        np.arange(len(first))
        if len(first) <= MOST_PAIRS
        else np.flatnonzero(first.ia == first.ia.min(initial=0))
    )
    names = first.estimates.labels
    head = ["Better", "Worse", "Difference", *(f"$p$, {HEADS[claim.key]}" for claim in content.claims)]
    rows = []
    for k in shown:
        cells = [
            tex(names[first.ia[k]], NAME),
            tex(names[first.ib[k]], NAME),
            _math(number(float(first.difference[k]), d)),
        ]
        for claim in content.claims:
            p = float(claim.pairs.p_adjusted[k])
            cells.append(_math(p_value(p)) + ("$^{*}$" if p <= content.alpha else ""))
        rows.append(cells)
    which = "All pairs of systems" if len(shown) == len(first) else "The best system against all others"
    caption = (
        rf"{which}: differences in {tex(content.measure)} and corrected $p$-values ({tex(first.title)});"
        rf" $^{{*}}$ $p \le {content.alpha:g}$."
    )
    return _table("llr" + "r" * len(content.claims), head, rows, caption, "tab:pairs")


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
    words = " and ".join(tex(claim.claim, 200) for claim in content.claims)
    return "\n".join(
        [
            r"\begin{figure}",
            r"  \centering",
            rf"  \includegraphics[width=\linewidth]{{{FIGURE}}}",
            rf"  \caption{{Mean {tex(content.measure)} of the systems with {100 * (1 - content.alpha):g}\,\%"
            rf" intervals, {words}. Intervals that do not overlap belong to systems that differ.}}",
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
            "% " + "\n% ".join(f"{term}: {meaning(str(term))}" for term in content.fit.table.index),
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
    return f"${shown}$" if shown.startswith(("-", "<")) and not shown.startswith("--") else shown


def _known(value: float, text: str) -> str:
    return text if np.isfinite(value) else ""


def _half(claim: ClaimResult, k: int) -> float:
    row = claim.intervals.iloc[k]
    return float(row["upper"] - row["estimate"])
