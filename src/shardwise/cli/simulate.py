"""shardwise simulate: a TREC-like collection as files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from shardwise.analysis.provenance import hash_files
from shardwise.cli.options import Format
from shardwise.cli.output import emit_table
from shardwise.cli.parsing import Options
from shardwise.core.errors import InputError, Option
from shardwise.io.atomic import draft_folder, move_in, refuse_unwritable, write_atomically
from shardwise.lab.simulate_collection import SimulatedCollection, render_files, simulate_collection


def simulate_campaign(options: Options) -> None:
    """Write a simulated campaign, and print the true quality of each system."""
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
    if not options.quiet or options.format is not Format.text:
        frame = pd.DataFrame({"system": made.systems, "quality": made.quality})
        title = f"wrote {len(made.systems)} runs to {runs} and judgments to {qrels}; the true quality of each system:"
        facts = {"runs": str(runs), "qrels": str(qrels), "seed": options.seed}
        emit_table(frame, options, title=title, facts=facts)


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
            if path.exists() and (not path.is_file() or (name, _digest_file(path)) not in known):
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
        made = kept | {(name, _digest_file((draft or self.folder) / name)) for name in written}
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


def _digest_file(path: Path) -> str:
    return hash_files([path])[0].sha256


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
