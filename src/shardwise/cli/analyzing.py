"""Turn the options of a command into analyses: the same for compare, leaderboard and paper."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shardwise.analysis.analysis import Analysis
from shardwise.analysis.analyze import analyze, join_measures
from shardwise.cli.inputs import InputReader, Read, parse_bootstrap, parse_fill, parse_model
from shardwise.cli.options import parse_words
from shardwise.cli.output import show_progress
from shardwise.cli.parsing import Options
from shardwise.comparing.comparisons import Comparisons
from shardwise.core.arguments import validate_choice
from shardwise.core.claim import Claim, pluralize_noun
from shardwise.core.errors import InputError, Option, Part, refuse_unknown
from shardwise.core.libraries import pd
from shardwise.core.scores import Scores
from shardwise.methods.names import Procedure
from shardwise.stats.corrections import CORRECTIONS, check_correction

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from shardwise.comparing.equivalence import Equivalence
    from shardwise.methods.mixed.fit import MixedFit

READ = ("null", "tails", "density")
"""Words that say how a bootstrap distribution is read."""


def check_choices(options: Options) -> None:
    """Refuse values that are not known, before the long work."""
    if options.repeats is not None:
        from shardwise.methods.repeats.unified import KINDS

        validate_choice(options.repeats, "repeats", KINDS)
    parse_fill(options.fill)
    if options.model:
        parse_model(options.model)
    parse_bootstrap(options.method)
    parse_words(options.method, "repeats")


def analyze_measures(
    options: Options,
    reader: InputReader,
    read: Read,
    *,
    report: bool = False,
    calibration: int | None = 0,
    **others: Any,
) -> Analysis:
    """Analyse the scores that were read: the first measure, with the others beside it.

    Parameters
    ----------
    options : Options
        Options of a command.
    reader, read : InputReader, Read
        The input.
    report : bool
        Whether a report is written, which records what makes it again.
    calibration : int or None
        Tables that a report simulates.
    others : object
        Arguments of `analyze` that replace what the options say.

    Returns
    -------
    Analysis
        That of the first measure, whose `each` are those of all.
    """
    if not options.measure:
        # Refuses to choose between several measures.
        read.pick_measure()
    measures = options.measure if len(options.measure) > 1 else read.measures
    if absent := [name for name in getattr(options.margin, "named", ()) if name not in measures]:
        raise refuse_unknown("margin", absent[0], measures, what="measure")
    # Scores of one system or on one topic cannot be compared.
    scores = read.first
    for dim in (dim for dim in ("system", "topic") if scores.sizes.get(dim, 2) < 2):
        noun = scores.nouns.get(dim, dim)
        remedy: tuple[Part, ...] = (f"give two or more {pluralize_noun(noun)}",)
        if dim == "system":
            perhaps = scores.facts.get("perhaps_columns")
            more = (", or say which column names them: ", Option("columns", perhaps)) if perhaps else ()
            remedy = (f"{remedy[0]} to compare", *more)
        raise InputError(f"has one {noun} only", where=str(read.files[0]), remedy=remedy)
    listed = list_files(options, reader, read.files) if report else ()
    choices: dict[str, Any] = {
        **(options.arguments("analyze") | {"joint": False}),
        "fill": parse_fill(options.fill),
        "notes": read.notes,
        "inputs": listed,
        "calibration": calibration if report else 0,
        **others,
    }
    analyses = []
    with lend_cluster(options) as executor:
        for name in measures:
            if words := parse_bootstrap(options.method):
                procedure = bootstrap_procedure(words, options, read.tables[name].dims)
                choices |= {"model": None, "method": procedure}
            with show_progress(f"{name}: comparing", options.quiet) as bar:
                analysis = analyze(read.tables[name], executor=executor, progress=bar, **choices)
            if options.resamples is not None and analysis.lead.n_resamples is None:
                raise InputError(
                    f"--resamples has no effect with {analysis.procedure.name}, which does not resample",
                    remedy="remove it, or choose another --method",
                )
            if report:
                # the first one's report has all measures
                shown = tuple(measures) if name == measures[0] else (name,)
                analysis = record_recipe(analysis, options, reader, read, calibration, shown)
            analyses.append(analysis)
    return join_measures(*analyses, joint=bool(options.values.get("joint")))


def lend_cluster(options: Options) -> AbstractContextManager[Executor | None]:
    """Return the executor of the cluster that the options name, loaded where they name one."""
    if options.cluster is None:
        return nullcontext()
    from shardwise.cli.cluster import on_cluster

    return on_cluster(options.cluster, options.quiet)


def compare_by_factors(
    scores: Scores, options: Options, baseline: Sequence[str] = ()
) -> tuple[MixedFit, Comparisons]:
    """Compare by a mixed model with random factors, whose claim extends to all of them.

    Parameters
    ----------
    scores : Scores
        Scores with the factors as dimensions or labels.
    options : Options
        Factors, correction and systems.
    baseline : sequence of str
        Systems with which all others are compared; all pairs without any.

    Returns
    -------
    tuple
        The fit, and the comparisons.
    """
    from shardwise.comparing.compare import compare
    from shardwise.methods.mixed.fit import mixed

    fit = mixed(scores, random=options.random)
    correction = check_correction(options.method or "holm")
    return fit, compare(fit, correction, only=options.only or None, baseline=list(baseline) or None)


def test_margin(pairs: Comparisons, options: Options) -> Equivalence | None:
    """Test differences against the margin, where one was given."""
    if options.margin is None:
        return None
    from shardwise.comparing.equivalence import equivalence

    return equivalence(
        pairs, float(options.margin), options.margin.side, method=options.margin.verdict, alpha=options.alpha
    )


def join_margin(
    frame: pd.DataFrame, pairs: Comparisons, tested: Equivalence, options: Options
) -> pd.DataFrame:
    """Return a table of pairs with the test of each difference against the margin.

    Parameters
    ----------
    frame : DataFrame
        One row for each pair.
    pairs : Comparisons
        What was compared.
    tested : Equivalence
        The test of the margin.
    options : Options
        Margin, side and how it is tested.

    Returns
    -------
    DataFrame
        The same rows with further columns.
    """
    from shardwise.comparing.equivalence import posterior_probability

    columns = tested.table.drop(columns=["a", "b", "difference"]).add_suffix(f"_{options.margin.side}")
    plain = {f"{name}_{options.margin.side}": name for name in ("holds", "smallest_margin")}
    frame = frame.join(columns.rename(columns=plain))
    if np.isfinite(pairs.se).all() and np.isfinite(pairs.df).all():
        shares = pairs.probabilities(tested.margin)
        frame = frame.assign(**{f"probability_{name}": shares[name] for name in ("better", "equal", "worse")})
    if options.margin.verdict == "hpd":
        frame["probability"] = [
            posterior_probability(pairs, tested.margin, options.margin.side, a=str(a), b=str(b))
            for a, b in zip(tested.table["a"], tested.table["b"], strict=True)
        ]
    return frame


def list_files(options: Options, reader: InputReader, files: tuple[Path, ...]) -> tuple[str, ...]:
    """Return the files that a report names with their hashes: the inputs, and those that options name."""
    corpus = (
        [] if options.corpus is None or options.corpus.isdecimal() or reader.is_table else [options.corpus]
    )
    lists = [name for name in options.instances if Path(name).is_file()]
    named = [options.human, *([] if reader.is_table else [reader.texts, options.intents])]
    return (*map(str, files), *(str(path) for path in named if path is not None), *corpus, *lists)


def record_recipe(
    analysis: Analysis,
    options: Options,
    reader: InputReader,
    read: Read,
    calibration: int | None,
    measures: tuple[str, ...],
) -> Analysis:
    """Return the same analysis with what is needed to make it again; what was chosen automatically is written out."""
    # Looked up late, so that it can be replaced.
    from shardwise.analysis.trust import default_budget

    files = [str(file) for file in read.files]
    used: dict[str, Any] = {"scores": files} if reader.is_table else {"qrels": files[0], "runs": files[1:]}
    if reader.is_table and len(files) == 1:
        used["scores"] = files[0]
    if not reader.is_table or len(options.measure) > 1:
        used["measure"] = measures[0] if len(measures) == 1 else list(measures)
    used["method"] = options.method or ("hsd" if options.model else analysis.procedure.name)
    if analysis.trust.recorded is None:
        used["calibration"] = default_budget(len(analysis.systems)) if calibration is None else calibration
    # The name of the method says what repeats were taken for; a report has all tables.
    idle = ("repeats", "table")
    recipe = options.make_recipe(reader.describe_situation(read), without=idle, **used)
    return replace(analysis, recipe=recipe)


def bootstrap_procedure(words: Mapping[str, Any], options: Options, dims: Collection[Hashable]) -> Procedure:
    """Return the procedure that the words of a bootstrap name, piece by piece."""
    from shardwise.methods.bootstrap.method import READINGS, make_bootstrap, refuse_generalize

    parts = tuple(words.get(name, usual) for name, usual in zip(READ, READINGS["difference"], strict=True))
    reading = next(name for name, values in READINGS.items() if values == parts)
    model = parse_model(options.model or ("MD6" if "shard" in dims else "MD1"))
    fit = make_bootstrap(model, reading, drawn=options.resamples is not None)
    correction = check_correction(words["correction"])
    if correction not in fit.corrections:
        raise InputError(
            f"{CORRECTIONS[correction].title} needs a t-distribution, which a bootstrap does not use",
            remedy=f"choose one of {', '.join(fit.corrections)}",
        )
    refuse_generalize(Claim.of(options.generalize or ()))
    return Procedure(fit, correction, Claim())
