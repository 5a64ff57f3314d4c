"""shardwise simulate and demo: a TREC-like collection as files, and the whole analysis of one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from shardwise import plot
from shardwise.analysis.provenance import hash_files
from shardwise.cli.options import Format, Situation
from shardwise.cli.output import Result, show_progress
from shardwise.cli.parsing import Options
from shardwise.comparing.rankings import kendall_tau
from shardwise.core.errors import InputError, Option
from shardwise.core.libraries import pd
from shardwise.core.text import write_csv
from shardwise.io.atomic import draft_folder, move_in, refuse_unwritable, write_atomically
from shardwise.io.reader import read_collection
from shardwise.io.scores import write_scores
from shardwise.lab.simulate_collection import SimulatedCollection, render_files, simulate_collection
from shardwise.plot.saving import save_chart
from shardwise.scoring.scoring import score
from shardwise.sharding.split import split
from shardwise.writing.answer import write_answer, write_pairs, write_scope
from shardwise.writing.downloads import systems_frame
from shardwise.writing.html import write_report
from shardwise.writing.numbers import format_ranks
from shardwise.writing.tables import show_table, tabulate_systems


def simulate_campaign(options: Options) -> list[Result]:
    """Write a simulated campaign, and return the true quality of each system."""
    made = simulate_collection(
        topics=options.topics,
        systems=options.systems,
        depth=options.depth,
        corpus=options.corpus,
        relevant=options.relevant,
        seed=options.seed,
    )
    ours = Ours.claim_folder(options.out, names_of(made))
    runs, qrels = write_files(made, ours)
    ours.record_files()
    if options.quiet and options.format is Format.text:
        return []
    frame = pd.DataFrame({"system": made.systems, "quality": made.quality})
    title = (
        f"wrote {len(made.systems)} runs to {runs} and judgments to {qrels}; the true quality of each system:"
    )
    return [Result((title,), frame, facts={"runs": str(runs), "qrels": str(qrels), "seed": options.seed})]


LIST = ".shardwise-made"
"""The file in a folder that says what was made there, and its hashes."""


@dataclass(frozen=True, slots=True)
class Ours:
    """Files that a command makes in a folder; what it did not make there itself it does not write over."""

    folder: Path
    names: tuple[str, ...]

    @classmethod
    def claim_folder(cls, folder: Path, names: Iterable[str]) -> Ours:
        """Refuse the folder where one of the files is there and was not made so by an earlier run."""
        every = tuple(names)
        known = cls._read_known(folder)
        for name in every:
            path = folder / name
            if path.exists() and (not path.is_file() or (name, hash_files([path])[0].sha256) not in known):
                raise InputError(
                    "exists already and would be overwritten",
                    where=str(path),
                    remedy=("choose another folder with ", Option("out"), ", or move it away"),
                )
        return cls(folder, every)

    def record_files(self, draft: Path | None = None) -> None:
        """Note down what was made, so that the next run may write over it.

        What is still to be moved from a draft is noted beside what is there: a run may be killed in between.
        """
        known = self._read_known(self.folder)
        kept = known if draft else {(name, digest) for name, digest in known if name not in self.names}
        written = [name for name in self.names if ((draft or self.folder) / name).is_file()]
        made = kept | {(name, hash_files([(draft or self.folder) / name])[0].sha256) for name in written}
        text = "".join(f"{digest}  {name}\n" for name, digest in sorted(made))
        write_atomically(self.folder / LIST, text.encode())

    @staticmethod
    def _read_known(folder: Path) -> set[tuple[str, str]]:
        path = folder / LIST
        if not path.is_file():
            return set()
        lines = (
            line.partition("  ") for line in path.read_text(encoding="utf-8", errors="replace").splitlines()
        )
        return {(name, digest) for digest, _, name in lines}


def names_of(made: SimulatedCollection) -> list[str]:
    """The files of a simulated collection."""
    return [*(f"runs/{system}.run" for system in made.systems), "qrels.txt"]


def write_files(made: SimulatedCollection, ours: Ours) -> tuple[Path, Path]:
    """Write a simulated collection beside its place and move it there, so that no file is ever half there."""
    folder, runs = ours.folder, ours.folder / "runs"
    runs.mkdir(parents=True, exist_ok=True)
    mine = {f"{system}.run" for system in made.systems}
    other = next((path for path in sorted(runs.iterdir()) if path.name not in mine), None)
    if other is not None:
        raise InputError(
            "exists already and would count as one of the runs",
            where=str(other),
            remedy=("choose an empty folder with ", Option("out")),
        )
    with draft_folder(folder) as draft:
        (draft / "runs").mkdir()
        for name, content in render_files(made):
            with refuse_unwritable(folder / name):
                (draft / name).write_bytes(content)
        ours.record_files(draft)
        for name in names_of(made):
            with refuse_unwritable(folder / name):
                move_in(draft / name, folder / name)
    return folder / "runs", folder / "qrels.txt"


FILES = ("scores.csv", "pairs.csv", "intervals.html", "intervals.png", "report.html")


def run_demo(options: Options) -> list[Result]:
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
    chart = plot.chart({here.claim: here, like.claim: like}, "intervals", measure="AP")
    save_chart(chart, out / "intervals.html")
    save_chart(chart, out / "intervals.png")
    write_atomically(out / "pairs.csv", write_csv(like.to_frame()).encode())
    ours.record_files()
    undefined = int(scores["AP"].isel(split=0).isnull().sum())
    truth = dict(zip(made.systems, made.quality.tolist(), strict=True))
    means = here.estimates
    tau = float(kendall_tau(dict(zip(means.labels, means.values.tolist(), strict=True)), truth))
    if format is not Format.text:
        facts = {
            "claims": {"here": here.claim, "like": like.claim},
            "folder": str(out),
            "seed": seed,
            "kendall_tau": tau,
        }
        return [Result((write_answer(content),), systems_frame(content), facts=facts)]
    if quiet:
        return []
    leaders = show_table(tabulate_systems(like, content.alpha), content.alpha, content.decimals)
    leaders.pop("group", None)
    leaders["rank, new topics"] = leaders.pop("rank")
    ranks = here.ranks(1.0 - content.alpha).loc[leaders["system"]]
    leaders["rank, these topics"] = format_ranks(ranks)
    lines = (write_answer(content), write_scope(content), *write_pairs(content))
    size = content.fit.scores.values.size
    cells = f"{undefined:,} of {size:,} scores are undefined (no relevant documents) and count as zero."
    fit = content.fit
    return [
        Result(lines, leaders, (cells,)),
        Result((f"Rank correlation with the simulated quality (Kendall's tau): {tau:.3f}",)),
        Result((f"\nANOVA, {fit.model.title}",), fit.table.reset_index(names="term")),
        Result(
            (
                f"Wrote {out}/runs, qrels.txt, scores.csv, pairs.csv, intervals.html, intervals.png and report.html",
                f"Next: open {out}/report.html in a browser",
            )
        ),
    ]
