"""shardwise compare: which systems are significantly different, and what may be claimed."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

from shardwise.analysis.analysis import Analysis, PairResult
from shardwise.analysis.slices import MOST_SLICES
from shardwise.cli.analyzing import (
    READ,
    analyze_measures,
    check_choices,
    compare_by_factors,
    join_margin,
    test_margin,
)
from shardwise.cli.inputs import InputReader, fill_gaps, parse_bootstrap, parse_columns
from shardwise.cli.options import MOMENTS, Format, parse_words
from shardwise.cli.output import Result, Table, show_progress
from shardwise.cli.parsing import Options
from shardwise.comparing.comparisons import Comparisons
from shardwise.core.arguments import validate_choice
from shardwise.core.claim import format_count, translate_term
from shardwise.core.errors import InputError, Option
from shardwise.core.libraries import pd
from shardwise.core.measure import is_lower_better
from shardwise.core.scores import Scores, slices_of
from shardwise.core.text import list_columns, shorten_name
from shardwise.io.files import write_paths
from shardwise.methods.pairs import list_baselines
from shardwise.writing.answer import (
    FEW_NAMED,
    write_answer,
    write_contrasts,
    write_measures,
    write_next_step,
    write_pairs,
    write_range,
    write_repeats,
    write_scope,
    write_splits,
)
from shardwise.writing.slices import MARKS, explain_marks, join_pairs, show_slices, slices_latex, write_slices
from shardwise.writing.table import show_columns
from shardwise.writing.tables import (
    describe_parts,
    explain_measures,
    list_measures,
    mark_means,
    show_table,
    tabulate_baselines,
    tabulate_systems,
)

if TYPE_CHECKING:
    from shardwise.comparing.contrasts import Contrasts
    from shardwise.methods.moments.fit import Gaps

MOST_PAIRS = 200_000
"""Pairs that are written unless ``--table pairs`` asks for more."""
OF_REPEATS = ("seeds", "spread", "shares", "settings")
"""Tables of repeated scores."""
BY_SLICES = (Format.csv, Format.latex, Format.markdown)
"""Formats whose one table is that of the slices, where there are such."""
TABLES = ("", "systems", "pairs", "items", *OF_REPEATS)


def compare_systems(options: Options) -> Sequence[Result] | Result:
    """Compare systems and return which differ; write a report of it where asked."""
    # What cannot be done is refused before the long work.
    check_choices(options)
    validate_choice(options.table.partition(":")[0], "table", TABLES)
    if _find_trim(options) and options.chosen_format is not Format.text:
        raise InputError(
            f"trim-{_find_trim(options)} has no effect in this format",
            remedy=("add ", Option("format", "text")),
        )
    if options.report is not None and options.only:
        raise InputError("a report compares all systems", remedy="remove --only or --report")
    reader = InputReader(options).check()
    if reader.is_streamed or options.keeps_moments:
        return compare_streamed(options, reader)
    page = options.chosen_format is Format.html
    shows_items = options.table.partition(":")[0] == "items"
    read = reader.read_input(one=shows_items)
    if not options.measure and len(read.measures) > 1:
        # Refuses to choose.
        read.pick_measure()
    if options.random:
        return _show_factors(options, read.pick_measure(), read.notes)
    names = read.pick_measure().systems if shows_items else ()
    pair = parse_pair(options.table.partition(":")[2], names) if shows_items else None
    if options.table in OF_REPEATS or parse_words(options.method, "repeats") is not None:
        # Loaded here, since it needs charts.
        from shardwise.cli.repeats import show_repeats

        return show_repeats(options, read)
    systems = len(options.only) or read.first.sizes["system"]
    pairs = systems * (len(options.baseline) or (systems - 1) / 2)
    if pairs > MOST_PAIRS and _shows_pairs(options) and options.table != "pairs":
        raise InputError(
            f"{systems:,} systems make {pairs:,.0f} pairs",
            remedy="add --table pairs to write them all, or use shardwise leaderboard for a row per system",
        )
    report = page or options.report is not None
    analysis = analyze_measures(options, reader, read, report=report, calibration=options.calibration)
    if options.report is not None:
        analysis.report(options.report)
    if shows_items:
        results = [_show_items(analysis, pair, options)]
    elif page:
        # Loaded here, since it needs charts and templates.
        from shardwise.writing.html import render_report

        results = [Result(page=render_report(analysis))]
    else:
        results = _show_result(analysis, options)

    def draw(kind: str = "") -> Any:
        """Draw the kind asked for, or else the differences against the margin or the systems."""
        if kind:
            return analysis.plot(kind)
        tested = test_margin(analysis.comparisons, options.for_measure(analysis.measure))
        level = 1.0 - options.alpha
        return analysis.plot(level=level) if tested is None else tested.plot(measure=analysis.measure)

    return [replace(results[0], chart=draw), *results[1:]]


def _find_trim(options: Options) -> str:
    """Return how the intervals of a bootstrap's effects are trimmed, where they are asked for."""
    return str((parse_bootstrap(options.method) or {}).get("trim", ""))


