"""shardwise stability: would other shards have led to the same conclusions?"""

from __future__ import annotations

from typing import Annotated

import typer

from shardwise.cli import inputs as opt
from shardwise.cli.output import Format, emit, progress_bar
from shardwise.score.undefined import fill_undefined
from shardwise.study.stability import stability

MEANINGS = {
    "AA": "pairs where both splits find the same system better",
    "AD": "pairs where they find opposite systems better",
    "PA": "pairs where neither finds a difference",
    "PD": "pairs where only one does",
    "PAA": "agreement on differences, 2AA/(2AA+PD)",
    "PPA": "agreement on no difference, 2PA/(2PA+PD)",
}


def stability_command(
    inputs: opt.Inputs,
    measure: Annotated[str | None, typer.Option("--measure", "-m", help="The measure; AP for runs.")] = None,
    model: Annotated[str, typer.Option(help="MD2 to MD6, or a formula.")] = "MD6",
    method: Annotated[str, typer.Option(help="hsd, bh, by, holm, bonferroni, scheffe or none.")] = "hsd",
    generalize: opt.Generalize = "",
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
    notes: tuple[str, ...] = ()
    if len(inputs) == 1:
        scores = opt.load_scores(inputs[0], measure)
    else:
        collection = opt.load_runs(inputs, missing=missing, names=names, depth=depth, jobs=jobs, quiet=quiet)
        made = opt.make_splits(
            collection, shards=shards, splits=splits, kind=kind, by=None, corpus=corpus, seed=seed
        )
        found = opt.score_runs(collection, [measure or "AP"], made, jobs=jobs, quiet=quiet)
        scores = found[next(iter(found.data_vars))]
        notes = (*collection.notes, *(made.notes if made is not None else ()))
    holes = int(scores.isnull().sum())
    if fill != "leave" and holes:
        scores = fill_undefined(scores, opt.fill_policy(fill))
        notes = (*notes, f"{holes} undefined cells: {fill}")
    with progress_bar(quiet) as bar:
        task = bar.add_task("splits", total=None)
        result = stability(
            scores,
            model,
            method,
            alpha=alpha,
            generalize=opt.dimensions(generalize),
            progress=lambda done, total: bar.update(task, completed=done, total=total),
        )
    frame = result.mean().reset_index()
    frame["meaning"] = frame["figure"].map(MEANINGS)
    title = str(result).splitlines()[0]
    facts = {"alpha": alpha, "splits": len(result.comparisons), "claim": result.comparisons[0].claim}
    emit(frame, format, out, title=title, notes=() if quiet else notes, facts=facts)
