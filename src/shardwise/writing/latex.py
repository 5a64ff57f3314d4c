"""Tables for the paper, ready for booktabs."""

from __future__ import annotations

import numpy as np

from shardwise.analysis.analysis import Analysis, ClaimResult
from shardwise.writing import answer
from shardwise.writing.names import escape_tex, label_systems
from shardwise.writing.numbers import format_p, format_percent, format_ranks
from shardwise.writing.table import TypedColumn, format_math, set_table
from shardwise.writing.words import explain_bars, explain_term, shorten_letters

MOST_PAIRS = 45  # beyond these, the table of pairs has only those with the best system
NAME = 32  # characters of a name in a table
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
    noun, labels = answer.capitalize_sentence(content.noun_for("system")), label_systems(lead, NAME)
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
    return escape_tex(
        "; ".join(dict.fromkeys(result.procedure.plain_title for result in content.distinct_results)), 200
    )


def _format_level(content: Analysis) -> str:
    return format_percent(1.0 - content.alpha).replace("%", r"\%")


def pairs_latex(content: Analysis) -> str:
    """All pairs with differences and corrected p-values; where these are many, those with the best system."""
    pairs, results = content.lead.pairs, content.distinct_results
    with_best = pairs.ia == pairs.ia.min(initial=0)
    shown = np.arange(len(pairs)) if len(pairs) <= MOST_PAIRS else np.flatnonzero(with_best)
    names, labels = pairs.estimates.labels, label_systems(content.lead, NAME)
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
    which = f"The best of the {systems} against all others" if asked else f"All pairs of {systems}"
    caption = (
        rf"{which}: differences in {escape_tex(content.measure)} and corrected $p$-values ({_join_titles(content)});"
        rf" $^{{*}}$ $p \le {content.alpha:g}$."
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
            anova_latex(content),
            "% "
            + "\n% ".join(f"{term}: {explain_term(str(term), content)}" for term in content.fit.table.index),
            figure_latex(content),
        ]
    )