def _shows_pairs(options: Options) -> bool:
    """Whether the table has a row for each pair: by default in formats for programs."""
    if options.table:
        return str(options.table) == "pairs"
    return options.chosen_format is not Format.text


def _show_result(first: Analysis, options: Options) -> list[Result]:
    """Return systems as text, with all measures beside each other, and pairs of all measures in the other formats."""
    format = options.chosen_format
    title, notes = _write_title(first, options), _list_notes(first, options)
    where = [] if first.slices is None else write_slices(first.slices)
    beside = format is Format.markdown and bool(first.others) and not options.table
    if beside or (format is Format.text and options.out is None):
        marks = () if options.quiet else (explain_measures(first),)
        said = "\n".join([write_answer(first), *write_measures(first)]) if beside else title
        table: Table = show_columns(list_measures(first)) if beside else _make_table(first, options)
        if first.slices is None:
            return [Result((said,), table, (*marks, *notes))]
        explained = (explain_marks(first.slices), *notes)
        return [
            Result((said,), table, marks),
            Result(("\n".join(["", *where]),), show_slices(first.slices), explained),
        ]
    contrasts, tie = _compute_contrasts(first, options), first.open_tie()
    facts = {
        "procedure": first.procedure.name,
        "method": first.comparisons.title,
        "claim": first.comparisons.claim,
        "answer": write_answer(first),
        "scope": write_scope(first),
        "repeats": write_repeats(first),
        "model": first.fit.model.title,
        "measure": ", ".join(each.measure for each in first.each),
        "lower_is_better": first.comparisons.lower_is_better,
        "alpha": options.alpha,
        **options.for_measure(first.measure).margin_facts,
        **({} if contrasts is None else {"contrasts": contrasts.table.to_dict("records")}),
        **({} if tie is None else {"detectable": tie.detectable, "items_needed": tie.items_needed}),
        "anova": first.fit.table.reset_index().to_dict("records"),
        **describe_parts(first),
    }
    if format is Format.text:
        notes += () if first.slices is None else tuple(str(first.slices).split("\n"))
    else:
        title = "\n".join([write_answer(first), *write_measures(first), *where])
    if first.others and not options.table and format is Format.latex:
        # Loaded here, since it draws too.
        from shardwise.writing.paper import table_latex

        by_slice = [] if first.slices is None else [slices_latex(first.slices)]
        return [Result(page="\n".join([table_latex(first), *by_slice]))]
    table = _make_table(first, options)
    if first.others and format is not Format.text:
        named = [pd.DataFrame(_make_table(each, options)) for each in first.each]
        for each, frame in zip(first.each, named, strict=True):
            frame.insert(0, "measure", each.measure)
        table = pd.concat(named, ignore_index=True)
    return [Result((title,), table, notes, facts=facts)]


def parse_pair(text: str, systems: Sequence[str]) -> tuple[str, str] | None:
    """Parse the two systems whose items are shown.

    Parameters
    ----------
    text : str
        Two names with a comma between them, which may hold commas themselves, or nothing.
    systems : sequence of str
        Names of the systems.

    Returns
    -------
    (str, str) or None
        The two systems; None for the matrix of all.

    >>> parse_pair("b,x, y", ["b", "x, y"]), parse_pair("", ["b", "c"])
    (('b', 'x, y'), None)
    """
    if not text:
        return None
    parts = text.split(",")
    pairs = ((",".join(parts[:k]).strip(), ",".join(parts[k:]).strip()) for k in range(1, len(parts)))
    pair = next(((a, b) for a, b in pairs if a in systems and b in systems and a != b), None)
    if pair is None:
        raise InputError(
            f"--table items:{text} does not name two of the systems",
            remedy=f"write two of {', '.join(systems[:FEW_NAMED])}{', …' if len(systems) > FEW_NAMED else ''} with a"
            " comma between them, or items alone for all",
        )
    return pair


