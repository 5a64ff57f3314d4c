"""shardwise compare: which systems are significantly different, and what may be claimed."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, get_args

import pandas as pd
import xarray as xr

from shardwise.analysis.analysis import MOST_GROUPS, Analysis
from shardwise.analysis.answer import headline, splits_sentence
from shardwise.analysis.leaderboard import MARKED, ranged, verdicts, versus
from shardwise.cli.analyzing import (
    analyze_measures,
    check_choices,
    compare_by_factors,
    is_for_two,
    join_margin,
    test_margin,
)
from shardwise.cli.cluster import on_cluster
from shardwise.cli.commands import CompareOptions
from shardwise.cli.inputs import InputReader, Read, bootstrap_distribution, fill_gaps, pick_measure
from shardwise.cli.moments import compare_streamed
from shardwise.cli.options import Format
from shardwise.cli.output import draw, emit, write_text
from shardwise.comparing.comparisons import Comparisons
from shardwise.comparing.pairs import list_baselines
from shardwise.core.arguments import chosen
from shardwise.core.claim import said
from shardwise.core.errors import InputError
from shardwise.core.scores import nouns_of
from shardwise.methods.bootstrap.fit import Trim, bootstrap_anova

MOST_PAIRS = 200_000
"""Pairs that are written unless ``--table pairs`` asks for more."""
OF_REPEATS = ("seeds", "spread", "shares", "settings")
"""Tables of repeated scores."""
TABLES = ("", "systems", "pairs", *OF_REPEATS)


def compare_systems(options: CompareOptions) -> None:
    """Compare systems and print which differ; draw it and write a report of it where asked."""
    _check(options)
    reader = InputReader.of(options)
    if reader.is_streamed or options.save_moments is not None:
        compare_streamed(options, reader)
        return
    page = options.shown is Format.html
    if options.report is not None or options.chart is not None or page:
        reader.one_measure()
    read = reader.read()
    if not reader.measure and len(read.measures) > 1:
        # Refuses to choose.
        pick_measure(read)
    if options.random:
        _show_factors(options, pick_measure(read), read.notes)
        return
    if options.table in OF_REPEATS or is_for_two(options):
        # Loaded here, since it needs charts.
        from shardwise.cli.repeats import show

        show(options, read)
        return
    _check_pairs(options, read)
    with on_cluster(options.cluster, options.quiet) as executor:
        found = analyze_measures(
            options,
            reader,
            read,
            executor=executor,
            report=page or options.report is not None,
            calibration=options.calibration,
        )
    if options.report is not None:
        found[0].report(options.report)
    if options.chart is not None:
        _draw(found[0], options)
    if page:
        # Loaded here, since it needs charts and templates.
        from shardwise.writing.html import html

        write_text(html(found[0]), options.out, quiet=options.quiet)
    else:
        _show(found, options)


def _draw(analysis: Analysis, options: CompareOptions) -> None:
    """Draw the differences against the margin, or the systems where there is none."""
    assert options.chart is not None
    tested = test_margin(analysis.comparisons, options)
    level = 1.0 - options.alpha
    chart = analysis.plot(level=level) if tested is None else tested.plot(measure=analysis.measure)
    draw(chart, options.chart)


def _check(options: CompareOptions) -> None:
    """Refuse what cannot be done, before the long work."""
    check_choices(options)
    chosen(options.table, "table", TABLES)
    if options.trim is not None:
        chosen(options.trim, "trim", get_args(Trim))
    if options.report is not None and options.only:
        raise InputError("a report compares all systems", remedy="remove --only or --report")


def _check_pairs(options: CompareOptions, read: Read) -> None:
    """Refuse to write millions of pairs unasked, before the long work."""
    if not _shows_pairs(options) or options.table == "pairs":
        return
    systems = len(options.only) or read.scores.sizes["system"]
    pairs = systems * (len(options.baseline) or (systems - 1) / 2)
    if pairs > MOST_PAIRS:
        raise InputError(
            f"{systems:,} systems make {pairs:,.0f} pairs",
            remedy="add --table pairs to write them all, or use shardwise leaderboard for a row per system",
        )


def _shows_pairs(options: CompareOptions) -> bool:
    """Whether the table has a row for each pair: by default in formats for programs."""
    if options.table:
        return options.table == "pairs"
    return options.shown is not Format.text


def _show(analyses: list[Analysis], options: CompareOptions) -> None:
    """Print or write the result: systems as text, pairs in the other formats."""
    format = options.shown
    if format is Format.text and options.out is None:
        for analysis in analyses:
            table = _table(analysis, options)
            emit(table, format, title=_title(analysis, options), notes=_notes(analysis, options))
        return
    tables = [_table(analysis, options) for analysis in analyses]
    if len(analyses) > 1:
        for analysis, table in zip(analyses, tables, strict=True):
            table.insert(0, "measure", analysis.measure)
    first = analyses[0]
    facts = {
        "procedure": first.procedure.name,
        "method": first.comparisons.title,
        "claim": first.comparisons.claim,
        "repeats": first.repeats,
        "model": first.fit.model.title,
        "measure": ", ".join(analysis.measure for analysis in analyses),
        "alpha": options.alpha,
        **_margin_facts(options),
        "anova": first.fit.table.reset_index().to_dict("records"),
    }
    text = format is Format.text
    title = "\n".join(_title(one, options) for one in analyses) if text else str(first.comparisons)
    notes = tuple(dict.fromkeys(note for one in analyses for note in _notes(one, options)))
    frame = pd.concat(tables, ignore_index=True)
    emit(frame, format, options.out, title=title, notes=notes, facts=facts, quiet=options.quiet)


def _table(analysis: Analysis, options: CompareOptions) -> pd.DataFrame:
    """The systems under the user's word for them, or the pairs."""
    if _shows_pairs(options):
        return pairs_table(analysis.comparisons, options)
    if options.trim is not None:
        table = _effects(analysis, options)
    else:
        table = systems_by_baseline(analysis.comparisons, options)
    return table.rename(columns={"system": analysis.noun("system")})


