"""shardwise stability: would other shards have led to the same conclusions?"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from shardwise.cli import inputs as opt
from shardwise.cli.output import Format, emit, progress
from shardwise.cli.shared import shared
from shardwise.comparing.stability import stability

MEANINGS = {
    "AA": "pairs where both splits find the same system better",
    "AD": "pairs where they find opposite systems better",
    "PA": "pairs where neither finds a difference",
    "PD": "pairs where only one does",
    "PAA": "agreement on differences, 2AA/(2AA+PD)",
    "PPA": "agreement on no difference, 2PA/(2PA+PD)",
}


@shared
def stability_command(
    inputs: opt.Inputs,
    measure: opt.Measure = None,
    model: Annotated[str, typer.Option(help="MD2 to MD6, or a formula.")] = "MD6",
    method: Annotated[
        str,
        typer.Option(
            help="hsd, bh, by, holm, bonferroni, scheffe or none; without: hsd, for a bootstrap bh."
        ),
    ] = "",
    generalize: opt.Generalize = "",
    fit: opt.Fit = "anova",
    resamples: opt.Resamples = None,
    alpha: opt.Alpha = 0.05,
    fill: opt.Fill = "zero",
    shards: opt.Shards = 5,
    splits: opt.Splits_ = 11,
    kind: opt.Kind = "even",
    corpus: opt.Corpus = None,
    seed: opt.Seed = 0,
    missing: opt.Missing = "refuse",
    names: opt.Names = "auto",
    depth: opt.Depth = None,
    jobs: opt.Jobs = None,
    quiet: opt.Quiet = False,
    format: opt.Format_ = Format.text,
    out: opt.Out = None,
) -> None:
    """Compare the systems on many splits and count how often two splits agree (Faggioli & Ferro 2021).

    Example: shardwise stability qrels.txt runs/*.gz --measure AP --shards 5 --splits 11
    """
    bootstrap = opt.bootstrap_options(fit, resamples)
    parsed = opt.model(model)
    scores, notes = opt.load_one(
        inputs, measure, shards=shards, splits=splits, kind=kind, by=None, corpus=corpus, seed=seed,
        missing=missing, names=names, depth=depth, jobs=jobs, quiet=quiet,
    )  # fmt: skip
    scores, told = opt.filled(scores, fill)
    how: dict[str, Any] = {"fit": "bootstrap", "n_resamples": resamples, "seed": seed} if bootstrap else {}
    with progress("comparing splits", quiet) as bar:
        result = stability(
            scores,
            parsed,
            method or ("bh" if bootstrap else "hsd"),
            alpha=alpha,
            generalize=opt.dimensions(generalize),
            progress=bar,
            **how,
        )
    frame = result.mean().reset_index()
    frame["meaning"] = frame["figure"].map(MEANINGS)
    title = str(result).splitlines()[0]
    facts = {"alpha": alpha, "splits": len(result.comparisons), "claim": result.comparisons[0].claim}
    emit(frame, format, out, title=title, notes=() if quiet else (*notes, *told), facts=facts)