def _show_items(analysis: Analysis, pair: tuple[str, str] | None, options: Options) -> Result:
    """Return the items of two systems, or the matrix of items and systems."""
    from shardwise.writing.items import MOST_ROWS, show_items, show_matrix, write_items, write_matrix

    for_people = options.chosen_format is Format.text and options.out is None
    facts: dict[str, Any] = {"measure": analysis.measure, "alpha": options.alpha}
    if pair is None:
        matrix = analysis.item_matrix()
        frame, lines = matrix.to_frame(), write_matrix(matrix)
        facts["items"] = len(matrix)
        hidden = len(frame) - MOST_ROWS if for_people else 0
        frame = show_matrix(matrix, analysis.decimals) if for_people else frame
    else:
        margin = options.for_measure(analysis.measure).margin or 0.0
        items = analysis.items(*pair, margin=margin)
        lines = write_items(items, analysis.decimals)
        frame = show_items(items, analysis.decimals) if for_people else items.to_frame()
        hidden = len(items) - len(frame)
        counts = {f"n_{name}": n for name, n in items.counts.items()}
        facts |= {"a": items.a, "b": items.b, "difference": items.difference, "items": len(items), **counts}
    noun = analysis.item_noun
    note = (f"{format_count(hidden, noun)} not shown; add --out items.csv for all.",) if hidden > 0 else ()
    notes = () if options.quiet else (*analysis.notes, *note)
    return Result(tuple(lines), frame, notes, facts=facts)


def _make_table(analysis: Analysis, options: Options) -> Table:
    """The systems, for people under their own word for them, or the pairs; of an answer by slices these."""
    if analysis.slices is not None and not options.table and options.chosen_format in BY_SLICES:
        for_people = options.chosen_format is not Format.csv
        return (
            show_slices(analysis.slices) if for_people else join_pairs(analysis.slices, analysis.comparisons)
        )
    if _shows_pairs(options):
        return pairs_table(analysis.comparisons, options.for_measure(analysis.measure))
    if _find_trim(options):
        # V17's intervals of the effects, best first
        from shardwise.methods.bootstrap.method import bootstrap_anova

        words: Any = parse_bootstrap(options.method)
        parts: Any = {"null": "marginal", "tails": 1} | {name: words[name] for name in READ if name in words}
        how: Any = {"n_resamples": options.resamples, "seed": options.seed}
        fit = bootstrap_anova(analysis.analysed, analysis.fit.model, **how)
        frame = fit.intervals(1 - options.alpha, trim=words["trim"], **parts).reset_index(names="system")
        ascending = analysis.comparisons.lower_is_better
        table: Table = frame.sort_values("estimate", ascending=ascending, kind="stable")
    else:
        table = systems_by_baseline(analysis.comparisons, options, analysis.decimals)
    if options.chosen_format is Format.text and analysis.others:
        # the other measures beside the first one, as people read them
        first = shorten_name(analysis.measure)
        columns = {first if name == "mean" else name: cells for name, cells in list_columns(table).items()}
        for other in analysis.others:
            shown = dict(zip(analysis.systems, mark_means(other, analysis), strict=True))
            columns[shorten_name(other.measure)] = [shown[name] for name in columns["system"]]
        table = columns
    return _name_systems(table, analysis.noun_for("system"), options)


def _name_systems(table: Table, noun: str, options: Options) -> Table:
    """Put the user's word above the systems for people; programs find them under one name."""
    if options.chosen_format in (Format.csv, Format.json):
        return table
    columns = list_columns(table)
    head = "system" if noun in columns else noun
    return {head if name == "system" else name: values for name, values in columns.items()}


def _write_title(analysis: Analysis, options: Options) -> str:
    """The answer, what it applies to, how many pairs differ, and the test of a margin."""
    tested = test_margin(analysis.comparisons, options.for_measure(analysis.measure))
    lines = [write_answer(analysis), write_scope(analysis), *write_pairs(analysis)]
    lines += [str(tested)] if tested is not None else []
    contrasts = _compute_contrasts(analysis, options)
    lines += [] if contrasts is None else write_contrasts(contrasts, analysis.decimals)
    return "\n".join(lines)


