"""Options of shardwise calibrate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from shardwise.cli import completing
from shardwise.cli import options as opt


@dataclass(frozen=True, kw_only=True)
class CalibrateOptions(opt.Written):
    """Measure how often methods err on tables like yours, and say which of them to use for which claim.

    Example: shardwise calibrate qrels.txt runs/*.gz --measure AP --shards 5 --model MD6
    """

    inputs: opt.Inputs
    measure: opt.Measure = opt.several()
    model: Annotated[
        str,
        typer.Option(
            help="Try this model, MD1 to MD6, with the usual corrections; without: a dozen methods.",
            autocompletion=completing.models,
        ),
    ] = ""
    method: Annotated[
        list[str],
        typer.Option(
            help="Try this method, such as 'MD6 hsd topic' or 't holm'; repeatable.",
            autocompletion=completing.methods,
        ),
    ] = opt.several()
    claim: Annotated[
        list[str],
        typer.Option(
            help="Claim to try: these, topic, shard or topic,shard; repeatable. Without: all of them."
        ),
    ] = opt.several()
    null: Annotated[
        list[str],
        typer.Option(
            help="World to try them in: normal, margins, vine, tilt, permute, flip (false alarms) or resample"
            " (coverage of intervals); repeatable. Without: those that suit the scores."
        ),
    ] = opt.several()
    repetitions: Annotated[
        int | None,
        typer.Option(
            help="Tables drawn in each world, exactly. Without: until the verdict is clear.", min=10
        ),
    ] = None
    budget: Annotated[
        int | None,
        typer.Option(help="Tables drawn in each world at most, without --repetitions; 2000 without.", min=10),
    ] = None
    halves: Annotated[
        int,
        typer.Option(help="Also halve the topics so often, and check each half against the other.", min=0),
    ] = 0
    alpha: opt.Alpha = 0.05
    fill: opt.Fill = "zero"
    shards: opt.Shards = 1
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
    chart: opt.Chart = None
