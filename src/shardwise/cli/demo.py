"""shardwise demo: the whole analysis on a small simulated collection, no data needed."""

from __future__ import annotations

from shardwise import plot
from shardwise.analysis.analysis import Analysis
from shardwise.cli.conditions import Situation
from shardwise.cli.options import Format
from shardwise.cli.output import emit_table, open_terminal, show_progress
from shardwise.cli.parsing import Options
from shardwise.cli.simulate import Ours, names_of, write_files
from shardwise.comparing.rankings import kendall_tau
from shardwise.core.text import guard_frame
from shardwise.io.atomic import write_atomically
from shardwise.io.reader import read_collection
from shardwise.io.scores import write_scores
from shardwise.lab.simulate_collection import SimulatedCollection, simulate_collection
from shardwise.plot.saving import save_chart
from shardwise.scoring.scoring import score
from shardwise.sharding.split import split
from shardwise.writing.answer import write_answer, write_pairs, write_scope
from shardwise.writing.downloads import systems_frame
from shardwise.writing.html import write_report
from shardwise.writing.numbers import format_ranks
from shardwise.writing.tables import show_table, tabulate_systems

FILES = ("scores.csv", "pairs.csv", "intervals.html", "intervals.png", "report.html")


def run_demo(options: Options) -> None:
    """Analyse a simulated campaign, and say where its files are."""
    out, seed, jobs, quiet, format = options.out, options.seed, options.jobs, options.quiet, options.format
    with show_progress("simulating, reading, scoring", quiet):
        made = simulate_collection(topics=50, systems=20, depth=500, corpus=100_000, seed=seed)
        ours = Ours.claim_folder(out, [*names_of(made), *FILES])
        runs, qrels = write_files(made, ours)
        files = [runs / f"{system}.run" for system in sorted(made.systems)]
        collection = read_collection(files, qrels, jobs=jobs)
        splits = split(collection, 5, seed=seed, corpus=made.corpus)
        scores = score(collection, ["AP", "P@10"], splits, jobs=jobs)
        write_scores(scores, out / "scores.csv")
    with show_progress("report: simulating tables, comparing splits", quiet) as bar:
        content = write_report(
            out / "report.html",
            scores["AP"],
            notes=(*collection.notes, *splits.notes),
            inputs=[qrels, *files],
            seed=seed,
            recipe=options.make_recipe(Situation(options)),
            progress=bar,
        )
    here, like = (claim.pairs for claim in content.claims)
    chart = plot.interval_chart({here.claim: here, like.claim: like}, measure="AP")
    save_chart(chart, out / "intervals.html")
    save_chart(chart, out / "intervals.png")
    write_atomically(out / "pairs.csv", guard_frame(like.to_frame()).to_csv(index=False).encode())
    ours.record_files()
    undefined = int(scores["AP"].isel(split=0).isnull().sum())
    if format is not Format.text:
        facts = {
            "claims": {"here": here.claim, "like": like.claim},
            "folder": str(out),
            "seed": seed,
            "kendall_tau": _format_tau(content, made),
        }
        emit_table(systems_frame(content), options, title=write_answer(content), facts=facts)
    elif not quiet:
        _show_answer(content, made, options, undefined)


def _show_answer(content: Analysis, made: SimulatedCollection, options: Options, undefined: int) -> None:
    """Print the answer, the systems, the ANOVA table, and where the files are."""
    console = open_terminal()
    here, like = content.claims
    leaders = show_table(tabulate_systems(like.pairs, content.alpha), content.alpha, content.decimals)
    leaders = leaders.rename(columns={"rank": "rank, new topics"}).drop(columns="group", errors="ignore")
    ranks = here.pairs.ranks(1.0 - content.alpha).loc[leaders["system"]]
    leaders["rank, these topics"] = format_ranks(ranks)
    title = "\n".join([write_answer(content), write_scope(content), *write_pairs(content)])
    size = content.fit.scores.size
    cells = f"{undefined:,} of {size:,} scores are undefined (no relevant documents) and count as zero."
    emit_table(leaders, options, title=title, notes=(cells,))
    console.print(
        f"Rank correlation with the simulated quality (Kendall's tau): {_format_tau(content, made):.3f}"
    )
    fit = content.fit
    emit_table(fit.table.reset_index(names="term"), options, title=f"\nANOVA, {fit.model.title}")
    where = str(options.out).replace("[", r"\[")
    console.print(
        f"Wrote {where}/runs, qrels.txt, scores.csv, pairs.csv, intervals.html, intervals.png and report.html"
    )
    console.print(f"[bold]Next: open {where}/report.html in a browser[/bold]")


def _format_tau(content: Analysis, made: SimulatedCollection) -> float:
    truth = dict(zip(made.systems, made.quality.tolist(), strict=True))
    means = content.claims[0].pairs.estimates
    return float(kendall_tau(dict(zip(means.labels, means.values.tolist(), strict=True)), truth))