def _compute_contrasts(analysis: Analysis, options: Options) -> Contrasts | None:
    """Return the contrasts that were asked for."""
    if not options.contrast:
        return None
    from shardwise.comparing.contrasts import compare_groups, parse_contrast

    pairs = analysis.comparisons
    groups = dict(parse_contrast(text, pairs.names) for text in options.contrast)
    return compare_groups(pairs, groups, level=1.0 - options.alpha)


def _list_notes(analysis: Analysis, options: Options) -> tuple[str, ...]:
    """What was left out or assumed, and last the next step."""
    if options.quiet:
        return ()
    gaps = fill_gaps(analysis.scores, options.fill)[1]
    report = (f"report: {options.report}",) if options.report is not None else ()
    step = write_next_step(analysis, planning_command(options, analysis.measure))
    labels = {} if analysis.slices is not None else slices_of(analysis.item_scores)
    named = next((name for name in labels if 1 < len(set(labels[name])) <= MOST_SLICES), "")
    notes = (
        *analysis.notes,
        *gaps,
        *analysis.comparisons.notes,
        write_range(analysis),
        write_repeats(analysis),
        write_splits(analysis),
        *report,
        f"To see where they differ: --by {shlex.quote(named)}." if named else "",
        step,
    )
    return tuple(note for note in notes if note)


def planning_command(options: Options, measure: str) -> str:
    """Return the command that plans with the same inputs.

    Parameters
    ----------
    options : Options
        Options of the command, whose inputs are planned with.
    measure : str
        What the scores are; named only where the user did.

    Returns
    -------
    str
        Without the difference, which the advice adds.
    """
    named = f" -m {shlex.quote(measure)}" if options.measure else ""
    return f"shardwise design power {write_paths(options.inputs)}{named}"


def show_comparisons(
    pairs: Comparisons,
    options: Options,
    lines: Sequence[str],
    notes: Sequence[str] = (),
    *,
    noun: str = "system",
    by_pairs: bool | None = None,
    **facts: Any,
) -> Result:
    """Return a comparison that is no analysis: its pairs or systems, with the test of a margin where there is one."""
    tested = test_margin(pairs, options)
    lines = [*lines, *([] if tested is None else [str(tested)])]
    if _shows_pairs(options) if by_pairs is None else by_pairs:
        table: Table = pairs_table(pairs, options)
    else:
        table = _name_systems(systems_by_baseline(pairs, options), noun, options)
    measure = facts.get("measure") or "score"
    known: dict[str, Any] = {"procedure": pairs.procedure, "method": pairs.title, "claim": pairs.claim}
    known |= {name: facts[name] for name in ("repeats", "model", "measure") if name in facts}
    known |= {"lower_is_better": pairs.lower_is_better, "alpha": options.alpha, **options.margin_facts}

    def draw() -> Any:
        return (
            pairs.plot(level=1.0 - options.alpha, measure=measure)
            if tested is None
            else tested.plot(measure=measure)
        )

    return Result(tuple(lines), table, tuple(notes), facts=known | facts, chart=draw)


def _show_factors(options: Options, scores: Scores, notes: Sequence[str]) -> Result:
    """Return the comparison by a mixed model with random factors."""
    measure, nouns = scores.measure.name, scores.nouns
    fit, pairs = compare_by_factors(scores, options, options.baseline)
    parts = fit.variance_components
    shares = ", ".join(f"{translate_term(name, nouns)} {value**0.5:.4f}" for name, value in parts.items())
    return show_comparisons(
        pairs,
        options.for_measure(measure),
        [pairs.summary(options.alpha, measure)],
        (*notes, *fit.notes, f"standard deviations: {shares}"),
        noun=nouns.get("system", "system"),
        procedure="",
        model=f"mixed, random {', '.join(options.random)}",
        measure=measure,
        variance_components=dict(parts),
    )