def _margin_facts(options: CompareOptions) -> dict[str, Any]:
    return {} if options.margin is None else {"margin": options.margin, "side": options.side}


def _title(analysis: Analysis, options: CompareOptions) -> str:
    """What was analysed and how, the result, and what the other claim says."""
    tested = test_margin(analysis.comparisons, options)
    margin = "" if tested is None else str(tested)
    if analysis.baselines and len(analysis.comparisons) > 1:
        lines = [analysis.heading(), _why(analysis), headline(analysis), margin]
        return "\n".join(line for line in lines if line)
    others = [
        f"beside it, {claim.claim}: {claim.found} of {len(claim.pairs)} pairs differ"
        for claim in analysis.claims
        if claim.key != analysis.leads
    ]
    summary = analysis.comparisons.summary(analysis.alpha).splitlines()
    # The heading says what was done.
    lines = summary[:1] if len(analysis.comparisons) == 1 else summary[1:]
    every = (analysis.heading(), _why(analysis), analysis.repeats, *lines, margin, *others)
    return "\n".join(line for line in every if line)


def _why(analysis: Analysis) -> str:
    return f"{analysis.procedure.name}: {analysis.why()}"


def _notes(analysis: Analysis, options: CompareOptions) -> tuple[str, ...]:
    if options.quiet:
        return ()
    gaps = fill_gaps(analysis.scores, options.fill)[1]
    report = (f"report: {options.report}",) if options.report is not None else ()
    splits = (splits_sentence(analysis),) if analysis.n_splits > 1 else ()
    return (
        *_intervals_note(analysis, options),
        *analysis.notes,
        *gaps,
        *analysis.comparisons.notes,
        *splits,
        *report,
    )


def _intervals_note(analysis: Analysis, options: CompareOptions) -> tuple[str, ...]:
    """What lower and upper are in the table of systems."""
    if _shows_pairs(options):
        return ()
    level = f"{100 * (1 - analysis.alpha):g} %"
    if options.baseline:
        return (f"lower to upper: {level} confidence intervals of the differences",)
    return (f"lower to upper: {level} confidence intervals of each mean by itself",)


def _effects(analysis: Analysis, options: CompareOptions) -> pd.DataFrame:
    """V17's intervals of the effects, best first."""
    parts: Any = {"null": "marginal", "tails": 1} | bootstrap_distribution(options)
    model = analysis.fit.model
    fit = bootstrap_anova(analysis.analysed, model, n_resamples=options.resamples, seed=options.seed)
    trim: Any = options.trim
    table = fit.intervals(1 - options.alpha, trim=trim, **parts)
    return table.reset_index(names="system").sort_values("estimate", ascending=False, kind="stable")


