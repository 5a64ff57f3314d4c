"""Options of shardwise replicate."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from shardwise.cli import options as opt
from shardwise.cli.commands.design import Also

HELP = "Make the tables and figures of a published paper of your own runs, with what was printed beside them."


@dataclass(frozen=True, kw_only=True)
class _Replicated:
    """What every paper is told of runs and of the folder that it is written to."""

    inputs: opt.Inputs
    out: opt.Folder
    corpus: opt.Corpus = None
    seed: opt.Seed = 0
    missing: opt.Missing = ""
    names: opt.Names = "auto"
    depth: opt.Depth = None
    jobs: opt.Jobs = None
    cluster: opt.Cluster = None
    quiet: opt.Quiet = False


@dataclass(frozen=True, kw_only=True)
class F19Options(_Replicated):
    """Ferro & Sanderson 2019: Tables 1 and 2, Figures 1, 3, 4 and 5.

    Writes f19.html and f19.md into the folder, all rows as CSV and the charts as SVG. Stopped and called again with
    the same options, it takes up where it was.

    Example: shardwise replicate f19 qrels.txt runs/*.gz --out f19/
    """

    measure: opt.Measures = opt.several("AP", "P@10", "RBP(p=0.8)", "nDCG(base=10)")
    shards: Annotated[list[int], typer.Option(help="A number of shards; repeatable.", min=2)] = opt.several(
        2, 3, 4, 5, 10, 25, 50
    )
    splits: Annotated[int, typer.Option(help="Independent splits of each number of shards.", min=2)] = 10
    alpha: opt.Alpha = 0.05
    fill: opt.Fill = "zero"


@dataclass(frozen=True, kw_only=True)
class FF21Options(_Replicated):
    """Faggioli & Ferro 2021: Tables 1 to 8.

    Writes ff21.html and ff21.md into the folder, and all rows as CSV. Stopped and called again with the same options,
    it takes up where it was.

    Example: shardwise replicate ff21 qrels.txt runs/*.gz --out ff21/
    """

    measure: opt.Measures = opt.several("AP", "P@10")
    shards: Annotated[list[int], typer.Option(help="Shards of Tables 1 to 4; repeatable.", min=2)] = (
        opt.several(2, 3, 5)
    )
    fill_shards: Annotated[list[int], typer.Option(help="Shards of Tables 7 and 8; repeatable.", min=2)] = (
        opt.several(5, 10, 25)
    )
    splits: Annotated[int, typer.Option(help="Independent splits of each kind.", min=2)] = 5
    resamples: opt.Resamples = None
    alpha: opt.Alpha = 0.05


@dataclass(frozen=True, kw_only=True)
class J15Options:
    """Jayasinghe et al. 2015: Figures 2 to 4 by simulation, Figures 6 to 13 of your own instances.

    Writes j15.html and j15.md into the folder, all rows as CSV and the charts as SVG. Without scores it makes the
    simulated figures alone. Stopped and called again with the same options, it takes up where it was.

    Example: shardwise replicate j15 scores.csv --baseline exhaustive --out j15/
    """

    inputs: Annotated[
        list[Path],
        typer.Argument(
            help="Scores by topic, system and instance (seed), one table or several files.",
            metavar="[SCORES...]",
        ),
    ] = opt.several()
    out: opt.Folder
    baseline: Annotated[
        str | None,
        typer.Option(help="The deterministic system. Without: the one whose instances are all alike."),
    ] = None
    margin: Annotated[float, typer.Option(help="Largest loss that does not matter.", min=0.0)] = 0.01
    pools: Annotated[int, typer.Option(help="Pools of instances for each system and size.", min=2)] = 50
    repetitions: Annotated[int, typer.Option(help="Simulated comparisons of Figure 4.", min=5)] = 500
    resamples: Annotated[int, typer.Option(help="Resamples of each instance by the bootstrap.", min=1)] = 200
    missing: opt.Missing = ""
    seed: opt.Seed = 0
    cluster: opt.Cluster = None
    quiet: opt.Quiet = False


@dataclass(frozen=True, kw_only=True)
class S14Options:
    """Sakai 2014: Tables 3 to 9, Figures 1 to 4.

    Writes s14.html and s14.md into the folder, all rows as CSV and the charts as SVG. Of a table of scores it makes
    Tables 3, 4 and 8 and Figures 1 to 3. Stopped and called again with the same options, it takes up where it was.

    Example: shardwise replicate s14 qrels.txt runs/*.gz --also qrels2.txt,runs2/ --out s14/
    """

    inputs: opt.Inputs
    out: opt.Folder
    also: Also = opt.several()
    pool_depth: Annotated[
        list[int], typer.Option(help="A pool depth of Table 9; repeatable. Without: 10 to 100.", min=1)
    ] = opt.several()
    method: Annotated[str, typer.Option(help="How topics are counted: sakai or exact.")] = "sakai"
    missing: opt.Missing = ""
    names: opt.Names = "auto"
    depth: opt.Depth = None
    jobs: opt.Jobs = None
    cluster: opt.Cluster = None
    quiet: opt.Quiet = False


@dataclass(frozen=True, kw_only=True)
class V17Options(_Replicated):
    """Voorhees, Samarov & Soboroff 2017: Tables 1 to 6, Figures 2 to 7.

    Writes v17.html and v17.md into the folder, all rows as CSV and the charts as SVG. Of a table of scores it makes the
    rows of the classic tests. Stopped and called again with the same options, it takes up where it was.

    Example: shardwise replicate v17 qrels.txt runs/*.gz --related teams.csv --out v17/
    """

    measure: Annotated[
        list[str],
        typer.Option(
            "--measure",
            "-m",
            help="A measure; repeatable. Without: AP and P@10, or xinfAP for a pool sampled by strata.",
        ),
    ] = opt.several()
    related: Annotated[
        Path | None,
        typer.Option(
            help="CSV of related runs for Table 6: columns run and team.", exists=True, dir_okay=False
        ),
    ] = None
    shards: Annotated[list[int], typer.Option(help="Parts of Table 3; repeatable.", min=2)] = opt.several(
        2, 3, 5
    )
    splits: Annotated[int, typer.Option(help="Independent splits into two parts.", min=2)] = 11
    resamples: Annotated[int, typer.Option(help="Resamples of the randomization test.", min=1)] = 10_000
