"""Options of shardwise leaderboard."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from shardwise.cli import options as opt


class BoardFormat(StrEnum):
    """How a leaderboard is written."""

    text = "text"
    json = "json"
    csv = "csv"
    latex = "latex"
    markdown = "markdown"
    html = "html"


ENDINGS = {ending: BoardFormat(one.value) for ending, one in opt.ENDINGS.items()} | {
    ".html": BoardFormat.html
}


@dataclass(frozen=True, kw_only=True)
class LeaderboardOptions:
    """Rank the systems, with the ranks that each may have.

    Rank intervals hold for all systems at once: from 1 plus the number significantly better to the number of systems
    less those significantly worse. Several measures give several columns; the first one ranks. As HTML it is one page
    to sort, search and link to, or with --fragment an element to put into a page of yours.

    Example: shardwise leaderboard qrels.txt runs/*.gz -m AP -m nDCG@10 --baseline bm25 --out board.html
    """

    inputs: opt.Inputs
    measure: opt.Measures = opt.several()
    method: opt.Method = ""
    generalize: opt.Generalize = ""
    baseline: opt.Baselines = opt.several()
    alpha: opt.Alpha = 0.05
    fill: opt.Fill = "zero"
    shards: opt.Shards = 1
    splits: opt.Splits = 1
    kind: opt.Kind = "even"
    by: opt.By = None
    texts: opt.Texts = None
    corpus: opt.Corpus = None
    seed: opt.Seed = 0
    missing: opt.Missing = ""
    columns: opt.Columns = opt.several()
    system: opt.System = opt.several()
    names: opt.Names = "auto"
    depth: opt.Depth = None
    jobs: opt.Jobs = None
    cluster: opt.Cluster = None
    fragment: Annotated[bool, typer.Option("--fragment", help="An element for a page, not a page.")] = False
    quiet: opt.Quiet = False
    format: Annotated[
        BoardFormat | None,
        typer.Option("--format", "-f", help="How it is written; without: text, or as --out ends."),
    ] = None
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Write to this file (txt, json, csv, tex, md, html), in that format.",
            callback=opt.file,
        ),
    ] = None

    @property
    def shown(self) -> BoardFormat:
        """The format of the result, by ``--format`` or by the ending of ``--out``."""
        return opt.written(self.format, self.out, ENDINGS, BoardFormat.text)
