"""Options of shardwise compare."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from shardwise.cli import completing
from shardwise.cli import options as opt


@dataclass(frozen=True, kw_only=True)
class CompareOptions(opt.Written):
    """Compare all systems with each other, and say what the result is about.

    The claim is about topics like these unless --generalize says otherwise. Text shows the systems with intervals and
    groups; the other formats hold all pairs. A report holds everything for these topics and for topics like these, in
    one file; with several splits also how far they agree. With --baseline all systems are compared with that one, and
    with no other: ▲ is better, ▼ worse.

    Scores may come from any table (question,model,seed,correct), from samples_*.jsonl of lm-evaluation-harness and from
    .eval logs of inspect; the line "read as" says what was understood.

    Example: shardwise compare qrels.txt runs/*.gz --measure AP --measure nDCG@10 --shards 5

    Example: shardwise compare logs/*.eval

    Example: shardwise compare ratings.csv --random question --random judge
    """

    inputs: opt.Inputs
    measure: opt.Measure = opt.several()
    model: Annotated[
        str,
        typer.Option(
            help="MD1 to MD6, or a formula such as 'topic + system'.", autocompletion=completing.models
        ),
    ] = ""
    method: Annotated[
        str,
        typer.Option(
            help="A procedure such as 'moderated', 't holm' or 'MD6 hsd topic', or a correction of --model: hsd, bh, "
            "by, holm, bonferroni, scheffe, dunnett, none. Without: moderated.",
            autocompletion=completing.methods,
        ),
    ] = ""
    generalize: opt.Generalize = ""
    human: Annotated[
        Path | None,
        typer.Option(
            help="Table of scores by people for some items; the input then is a judge's for all, and is corrected.",
            callback=opt.file,
        ),
    ] = None
    random: Annotated[
        list[str],
        typer.Option(
            help="A random factor of a mixed model instead: question, judge, prompt, annotator … or question:judge; "
            "repeatable. Columns of the table, each a sample of its kind."
        ),
    ] = opt.several()
    fit: opt.Fit = "anova"
    resamples: opt.Resamples = None
    null: opt.Null = None
    tails: opt.Tails = None
    density: opt.Density = None
    trim: Annotated[
        str | None,
        typer.Option(
            help="Bootstrap: show V17's intervals of the effects, a share, percent or count of the estimates dropped."
        ),
    ] = None
    baseline: opt.Baselines = opt.several()
    only: Annotated[list[str], typer.Option(help="Compare these systems only; repeatable.")] = opt.several()
    pairs: Annotated[
        bool,
        typer.Option("--pairs", help="Write all pairs also where there are more than 200,000 (633 systems)."),
    ] = False
    repeats: opt.Repeats = None
    alpha: opt.Alpha = 0.05
    fill: opt.Fill = "zero"
    shards: opt.Shards = 1
    splits: opt.Splits = 1
    kind: opt.Kind = "even"
    by: opt.By = None
    texts: opt.Texts = None
    proportions: opt.Proportions = None
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
    report: opt.Report = None
    calibration: opt.Calibration = None