def _show_factors(options: CompareOptions, scores: xr.DataArray, notes: tuple[str, ...]) -> None:
    """Print or write the comparison by a mixed model with random factors."""
    fit, pairs = compare_by_factors(scores, options, options.baseline)
    measure = str(scores.name or "score")
    tested = test_margin(pairs, options)
    if options.chart is not None:
        chart = (
            pairs.plot(level=1 - options.alpha, measure=measure) if tested is None else tested.plot(measure)
        )
        draw(chart, options.chart)
    nouns = nouns_of(scores)
    parts = fit.variance_components
    shares = ", ".join(f"{said(name, nouns)} {value**0.5:.4f}" for name, value in parts.items())
    by_pairs = _shows_pairs(options)
    frame = pairs_table(pairs, options) if by_pairs else systems_by_baseline(pairs, options)
    facts = {
        "procedure": "",
        "method": pairs.title,
        "claim": pairs.claim,
        "model": f"mixed, random {', '.join(options.random)}",
        "measure": measure,
        "alpha": options.alpha,
        **_margin_facts(options),
        "variance_components": dict(parts),
    }
    title = pairs.summary(options.alpha) if options.shown is Format.text else str(pairs)
    emit(
        frame if by_pairs else frame.rename(columns={"system": nouns.get("system", "system")}),
        options.shown,
        options.out,
        title=title if tested is None else f"{title}\n{tested}",
        notes=() if options.quiet else (*notes, *fit.notes, f"standard deviations: {shares}"),
        facts=facts,
        quiet=options.quiet,
    )


def systems_by_baseline(pairs: Comparisons, options: CompareOptions) -> pd.DataFrame:
    """Return the systems with intervals and letters, or where baselines are given how each compares with these.

    Parameters
    ----------
    pairs : Comparisons
        What was compared.
    options : CompareOptions
        Level and baselines.

    Returns
    -------
    DataFrame
        One row for each system, and baseline where there are several.
    """
    bases = list_baselines(options.baseline)
    if not bases:
        return systems_table(pairs, options.alpha)
    mean = pd.Series(pairs.means, index=pairs.estimates.labels)
    tables = []
    for base in bases:
        frame = versus(pairs, base, options.alpha).reset_index()
        frame.insert(1, "mean", mean.loc[frame["system"]].to_numpy())
        frame = frame.sort_values("mean", ascending=False, kind="stable")
        frame[""] = [MARKED[word] for word in frame.pop("verdict")]
        if len(bases) > 1:
            frame.insert(0, "baseline", base)
        tables.append(frame.drop(columns="p"))
    return pd.concat(tables, ignore_index=True)


def pairs_table(pairs: Comparisons, options: CompareOptions) -> pd.DataFrame:
    """Return all pairs, with the verdict on a baseline or a margin where one was given.

    Parameters
    ----------
    pairs : Comparisons
        What was compared.
    options : CompareOptions
        Level, baseline, margin and format; people get marks for better and worse, programs words.

    Returns
    -------
    DataFrame
        One row for each pair.
    """
    frame = pairs.to_frame(1.0 - options.alpha)
    if options.baseline:
        words = verdicts(frame["difference"].to_numpy(), frame["p_adjusted"].to_numpy(), options.alpha)
        for_people = options.shown in (Format.text, Format.markdown, Format.latex)
        frame["verdict"] = [MARKED[word] for word in words] if for_people else words
    effects = pairs.estimates.topic_sd
    if effects is not None and "instance" in pairs.estimates.over:
        frame["topic_effect_size"] = pairs.difference / effects[pairs.ia, pairs.ib]
    tested = test_margin(pairs, options)
    return frame if tested is None else join_margin(frame, pairs, tested, options)


def systems_table(pairs: Comparisons, alpha: float) -> pd.DataFrame:
    """Return the systems, best first, with intervals, and with ranks and groups where all pairs were compared.

    Parameters
    ----------
    pairs : Comparisons
        What was compared.
    alpha : float
        Significance level.

    Returns
    -------
    DataFrame
        One row for each system.
    """
    frame = pairs.intervals(1 - alpha).reset_index().rename(columns={"estimate": "mean"})
    if pairs.complete and len(pairs) > 1:
        frame["ranks"] = ranged(pairs.ranks(1 - alpha))
        # Many overlapping groups explain nothing.
        with suppress(InputError):
            letters = pairs.letters(alpha, MOST_GROUPS)["letters"]
            if len({letter for group in letters for letter in group.split()}) <= MOST_GROUPS:
                frame["groups"] = letters.to_numpy()
    return frame
