"""Options of the commands of shardwise design."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from shardwise.cli import options as opt

HELP = "Design a test collection: how many topics, how deep a pool, at what cost."
MinDiff = Annotated[list[float], typer.Option("--min-diff", help="Difference to be found; repeatable.")]
Systems = Annotated[list[int], typer.Option(help="Number of systems to compare; repeatable.")]
Alpha = Annotated[list[float], typer.Option(help="Level of significance; repeatable.")]
Power = Annotated[list[float], typer.Option(help="Power wanted; repeatable.")]
Width = Annotated[list[float], typer.Option(help="Width of the interval of a difference; repeatable.")]
Topics = Annotated[
    list[int], typer.Option(help="Turn it round: what this number of topics reaches; repeatable.")
]
Method = Annotated[
    str,
    typer.Option(
        help="Planned test: moderated (a pair, all pairs corrected), paired-t or blocks (ANOVA with topics as blocks), "
        "which compare topic by topic; exact or sakai (one-way ANOVA), which do not. "
        "Default: moderated for scores, exact for a stated variance."
    ),
]
VarianceMethod = Annotated[
    str,
    typer.Option(
        help="How to estimate the variance: residual (topic difficulty taken out), two-way, one-way or percentile95. "
        "Without: as the planned test needs it."
    ),
]
Also = Annotated[
    list[str],
    typer.Option(
        "--also",
        help="A further collection, whose variance is pooled with the first: a table of scores, or QRELS,RUNS; "
        "repeatable.",
    ),
]


@dataclass(frozen=True, kw_only=True)
class Sourced(opt.Written):
    """Options that say where the variance comes from."""

    sources: Annotated[
        list[Path],
        typer.Argument(
            help="Scores to estimate the variance from: a table of scores, or a qrels file and runs.",
            metavar="[SCORES | QRELS RUNS...]",
        ),
    ] = opt.several()
    variance: Annotated[
        list[str],
        typer.Option(
            help="Variance of a system's score: a number, or NAME=number for a measure; repeatable."
        ),
    ] = opt.several()
    measure: Annotated[
        list[str], typer.Option("--measure", "-m", help="Measures of the runs or scores; repeatable.")
    ] = opt.several()
    variance_method: VarianceMethod = ""
    also: Also = opt.several()
    missing: opt.Missing = ""
    columns: opt.Columns = opt.several()
    system: opt.System = opt.several()
    jobs: opt.Jobs = None
    chart: opt.Chart = None


@dataclass(frozen=True, kw_only=True)
class PowerOptions(Sourced):
    """Topics needed to find a difference, or with --topics the power and the difference they reach.

    Example: shardwise design power --variance 0.053 --min-diff 0.1 --systems 10
    """

    min_diff: MinDiff = opt.several(0.1)
    systems: Systems = opt.several(2)
    alpha: Alpha = opt.several(0.05)
    power: Power = opt.several(0.8)
    topics: Topics = opt.several()
    method: Method = ""


@dataclass(frozen=True, kw_only=True)
class IntervalOptions(Sourced):
    """Topics needed for intervals of a given width, or with --topics the width they reach.

    Example: shardwise design interval --variance 0.053 --width 0.1
    """

    width: Width = opt.several(0.1)
    alpha: Alpha = opt.several(0.05)
    topics: Topics = opt.several()


@dataclass(frozen=True, kw_only=True)
class TableOptions(Sourced):
    """Topics needed over a whole grid, measures side by side (Sakai 2014, Tables 4 to 8).

    --chart draws topics against the number of systems (his Figure 2), for the first min-diff, alpha and power, or
    against the width.

    Example: shardwise design table --variance AP=0.053 --variance nERR=0.1208 --method sakai
    """

    min_diff: MinDiff = opt.several(0.02, 0.05, 0.10, 0.20, 0.25)
    systems: Systems = opt.several(10, 100)
    alpha: Alpha = opt.several(0.01, 0.05)
    power: Power = opt.several(0.9, 0.8)
    width: Annotated[
        list[float], typer.Option(help="A table for intervals of these widths instead; repeatable.")
    ] = opt.several()
    method: Method = ""


@dataclass(frozen=True, kw_only=True)
class Pooled(opt.Written):
    """Options of studies of pools."""

    inputs: opt.Inputs
    pool: Annotated[list[int], typer.Option(help="Pool depth to try; repeatable.")] = opt.several(
        10, 30, 50, 70, 100
    )
    measure: opt.Measures = opt.several("AP")
    alpha: Annotated[float, typer.Option(help="Level of significance.")] = 0.05
    power: Annotated[float, typer.Option(help="Power wanted.")] = 0.8
    method: Method = "moderated"
    variance_method: VarianceMethod = ""
    also: Also = opt.several()
    missing: opt.Missing = ""
    columns: opt.Columns = opt.several()
    system: opt.System = opt.several()
    names: opt.Names = "auto"
    jobs: opt.Jobs = None
    chart: opt.Chart = None


@dataclass(frozen=True, kw_only=True)
class PoolsOptions(Pooled):
    """What each pool depth costs: variance, topics and judgments, from runs that were judged deeper.

    Example: shardwise design pools qrels.txt runs/*.gz --pool 10 --pool 50 --pool 100 --chart cost.html
    """

    min_diff: Annotated[float, typer.Option(help="Difference to be found.")] = 0.15
    systems: Annotated[int, typer.Option(help="Number of systems to compare.")] = 10
    width: Annotated[float, typer.Option(help="Width of the interval of a difference.")] = 0.15


@dataclass(frozen=True, kw_only=True)
class BudgetOptions(Pooled):
    """How to spend judgments: topics by pool depth, and the difference that each can find.

    Example: shardwise design budget qrels.txt runs/*.gz --judgments 10000 --pool 10 --pool 50 --pool 100
    """

    judgments: Annotated[float, typer.Option(help="Judgments that can be paid for.", min=1)] = 10_000
    topic_cost: Annotated[
        float, typer.Option(help="What a topic costs beside its judgments, in judgments.", min=0)
    ] = 0.0
    systems: Annotated[int, typer.Option(help="Number of systems to compare.")] = 2


@dataclass(frozen=True, kw_only=True)
class Repeated(opt.Written):
    """Options of plans for systems that give another result each time."""

    sources: Annotated[
        list[Path],
        typer.Argument(help="Scores by topic, system and instance: a table or logs.", metavar="SCORES"),
    ]
    measure: opt.Measure = opt.several()
    topics: Annotated[list[int], typer.Option(help="Numbers of topics to plan for; repeatable.")] = (
        opt.several(25, 50, 100, 200)
    )
    alpha: opt.Alpha = 0.05
    power: Annotated[float, typer.Option(help="Power wanted.")] = 0.8
    missing: opt.Missing = ""
    columns: opt.Columns = opt.several()
    system: opt.System = opt.several()
    jobs: opt.Jobs = None
    chart: opt.Chart = None


@dataclass(frozen=True, kw_only=True)
class PlanInstancesOptions(Repeated):
    """Two more seeds or twenty more topics? What each buys, and the instances needed to find a difference.

    Example: shardwise design instances scores.csv --min-diff 0.05 --more-instances 2 --more-topics 20
    """

    min_diff: Annotated[float, typer.Option("--min-diff", help="Smallest difference worth finding.")] = 0.05
    more_instances: Annotated[
        int, typer.Option(help="Instances of each system that might be added.", min=1)
    ] = 2
    more_topics: Annotated[int, typer.Option(help="Topics that might be added.", min=1)] = 20


@dataclass(frozen=True, kw_only=True)
class PlanEquivalenceOptions(Repeated):
    """Instances and topics needed to show that two systems differ by less than a margin.

    Example: shardwise design equivalence scores.csv --margin 0.02
    """

    margin: Annotated[float, typer.Option(help="Differences smaller than this do not matter.")] = 0.01
    difference: Annotated[float, typer.Option(help="True difference to allow for, within the margin.")] = 0.0
