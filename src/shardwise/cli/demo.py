"""shardwise demo: the whole way on a small simulated collection, no data needed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shardwise.cli import inputs as opt
from shardwise.cli.compare import systems_table
from shardwise.cli.output import Format, emit, progress_bar, terminal
from shardwise.compare.comparisons import compare
from shardwise.compare.rankings import kendall_tau
from shardwise.model.anova import anova
from shardwise.model.terms import MD6
from shardwise.plot.intervals import interval_chart, save_chart
from shardwise.read.reader import read_collection
from shardwise.read.scores import write_scores
from shardwise.report.html import write_report
from shardwise.score.scoring import score
from shardwise.score.undefined import fill_undefined
from shardwise.shard.split import split
from shardwise.study.simulate_collection import simulate_collection


def demo_command(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the files it makes.")] = Path("demo"),
    seed: opt.Seed = 7,
    quiet: opt.Quiet = False,
) -> None:
    """Simulate a campaign, score it on shards, and say which systems differ, for both claims.

    Example: shardwise demo
    """
    console = terminal(quiet)
    with progress_bar(quiet) as bar:
        bar.add_task("simulating, reading, scoring (the first time also compiling)", total=None)
        made = simulate_collection(topics=50, systems=20, depth=500, corpus=100_000, seed=seed)
        runs, qrels = made.write(out)
        collection = read_collection(runs, qrels)
        splits = split(collection, 5, n_splits=5, seed=seed, corpus=made.corpus)
        scores = score(collection, ["AP", "P@10"], splits)
        write_scores(scores, out / "scores.csv")
    first = scores["AP"].isel(split=0, drop=True)
    table = fill_undefined(first, "zero")
    fit = anova(table, MD6)
    here = compare(fit, "hsd")
    like = compare(fit, "hsd", generalize=("topic",))
    console.print(
        f"[bold]{len(collection.systems)} systems, {len(collection.topics)} topics, 5 shards; AP[/bold]"
        f"  ({int(first.isnull().sum())} of {table.size} cells without relevant documents count as zero)"
    )
    leaders = systems_table(here, 0.05).rename(columns={"groups": "on these topics"})
    leaders["on topics like these"] = like.letters()["letters"].to_numpy()
    if not quiet:
        emit(leaders, Format.text, title="Systems, best first; those that share a letter are not told apart")
    console.print(f"On these {len(collection.topics)} topics {_best(here.top_group())};")
    console.print(f"on topics like these {_best(like.top_group())}.")
    truth = dict(zip(made.systems, made.quality.tolist(), strict=True))
    found = dict(zip(here.estimates.labels, here.estimates.values.tolist(), strict=True))
    console.print(f"Kendall's tau with the simulated truth: {kendall_tau(found, truth):.3f}")
    if not quiet:
        emit(fit.table.reset_index(names="term"), Format.text, title=f"\nANOVA, {fit.model.title}")
    chart = interval_chart({here.claim: here, like.claim: like}, measure="AP")
    save_chart(chart, out / "intervals.html")
    save_chart(chart, out / "intervals.png")
    here.to_frame().to_csv(out / "pairs.csv", index=False)
    write_report(
        out / "report.html",
        scores["AP"],
        model=MD6,
        notes=(*collection.notes, *splits.notes),
        inputs=[qrels, *sorted(runs.iterdir())],
        seed=seed,
    )
    console.print(
        f"Wrote {out}/runs, qrels.txt, scores.csv, pairs.csv, intervals.html, intervals.png and report.html"
    )
    console.print(
        f"[bold]Open {out}/report.html in a browser[/bold]: all of this for both claims, in one file"
    )


def _best(top: tuple[str, ...]) -> str:
    if len(top) == 1:
        return f"{top[0]} is better than all others"
    return f"the best, {top[0]}, cannot be told from {', '.join(top[1:])}"