def systems_by_baseline(pairs: Comparisons, options: Options, decimals: int | None = None) -> Table:
    """Return the systems with confidence intervals, ranks and groups, or how each compares with baselines.

    Parameters
    ----------
    pairs : Comparisons
        What was compared.
    options : Options
        Level, baselines and format; people get rounded texts, programs all digits.
    decimals : int, optional
        Digits after the point; by the narrowest interval without it.

    Returns
    -------
    DataFrame or dict of columns
        One row for each system, and baseline where there are several.
    """
    bases = list_baselines(options.baseline)
    table: Table = (
        tabulate_baselines(pairs, bases, options.alpha) if bases else tabulate_systems(pairs, options.alpha)
    )
    if options.chosen_format in (Format.csv, Format.json):
        return table
    if decimals is None:
        decimals = PairResult(pairs=pairs, alpha=options.alpha).decimals
    return show_table(table, options.alpha, decimals, pairs.resolution)


def pairs_table(pairs: Comparisons, options: Options) -> pd.DataFrame:
    """Return all pairs, with the verdict on a baseline or a margin where one was given.

    Parameters
    ----------
    pairs : Comparisons
        What was compared.
    options : Options
        Level, baseline, margin and format; people get marks for better and worse, programs words.

    Returns
    -------
    DataFrame
        One row for each pair.
    """
    frame = pairs.to_frame(1.0 - options.alpha)
    if options.baseline:
        from shardwise.analysis.slices import VERDICTS

        words = [VERDICTS[sign] for sign in pairs.directions(options.alpha).tolist()]
        for_people = options.chosen_format in (Format.text, Format.markdown, Format.latex)
        frame["verdict"] = [MARKS[word] for word in words] if for_people else words
    effects = pairs.estimates.topic_sd
    if effects is not None and "instance" in pairs.estimates.over:
        frame["topic_effect_size"] = pairs.difference / effects[pairs.ia, pairs.ib]
    tested = test_margin(pairs, options)
    return frame if tested is None else join_margin(frame, pairs, tested, options)


MARGINAL = "MD1"
"""Method that needs means and variances only, which take less time than cross-products."""


def compare_streamed(options: Options, reader: InputReader) -> Result:
    """Read each input once, add the moments, compare the systems; save the moments where asked.

    Parameters
    ----------
    options : Options
        Options of the command.
    reader : InputReader
        The input.
    """
    from shardwise.comparing.compare import compare
    from shardwise.methods.moments.fit import ScoreMoments
    from shardwise.methods.names import parse_procedure

    options.check_effects(reader.describe_situation(streamed=True), str(options.inputs[0]))
    if not reader.is_table:
        raise InputError(
            "moments are kept of tables of scores only", where=str(options.out), remedy="write .json"
        )
    method = options.method or "moderated"
    marginal = parse_procedure(method).method.name == MARGINAL and not options.keeps_moments
    gaps: Gaps = "drop" if options.missing == "drop" else "refuse"
    columns, pieces = parse_columns(options.columns), []
    for path in options.inputs:
        if path.suffix == MOMENTS:
            held = ScoreMoments.load(path)
            pieces.append(held.margins() if marginal else held)
            continue
        with show_progress(f"{path.name}: items read", options.quiet) as bar:
            pieces.append(
                ScoreMoments.of(
                    path,
                    columns=columns,
                    missing=gaps,
                    margins=marginal,
                    progress=lambda done, _, bar=bar: bar(done, done),  # type: ignore[misc]
                )
            )
    total = reduce(add, pieces)
    lower_is_better = reader.declared["lower_is_better"]
    if lower_is_better is None:
        # The column of the scores, or else the only file, may have the name of such a measure.
        column = (columns or {}).get("score", "")
        names = [*options.measure[:1], column] if options.measure or column else [options.inputs[0].stem]
        lower_is_better = any(map(is_lower_better, names))
    pairs = compare(
        total, method, baseline=options.baseline or None, seed=options.seed, lower_is_better=lower_is_better
    )
    if options.keeps_moments:
        total.save(options.out)
    notes = [
        f"streamed: {format_count(total.n, total.item)} × {format_count(len(total.systems), 'system')}",
        *(
            [f"{format_count(total.dropped, total.item)} without a score of every system left out"]
            * (total.dropped > 0)
        ),
        *pairs.notes,
        *([f"moments: {options.out}"] if options.keeps_moments else []),
    ]
    known: dict[str, Any] = {
        "repeats": "",
        "model": "",
        "measure": "",
        "items": total.n,
        "dropped": total.dropped,
    }
    return show_comparisons(pairs, options, [pairs.summary(options.alpha)], notes, **known)
