"""shardwise calibrate: what do methods do on data like yours where the truth is known?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import xarray as xr

from shardwise.cli import inputs
from shardwise.cli.cluster import on_cluster
from shardwise.cli.options import Format
from shardwise.cli.output import emit_table, show_progress
from shardwise.cli.parsing import Options
from shardwise.core.claim import pluralize_noun
from shardwise.core.errors import InputError, Option
from shardwise.core.scores import Scores, layout_of, nouns_of
from shardwise.lab.calibrate import Calibration, calibrate
from shardwise.lab.holdout.checks import split_half
from shardwise.lab.statements import DEFAULT, check_statements
from shardwise.methods.names import list_procedures
from shardwise.methods.tables import SHARDS, TABLE
from shardwise.plot.saving import save_chart

USUAL = ("hsd", "holm", "bh", "none")  # corrections of a model that was named
STATEMENT_TABLES = 400  # simulated to check statements, where no number is asked for
BESIDE = "t holm"  # to compare a named model with


def calibrate_methods(options: Options) -> None:
    """Try methods on simulated tables like the scores, and print how often they err."""
    format, alpha, seed, jobs, quiet = (
        options.chosen_format,
        options.alpha,
        options.seed,
        options.jobs,
        options.quiet,
    )
    inputs.parse_fill(options.fill)  # refused before the long work
    read = inputs.InputReader(options).check().one_measure().read_input()
    scores, gaps = inputs.fill_gaps(inputs.pick_measure(read), options.fill)
    if "split" in scores.dims and scores.sizes["split"] == 1:
        scores = scores.isel(split=0, drop=True)
    chosen = _list_methods(options.model, options.method, scores)
    scenarios = [name for name in options.scenario if not name.startswith("halves:")]
    halves = sum(_parse_halves(name) for name in options.scenario if name not in scenarios)
    claims = [inputs.parse_dimensions(text) for text in options.generalize] if options.generalize else None
    stated = _makes_statements(chosen, claims, scores)
    if ("margin" in options.given) and not stated:
        raise InputError(
            (Option("margin"), f" has no effect unless {DEFAULT} is tried for new topics on a plain table"),
            remedy=("remove it, or add ", Option("method", DEFAULT)),
        )
    with on_cluster(options.cluster, quiet) as executor:
        with show_progress("simulating", quiet) as bar:
            lab = calibrate(
                scores,
                chosen,
                claims=claims,
                nulls=scenarios or None,
                alpha=alpha,
                repetitions=options.repetitions,
                budget=options.budget,
                seed=seed,
                jobs=jobs,
                executor=executor,
                progress=bar,
            )
        facts = describe_calibration(lab)
        lines = [*read.notes, *gaps]
        if halves:
            with show_progress(
                f"halving {pluralize_noun(nouns_of(scores).get('topic', 'topic'))}", quiet
            ) as bar:
                check = split_half(
                    scores,
                    chosen,
                    alpha=alpha,
                    repeats=halves,
                    seed=seed,
                    jobs=jobs,
                    executor=executor,
                    progress=bar,
                )
            facts["halves"] = check.table.reset_index().to_dict("records")
            lines += str(check).splitlines()
        statements = None
        if stated:
            with show_progress("checking statements", quiet):
                statements = check_statements(
                    scores,
                    margin=options.margin,
                    alpha=alpha,
                    repetitions=options.repetitions or STATEMENT_TABLES,
                    seed=seed,
                )
            facts["statements"] = statements.table.to_dict("records")
    if options.chart is not None:
        save_chart(lab.plot(), options.chart)
    table = lab.shown() if format is Format.text else lab.to_frame()
    title = "\n\n".join([lab.text(command=True), *([] if statements is None else [str(statements)])])
    emit_table(table, options, title=title, notes=tuple(lines), facts=facts)


def _parse_halves(text: str) -> int:
    """Return how many times the topics are halved, from a word such as ``halves:20``."""
    number = text.removeprefix("halves:")
    if not number.isdecimal() or not int(number):
        raise InputError(
            (Option("scenario", text), " is not a number of halvings"),
            remedy="write for instance halves:20",
        )
    return int(number)


def _makes_statements(
    methods: Sequence[str] | None, claims: Sequence[Sequence[str]] | None, scores: xr.DataArray
) -> bool:
    """Whether the default method for new topics is tried on scores whose resampled topics show all that varies."""
    default = methods is None or DEFAULT in methods
    like = claims is None or ("topic",) in [tuple(claim) for claim in claims]
    gated = Scores(scores)
    plain = layout_of(scores) in (TABLE, SHARDS) and not {"cluster", "task"} & set(scores.coords)
    return default and like and plain and gated.human is None


def _list_methods(model: str, named: list[str], scores: xr.DataArray) -> list[str] | None:
    """Names of the methods to try; nothing for the usual ones."""
    if not model:
        return named or None
    dims = tuple(d for d in ("split", "topic", "system", "shard", "instance") if d in scores.dims)
    known = list_procedures(dims)
    short = inputs.parse_model(model).name
    of_model = [name for name in known if name.split()[0] == short and name.split()[1] in USUAL]
    if not of_model:
        raise InputError(
            f"{model} cannot be tried on scores by {', '.join(dims)}",
            remedy="MD1 takes whole collections, MD2 to MD6 take shards (--shards 5)",
        )
    return list(dict.fromkeys([*of_model, *named, BESIDE]))


def describe_calibration(lab: Calibration) -> dict[str, Any]:
    """Everything that is said of a calibration beside its table."""
    return {
        "alpha": lab.alpha,
        "repetitions": lab.repetitions,
        "budget": lab.budget,
        "seed": lab.seed,
        "scores": lab.scores,
        "skipped": list(lab.notes),
        "verdicts": [verdict.to_dict(command=True) for verdict in lab.verdicts],
        "rates": lab.rates.to_dict("records"),
        "power": lab.power.to_dict("records"),
    }
