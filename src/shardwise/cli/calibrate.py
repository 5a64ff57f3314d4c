"""shardwise calibrate: what do methods do on data like yours where the truth is known?"""

from __future__ import annotations

from typing import Annotated, Any

import typer
import xarray as xr

from shardwise.cli import inputs as opt
from shardwise.cli.output import Format, draw, emit, progress
from shardwise.cli.shared import shared
from shardwise.core.errors import InputError
from shardwise.lab.calibrate import Calibration, calibrate
from shardwise.lab.holdout.checks import split_half
from shardwise.procedures.vocabulary import available

USUAL = ("hsd", "holm", "bh", "none")  # corrections of a model that was named
BESIDE = "t holm"  # to compare a named model with


@shared
def calibrate_command(
    inputs: opt.Inputs,
    measure: opt.Measure = None,
    model: Annotated[
        str,
        typer.Option(
            help="Try this model, MD1 to MD6, with the usual corrections; without: a dozen methods."
        ),
    ] = "",
    method: Annotated[
        list[str] | None,
        typer.Option(help="Try this method, such as 'MD6 hsd topic' or 't holm'; repeatable."),
    ] = None,
    claim: Annotated[
        list[str] | None,
        typer.Option(
            help="Claim to try: these, topic, shard or topic,shard; repeatable. Without: all of them."
        ),
    ] = None,
    null: Annotated[
        list[str] | None,
        typer.Option(help="World to try them in: normal, margins, permute, flip or resample; repeatable."),
    ] = None,
    repetitions: Annotated[int, typer.Option(help="Tables drawn in each world.", min=10)] = 500,
    halves: Annotated[
        int,
        typer.Option(help="Also halve the topics so often, and check each half against the other.", min=0),
    ] = 0,
    alpha: opt.Alpha = 0.05,
    fill: opt.Fill = "zero",
    shards: opt.Shards = 1,
    kind: opt.Kind = "even",
    by: opt.By = None,
    corpus: opt.Corpus = None,
    seed: opt.Seed = 0,
    missing: opt.Missing = "refuse",
    names: opt.Names = "auto",
    depth: opt.Depth = None,
    jobs: opt.Jobs = None,
    quiet: opt.Quiet = False,
    chart: opt.Chart = None,
    format: opt.Format_ = Format.text,
    out: opt.Out = None,
) -> None:
    """Measure how often methods err on tables like yours, and say which of them to use for which claim.

    Example: shardwise calibrate qrels.txt runs/*.gz --measure AP --shards 5 --model MD6
    """
    scores, notes = opt.load_one(
        inputs, measure, shards=shards, splits=1, kind=kind, by=by, corpus=corpus, seed=seed,
        missing=missing, names=names, depth=depth, jobs=jobs, quiet=quiet,
    )  # fmt: skip
    scores, told = opt.filled(scores, fill)
    if "split" in scores.dims and scores.sizes["split"] == 1:
        scores = scores.isel(split=0, drop=True)
    chosen = _methods(model, method or [], scores)
    claims = [_claim(text) for text in claim] if claim else None
    with progress("simulating", quiet) as bar:
        lab = calibrate(
            scores, chosen, claims=claims, nulls=null or None, alpha=alpha, repetitions=repetitions, seed=seed,
            jobs=jobs, progress=bar,
        )  # fmt: skip
    facts = _facts(lab)
    said = [*notes, *told]
    if halves:
        with progress("halving topics", quiet) as bar:
            check = split_half(
                scores, chosen, alpha=alpha, repeats=halves, seed=seed, jobs=jobs, progress=bar
            )
        facts["halves"] = check.table.reset_index().to_dict("records")
        said += str(check).splitlines()
    if chart is not None:
        draw(lab.plot(), chart)
    emit(lab.to_frame(), format, out, title=str(lab), notes=() if quiet else tuple(said), facts=facts)


def _methods(model: str, named: list[str], scores: xr.DataArray) -> list[str] | None:
    """Names of the methods to try; nothing for the usual ones."""
    if not model:
        return named or None
    dims = tuple(d for d in ("split", "topic", "system", "shard", "instance") if d in scores.dims)
    known = available(dims)
    short = opt.model(model).name
    own = [name for name in known if name.split()[0] == short and name.split()[1] in USUAL]
    if not own:
        raise InputError(
            f"{model} cannot be tried on scores by {', '.join(dims)}",
            remedy="MD1 takes whole collections, MD2 to MD6 take shards (--shards 5)",
        )
    return list(dict.fromkeys([*own, *named, BESIDE]))


def _claim(text: str) -> tuple[str, ...]:
    return () if text.strip() == "these" else opt.dimensions(text)


def _facts(lab: Calibration) -> dict[str, Any]:
    return {
        "alpha": lab.alpha,
        "repetitions": lab.repetitions,
        "seed": lab.seed,
        "scores": lab.scores,
        "verdicts": [
            {
                "claim": v.claim,
                "use": v.use,
                "holds": v.holds,
                "unclear": v.unclear,
                "fails": v.fails,
                "text": v.text,
            }
            for v in lab.verdicts
        ],
        "power": lab.power.to_dict("records"),
    }
