"""shardwise calibrate: what do methods do on data like yours where the truth is known?"""

from __future__ import annotations

from typing import Any

import xarray as xr

from shardwise.cli import inputs
from shardwise.cli.cluster import on_cluster
from shardwise.cli.commands import CalibrateOptions
from shardwise.cli.options import Format
from shardwise.cli.output import draw, emit, progress
from shardwise.core.claim import pluralize_noun
from shardwise.core.errors import InputError
from shardwise.core.scores import nouns_of
from shardwise.lab.calibrate import Calibration, calibrate
from shardwise.lab.holdout.checks import split_half
from shardwise.methods.registry import list_procedures

USUAL = ("hsd", "holm", "bh", "none")  # corrections of a model that was named
BESIDE = "t holm"  # to compare a named model with


def calibrate_methods(options: CalibrateOptions) -> None:
    """Try methods on simulated tables like the scores, and print how often they err."""
    format, alpha, seed, jobs, quiet = options.shown, options.alpha, options.seed, options.jobs, options.quiet
    inputs.parse_fill(options.fill)  # refused before the long work
    read = inputs.InputReader.of(options).one_measure().read()
    scores, told = inputs.fill_gaps(inputs.pick_measure(read), options.fill)
    if "split" in scores.dims and scores.sizes["split"] == 1:
        scores = scores.isel(split=0, drop=True)
    chosen = _methods(options.model, options.method, scores)
    claims = [_claim(text) for text in options.generalize] if options.generalize else None
    with on_cluster(options.cluster, quiet) as executor:
        with progress("simulating", quiet) as bar:
            lab = calibrate(
                scores,
                chosen,
                claims=claims,
                nulls=options.scenario or None,
                alpha=alpha,
                repetitions=options.repetitions,
                budget=options.budget,
                seed=seed,
                jobs=jobs,
                executor=executor,
                progress=bar,
            )
        facts = describe_calibration(lab)
        said = [*read.notes, *told]
        if options.halves:
            with progress(f"halving {pluralize_noun(nouns_of(scores).get('topic', 'topic'))}", quiet) as bar:
                check = split_half(
                    scores,
                    chosen,
                    alpha=alpha,
                    repeats=options.halves,
                    seed=seed,
                    jobs=jobs,
                    executor=executor,
                    progress=bar,
                )
            facts["halves"] = check.table.reset_index().to_dict("records")
            said += str(check).splitlines()
    if options.chart is not None:
        draw(lab.plot(), options.chart)
    table = lab.shown() if format is Format.text else lab.to_frame()
    title, notes = lab.text(command=True), () if quiet else tuple(said)
    emit(table, format, options.out, title=title, notes=notes, facts=facts, quiet=quiet)


def _methods(model: str, named: list[str], scores: xr.DataArray) -> list[str] | None:
    """Names of the methods to try; nothing for the usual ones."""
    if not model:
        return named or None
    dims = tuple(d for d in ("split", "topic", "system", "shard", "instance") if d in scores.dims)
    known = list_procedures(dims)
    short = inputs.parse_model(model).name
    own = [name for name in known if name.split()[0] == short and name.split()[1] in USUAL]
    if not own:
        raise InputError(
            f"{model} cannot be tried on scores by {', '.join(dims)}",
            remedy="MD1 takes whole collections, MD2 to MD6 take shards (--shards 5)",
        )
    return list(dict.fromkeys([*own, *named, BESIDE]))


def _claim(text: str) -> tuple[str, ...]:
    return () if text.strip() == "these" else inputs.parse_dimensions(text)


def describe_calibration(lab: Calibration) -> dict[str, Any]:
    """Everything that is said of a calibration beside its table."""
    return {
        "alpha": lab.alpha,
        "repetitions": lab.repetitions,
        "budget": lab.budget,
        "seed": lab.seed,
        "scores": lab.scores,
        "worlds": list(lab.notes),
        "verdicts": [one.to_dict(command=True) for one in lab.verdicts],
        "rates": lab.rates.to_dict("records"),
        "power": lab.power.to_dict("records"),
    }
