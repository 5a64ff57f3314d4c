"""The commands: the options and the help of each, and the function that does its work."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import typer

from shardwise.cli import options as opt
from shardwise.cli.groups import (
    Comparing,
    Conventional,
    Drawn,
    Folder,
    Printed,
    Rankings,
    Sharding,
    TableGroup,
    Threads,
    Written,
)
from shardwise.cli.options import make_list_field

OptionalInputs = Annotated[
    list[Path],
    typer.Argument(
        help="Scores to plan from: a table or logs, or a qrels file and runs.",
        metavar="INPUTS",
    ),
]


@dataclass(frozen=True, kw_only=True)
class DemoOptions(Folder, Printed, Threads):
    """Run the whole analysis on a small simulated collection; no data needed.

    Example: shardwise demo
    """

    out: Annotated[Path, opt.OUT, "Folder for the files; created if it does not exist."] = Path("demo")
    seed: Annotated[int, opt.SEED] = 7


@dataclass(frozen=True, kw_only=True)
class CompareOptions(Comparing, Drawn, Written):
    """Which systems are significantly different, and what the result applies to.

    Takes a qrels file and runs, or scores: any table of items and systems, and logs of evaluation tools. The line "read
    as" says what was understood. The result applies to new topics like these unless --generalize says otherwise.

    As text it shows the systems with intervals, possible ranks and groups; other formats hold all pairs, HTML is the
    report. Tables that do not fit into memory are streamed.

    Example: shardwise compare qrels.txt runs/*.gz -m AP -m nDCG@10

    Example: shardwise compare evals.csv --baseline gpt-old --margin 0.02

    Example: shardwise compare logs/*.eval --report report.html

    Example: shardwise compare evals.csv --items gpt-new,gpt-old --out items.csv
    """

    table: Annotated[
        str,
        opt.TABLE,
        "Table to show: systems (default as text) or pairs (default else); with repeats also seeds, spread (of p), "
        "shares (of variance) or settings.",
    ] = ""
    items: Annotated[str, opt.ITEMS] = ""
    contrast: Annotated[list[str], opt.CONTRAST] = make_list_field()
    trim: Annotated[str | None, opt.TRIM] = None
    report: Annotated[Path | None, opt.REPORT] = None
    calibration: Annotated[int | None, opt.CALIBRATION] = None
    save_moments: Annotated[Path | None, opt.SAVE_MOMENTS] = None


@dataclass(frozen=True, kw_only=True)
class LeaderboardOptions(Comparing, Written):
    """Rank the systems, with the range of ranks that each may have.

    Rank ranges hold for all systems at once. Several measures give several columns; the first one ranks. As HTML it is
    one page to sort, search and link to.

    Example: shardwise leaderboard qrels.txt runs/*.gz -m AP -m nDCG@10 --baseline bm25 --out board.html
    """

    ignored: ClassVar = ("design",)

    fragment: Annotated[bool, opt.FRAGMENT] = False


@dataclass(frozen=True, kw_only=True)
class PaperOptions(Comparing, Folder, Printed):
    """Write what a paper needs: table, figure, methods paragraph, references, and every number by name.

    table.tex has all measures of all systems, the best in bold, with superscripts for the systems that each is
    significantly better than.

    Example: shardwise paper qrels.txt runs/*.gz -m AP -m nDCG@10 --baseline bm25 --out paper/
    """

    ignored: ClassVar = ("random", "design")

    out: Annotated[Path, opt.OUT, "Folder for the files; created if it does not exist."] = Path("paper")
    table_columns: Annotated[int | None, opt.TABLE_COLUMNS] = None


@dataclass(frozen=True, kw_only=True)
class GateOptions(Comparing, Written):
    """May the new system replace the one in use? Exit code 0 if it passes, 3 if not.

    It passes if it is significantly better, or worse by less than the margin; it does not if it is worse, or if the
    scores do not tell. As Markdown it is a comment for a pull request.

    Example: shardwise gate base.csv new.csv --margin 0.01

    Example: shardwise gate evals.csv --baseline gpt-old --new gpt-new --margin 0.01
    """

    ignored: ClassVar = ("only", "side", "design", "verdict", "seed")

    inputs: Annotated[
        list[Path],
        typer.Argument(
            help="Scores of the system in use, then of the new one; or any input of compare with --baseline and --new.",
            metavar="INPUTS",
        ),
    ]
    new: Annotated[list[str], opt.NEW] = make_list_field()
    margin: Annotated[float | None, opt.MARGIN, "Largest loss that does not matter."] = 0.01
    no_rare_failures: Annotated[bool, opt.NO_RARE_FAILURES] = False
    sequential: Annotated[Path | None, opt.SEQUENTIAL] = None
    power: Annotated[float, opt.POWER, "Probability with which equal systems should pass."] = 0.8
    missing: Annotated[str, opt.MISSING] = "refuse"


@dataclass(frozen=True, kw_only=True)
class CalibrateOptions(TableGroup, Rankings, Sharding, Threads, Drawn, Written):
    """Measure the false-alarm rate and power of methods on simulated data like yours.

    Example: shardwise calibrate qrels.txt runs/*.gz --measure AP --shards 5 --model MD6
    """

    method: Annotated[list[str], opt.METHOD_, "Method to try, such as 'MD6 hsd topic' or 't holm'."] = (
        make_list_field()
    )
    model: Annotated[str, opt.MODEL, "Try this model with common corrections: MD1 to MD6."] = ""
    generalize: Annotated[
        list[str], opt.GENERALIZE, "Claim to try: these, topic, shard or topic,shard. Default: all."
    ] = make_list_field()
    scenario: Annotated[list[str], opt.SCENARIO] = make_list_field()
    repetitions: Annotated[int | None, opt.REPETITIONS] = None
    budget: Annotated[int | None, opt.BUDGET] = None
    halves: Annotated[int, opt.HALVES] = 0
    margin: Annotated[
        float | None,
        opt.MARGIN,
        "Margin of the statement 'no worse' to check. Default: a hundredth of the range.",
    ] = None
    alpha: Annotated[float, opt.ALPHA] = 0.05
    fill: Annotated[str, opt.FILL] = "zero"
    cluster: Annotated[str | None, opt.CLUSTER] = None


@dataclass(frozen=True, kw_only=True)
class StabilityOptions(Comparing, Written):
    """Would other shards lead to the same conclusions? Agreement of many splits (Faggioli & Ferro 2021).

    Example: shardwise stability qrels.txt runs/*.gz --measure AP --shards 5 --splits 11
    """

    ignored: ClassVar = ("margin", "side", "verdict", "design", "repeats", "human", "random")

    model: Annotated[str, opt.MODEL] = "MD6"
    shards: Annotated[int, opt.SHARDS_] = 5
    splits: Annotated[int, opt.SPLITS] = 11
    table: Annotated[
        str,
        opt.TABLE,
        "Table to show: agreement of two splits; summary (rank correlation, widths, counts); found (by one split, "
        "most, all); divided; models, methods or fills side by side.",
    ] = "agreement"


# design
PLAN = "How many topics, how deep a pool, at what cost: plan a test collection or benchmark."


@dataclass(frozen=True, kw_only=True)
class Sourced(TableGroup, Conventional, Threads, Drawn, Written):
    """Options that say where the variance comes from."""

    inputs: OptionalInputs = make_list_field()
    variance: Annotated[list[str], opt.VARIANCE] = make_list_field()
    variance_method: Annotated[str, opt.VARIANCE_METHOD] = ""
    also: Annotated[list[str], opt.ALSO] = make_list_field()


@dataclass(frozen=True, kw_only=True)
class PowerOptions(Sourced):
    """Topics needed to detect a difference, or with --topics the power that they have.

    From scores with repeats it says how many more topics or repeats are needed, as design repeats does.

    Example: shardwise design power --variance 0.053 --min-diff 0.1 --systems 10
    """

    min_diff: Annotated[list[float], opt.MIN_DIFF] = make_list_field(0.1)
    systems: Annotated[list[int], opt.SYSTEMS] = make_list_field(2)
    alpha: Annotated[list[float], opt.ALPHA] = make_list_field(0.05)
    power: Annotated[list[float], opt.POWER] = make_list_field(0.8)
    topics: Annotated[list[int], opt.TOPICS, "Show what this number of topics detects instead."] = (
        make_list_field()
    )
    test: Annotated[str, opt.TEST] = ""


@dataclass(frozen=True, kw_only=True)
class IntervalOptions(Sourced):
    """Topics needed for intervals of a given width, or with --topics the width that they give.

    Example: shardwise design interval --variance 0.053 --width 0.1
    """

    width: Annotated[list[float], opt.WIDTH] = make_list_field(0.1)
    alpha: Annotated[list[float], opt.ALPHA] = make_list_field(0.05)
    topics: Annotated[list[int], opt.TOPICS, "Show the width that this number of topics gives instead."] = (
        make_list_field()
    )


@dataclass(frozen=True, kw_only=True)
class DesignTableOptions(Sourced):
    """Topics needed over a whole grid, measures side by side (Sakai 2014, Tables 4 to 8).

    --chart draws topics against the number of systems, for the first min-diff, alpha and power, or against the width.

    Example: shardwise design table --variance AP=0.053 --variance nERR=0.1208 --test sakai
    """

    min_diff: Annotated[list[float], opt.MIN_DIFF] = make_list_field(0.02, 0.05, 0.10, 0.20, 0.25)
    systems: Annotated[list[int], opt.SYSTEMS] = make_list_field(10, 100)
    alpha: Annotated[list[float], opt.ALPHA] = make_list_field(0.01, 0.05)
    power: Annotated[list[float], opt.POWER] = make_list_field(0.9, 0.8)
    width: Annotated[list[float], opt.WIDTH, "Table for intervals of these widths instead."] = (
        make_list_field()
    )
    test: Annotated[str, opt.TEST] = ""

    @property
    def widths(self) -> list[float]:
        """Widths that replace the differences to detect."""
        return self.width


@dataclass(frozen=True, kw_only=True)
class Pooled(TableGroup, Rankings, Threads, Drawn, Written):
    """Options of studies of pools."""

    pool: Annotated[list[int], opt.POOL] = make_list_field(10, 30, 50, 70, 100)
    measure: Annotated[list[str], opt.MEASURE] = make_list_field("AP")
    alpha: Annotated[float, opt.ALPHA] = 0.05
    power: Annotated[float, opt.POWER] = 0.8
    test: Annotated[str, opt.TEST] = "moderated"
    variance_method: Annotated[str, opt.VARIANCE_METHOD] = ""
    also: Annotated[list[str], opt.ALSO] = make_list_field()


@dataclass(frozen=True, kw_only=True)
class PoolsOptions(Pooled):
    """What each pool depth costs: variance, topics and judgments, from runs that were judged deeper.

    Example: shardwise design pools qrels.txt runs/*.gz --pool 10 --pool 50 --pool 100 --chart cost.html
    """

    min_diff: Annotated[float, opt.MIN_DIFF] = 0.15
    systems: Annotated[int, opt.SYSTEMS] = 10
    width: Annotated[float, opt.WIDTH] = 0.15


@dataclass(frozen=True, kw_only=True)
class BudgetOptions(Pooled):
    """How to spend judgments: topics by pool depth, and the difference that each can detect.

    From scores with repeats: how to spend answers, items by repeats.

    Example: shardwise design budget qrels.txt runs/*.gz --judgments 10000 --pool 10 --pool 50 --pool 100

    Example: shardwise design budget samples.csv --judgments 10000
    """

    judgments: Annotated[float, opt.JUDGMENTS, "Judgments, or answers, that can be paid for."] = 10_000
    topic_cost: Annotated[float, opt.TOPIC_COST] = 0.0
    systems: Annotated[int, opt.SYSTEMS] = 2


@dataclass(frozen=True, kw_only=True)
class Repeated(TableGroup, Threads, Drawn, Written):
    """Options of plans for systems with repeated scores."""

    topics: Annotated[list[int], opt.TOPICS, "Numbers of topics to plan for."] = make_list_field(
        25, 50, 100, 200
    )
    alpha: Annotated[float, opt.ALPHA] = 0.05
    power: Annotated[float, opt.POWER] = 0.8


@dataclass(frozen=True, kw_only=True)
class PlanRepeatsOptions(TableGroup, Threads, Drawn, Written):
    """More questions or more samples? How many of either detect a difference, and what they cost.

    Plans for the default test of all pairs, from scores with repeats: samples of answers, or seeds of trainings.

    Example: shardwise design repeats scores.csv --min-diff 0.05 --answer-cost 0.02 --topic-cost 3
    """

    min_diff: Annotated[float, opt.MIN_DIFF, "Smallest difference worth detecting."] = 0.05
    systems: Annotated[int | None, opt.SYSTEMS, "Number of systems. Default: those of the scores."] = None
    repeats: Annotated[str | None, opt.REPEATS] = None
    alpha: Annotated[float, opt.ALPHA] = 0.05
    power: Annotated[float, opt.POWER] = 0.8
    topic_cost: Annotated[float, opt.TOPIC_COST, "Cost of a new item besides its answers."] = 0.0
    answer_cost: Annotated[float, opt.ANSWER_COST] = 1.0


@dataclass(frozen=True, kw_only=True)
class PlanEquivalenceOptions(Repeated):
    """Repeats and topics needed to show that two systems differ by less than a margin.

    Example: shardwise design equivalence scores.csv --margin 0.02
    """

    margin: Annotated[float, opt.MARGIN, "Largest difference that does not matter."] = 0.01
    difference: Annotated[float, opt.DIFFERENCE] = 0.0


# replicate
REPLICATION = (
    "The claims of published papers checked on your own data, with their tables and figures beside print."
)


@dataclass(frozen=True, kw_only=True)
class Replicated(TableGroup, Rankings, Folder, Threads):
    """Options of every replication."""

    PAPERS: ClassVar[tuple[str, ...]] = ()

    measure: Annotated[list[str], opt.MEASURE, "Measure; names the scores of a table without a name."] = (
        make_list_field()
    )
    cluster: Annotated[str | None, opt.CLUSTER] = None


@dataclass(frozen=True, kw_only=True)
class F19Options(Replicated):
    """Ferro & Sanderson 2019: verdicts on its claims, Tables 1 and 2, Figures 1, 3, 4 and 5.

    Writes f19.html and f19.md into the folder, all rows as CSV, tables as LaTeX and charts as SVG. From a table of
    scores it makes the row of MD1. Interrupted and started again with the same options, it continues.

    Example: shardwise replicate f19 qrels.txt runs/*.gz --out f19/
    """

    PAPERS: ClassVar[tuple[str, ...]] = ("f19",)

    seed: Annotated[int, opt.SEED] = 0
    shards: Annotated[list[int], opt.SHARDS_] = make_list_field(2, 3, 4, 5, 10, 25, 50)
    splits: Annotated[int, opt.SPLITS] = 10
    corpus: Annotated[str | None, opt.CORPUS] = None
    alpha: Annotated[float, opt.ALPHA] = 0.05
    fill: Annotated[str, opt.FILL] = "zero"


@dataclass(frozen=True, kw_only=True)
class FF21Options(Replicated):
    """Faggioli & Ferro 2021: verdicts on its claims, Tables 1 to 8.

    Writes ff21.html and ff21.md into the folder, all rows as CSV and tables as LaTeX. Needs runs. Interrupted and
    started again with the same options, it continues.

    Example: shardwise replicate ff21 qrels.txt runs/*.gz --out ff21/
    """

    PAPERS: ClassVar[tuple[str, ...]] = ("ff21",)

    seed: Annotated[int, opt.SEED] = 0
    shards: Annotated[list[int], opt.SHARDS_, "Numbers of shards of Tables 1 to 4."] = make_list_field(
        2, 3, 5
    )
    fill_shards: Annotated[list[int], opt.FILL_SHARDS] = make_list_field(5, 10, 25)
    splits: Annotated[int, opt.SPLITS] = 5
    corpus: Annotated[str | None, opt.CORPUS] = None
    resamples: Annotated[
        int | None, opt.RESAMPLES, "Bootstrap samples; they give the least and largest widths."
    ] = None
    alpha: Annotated[float, opt.ALPHA] = 0.05


@dataclass(frozen=True, kw_only=True)
class J15Options(Replicated):
    """Jayasinghe et al. 2015: verdicts on its claims, Figures 2 to 4 by simulation, 6 to 13 from your own repeats.

    Writes j15.html and j15.md into the folder, all rows as CSV and the charts as SVG. Takes a table with repeats, or
    runs with --instances. Without scores it makes the simulated figures only. Interrupted and started again with the
    same options, it continues.

    Example: shardwise replicate j15 scores.csv --baseline exhaustive --out j15/
    """

    PAPERS: ClassVar[tuple[str, ...]] = ("j15",)

    seed: Annotated[int, opt.SEED] = 0
    inputs: OptionalInputs = make_list_field()
    instances: Annotated[list[str], opt.INSTANCES] = make_list_field()
    deterministic: Annotated[list[str], opt.DETERMINISTIC] = make_list_field()
    baseline: Annotated[
        list[str], opt.BASELINE, "System to compare with. Default: the deterministic one, else the first."
    ] = make_list_field()
    margin: Annotated[float, opt.MARGIN, "Largest loss that does not matter."] = 0.01
    pools: Annotated[int, opt.POOLS] = 50
    repetitions: Annotated[int, opt.REPETITIONS, "Simulated comparisons of Figure 4."] = 500
    resamples: Annotated[int, opt.RESAMPLES, "Bootstrap samples of each repeat."] = 200


@dataclass(frozen=True, kw_only=True)
class S14Options(Replicated):
    """Sakai 2014: verdicts on its claims, Tables 3 to 9, Figures 1 to 4.

    Writes s14.html and s14.md into the folder, all rows as CSV, tables as LaTeX and charts as SVG. From a table of
    scores it makes Tables 3, 4 and 8 and Figures 1 to 3. Interrupted and started again with the same options, it
    continues.

    Example: shardwise replicate s14 qrels.txt runs/*.gz --also qrels2.txt,runs2/ --out s14/
    """

    PAPERS: ClassVar[tuple[str, ...]] = ("s14",)

    measure: Annotated[list[str], opt.MEASURE, "Name of the scores of a table without a name."] = (
        make_list_field()
    )
    also: Annotated[list[str], opt.ALSO] = make_list_field()
    pool: Annotated[list[int], opt.POOL, "Pool depth of Table 9. Default: 10 to 100."] = make_list_field()
    test: Annotated[str, opt.TEST, "How topics are counted: sakai or exact."] = "sakai"


@dataclass(frozen=True, kw_only=True)
class V17Options(Replicated):
    """Voorhees, Samarov & Soboroff 2017: verdicts on its claims, Tables 1 to 6, Figures 2 to 7.

    Writes v17.html and v17.md into the folder, all rows as CSV, tables as LaTeX and charts as SVG. From a table of
    scores it makes the rows of the classic tests. Interrupted and started again with the same options, it continues.

    Example: shardwise replicate v17 qrels.txt runs/*.gz --related teams.csv --out v17/
    """

    PAPERS: ClassVar[tuple[str, ...]] = ("v17",)

    seed: Annotated[int, opt.SEED] = 0
    related: Annotated[Path | None, opt.RELATED] = None
    shards: Annotated[list[int], opt.SHARDS_, "Numbers of parts of Table 3."] = make_list_field(2, 3, 5)
    splits: Annotated[int, opt.SPLITS, "Number of independent splits into two parts."] = 11
    corpus: Annotated[str | None, opt.CORPUS] = None
    resamples: Annotated[
        int | None,
        opt.RESAMPLES,
        "Samples of the randomization test and the bootstrap. Default: 10,000 and exact.",
    ] = None


@dataclass(frozen=True, kw_only=True)
class OpenQuestionsOptions(Replicated):
    """What the papers leave open, answered for several collections side by side.

    Writes open-questions.html and open-questions.md into the folder, all rows as CSV and tables as LaTeX. Needs runs.
    Interrupted and started again with the same options, it continues.

    Example: shardwise replicate open-questions qrels.txt runs/*.gz --also qrels2.txt,runs2/ --out open/
    """

    PAPERS: ClassVar[tuple[str, ...]] = ("open-questions",)

    also: Annotated[list[str], opt.ALSO, "Another collection to show beside the first."] = make_list_field()
    shards: Annotated[int, opt.SHARDS_, "Number of even shards."] = 5
    splits: Annotated[int, opt.SPLITS] = 3
    seed: Annotated[int, opt.SEED] = 0


@dataclass(frozen=True, kw_only=True)
class AllPapersOptions(Replicated):
    """All five papers on the same data, each in a folder of its own, and one page with all verdicts.

    Writes index.html. A paper that these data cannot serve is named with the reason. Interrupted and started again
    with the same options, it continues.

    Example: shardwise replicate all qrels.txt runs/*.gz --out papers/
    """

    PAPERS: ClassVar[tuple[str, ...]] = ("f19", "ff21", "v17", "s14", "j15")

    seed: Annotated[int, opt.SEED] = 0
    instances: Annotated[list[str], opt.INSTANCES] = make_list_field()
    deterministic: Annotated[list[str], opt.DETERMINISTIC] = make_list_field()
    baseline: Annotated[list[str], opt.BASELINE, "System to compare with in J15."] = make_list_field()
    related: Annotated[Path | None, opt.RELATED] = None
    corpus: Annotated[str | None, opt.CORPUS] = None


@dataclass(frozen=True, kw_only=True)
class ScoreOptions(Rankings, Sharding, Printed, Threads):
    """Score every system on every topic, on the whole collection or in every shard of every split.

    Prints the means, best system first; --out writes all scores. Runs that do not fit into memory together are read a
    few at a time.

    Example: shardwise score qrels.txt runs/*.gz --measure AP --shards 5 --splits 10 --out scores.parquet
    """

    inputs: Annotated[
        list[Path],
        typer.Argument(help="A qrels file and runs (files, folders, patterns).", metavar="INPUTS"),
    ]
    measure: Annotated[list[str], opt.MEASURE] = make_list_field("AP")
    missing: Annotated[str, opt.MISSING] = ""
    max_memory: Annotated[str, opt.MAX_MEMORY] = ""
    cluster: Annotated[str | None, opt.CLUSTER] = None
    out: Annotated[
        Path | None,
        opt.OUT,
        "Write all scores to this file (.csv, .tsv, .parquet, .nc) or Zarr store (.zarr).",
    ] = None

    def __post_init__(self) -> None:
        """Refuse a file or store that could not be written."""
        opt.refuse_unwritable_store(self.out)


@dataclass(frozen=True, kw_only=True)
class SimulateOptions(Folder, Printed):
    """Simulate a retrieval campaign with known system quality and write it as TREC files.

    Writes runs/ and qrels.txt into the folder, and prints the true quality of each system.

    Example: shardwise simulate --topics 50 --systems 129 --out demo/
    """

    topics: Annotated[int, opt.TOPICS] = 50
    systems: Annotated[int, opt.SYSTEMS] = 20
    depth: Annotated[int, opt.DEPTH, "Documents that a system retrieves for a topic."] = 1000
    corpus: Annotated[int, opt.CORPUS, "Documents in the corpus."] = 528_155
    relevant: Annotated[float, opt.RELEVANT] = 80.0
    seed: Annotated[int, opt.SEED] = 0


@dataclass(frozen=True, kw_only=True)
class ServeOptions:
    """The same in a browser: drop files, confirm how they are read, see the answer.

    A small server on this machine; data never leave it. It prints an address with a token, which is needed to get in.
    Analyses are kept in a folder. Needs: pip install starlette uvicorn python-multipart.

    Example: shardwise serve --open
    """

    port: Annotated[int, opt.PORT] = 8421
    host: Annotated[str, opt.HOST] = "127.0.0.1"
    token: Annotated[str, opt.TOKEN] = ""
    folder: Annotated[Path | None, opt.FOLDER] = None
    open: Annotated[bool, opt.OPEN] = False
    workers: Annotated[int | None, opt.WORKERS] = None
    limit: Annotated[int, opt.LIMIT] = 2048
    memory: Annotated[int | None, opt.MEMORY] = None


@dataclass(frozen=True, kw_only=True)
class RepeatOptions(Printed, Threads):
    """Repeat the analysis of a report from its inputs, and check that the numbers are the same.

    The inputs must be those of the report, byte for byte. Exit code 1 if numbers differ.

    Example: shardwise repeat report.html --inputs data/ --out again.html
    """

    report: Annotated[Path, typer.Argument(help="A report written by shardwise.", metavar="REPORT")]
    inputs: Annotated[Path | None, opt.INPUTS] = None
    out: Annotated[Path | None, opt.OUT, "Write the new report to this file."] = None

    def __post_init__(self) -> None:
        """Refuse a file that could not be written."""
        opt.refuse_unwritable_file(self.out)


COMMANDS: dict[str, tuple[type, str] | dict[str, tuple[type, str]]] = {
    "demo": (DemoOptions, "shardwise.cli.demo:run_demo"),
    "compare": (CompareOptions, "shardwise.cli.compare:compare_systems"),
    "leaderboard": (LeaderboardOptions, "shardwise.cli.leaderboard:rank_systems"),
    "paper": (PaperOptions, "shardwise.cli.paper:write_files"),
    "gate": (GateOptions, "shardwise.cli.gate:judge_systems"),
    "design": {
        "power": (PowerOptions, "shardwise.cli.design:plan_power"),
        "interval": (IntervalOptions, "shardwise.cli.design:plan_intervals"),
        "table": (DesignTableOptions, "shardwise.cli.design:plan_table"),
        "pools": (PoolsOptions, "shardwise.cli.design:plan_pools"),
        "budget": (BudgetOptions, "shardwise.cli.design:plan_budget"),
        "repeats": (PlanRepeatsOptions, "shardwise.cli.design:print_repeat_plan"),
        "equivalence": (PlanEquivalenceOptions, "shardwise.cli.design:plan_margin"),
    },
    "calibrate": (CalibrateOptions, "shardwise.cli.calibrate:calibrate_methods"),
    "stability": (StabilityOptions, "shardwise.cli.stability:compare_splits"),
    "replicate": {
        "f19": (F19Options, "shardwise.cli.replicate:replicate_one"),
        "ff21": (FF21Options, "shardwise.cli.replicate:replicate_one"),
        "j15": (J15Options, "shardwise.cli.replicate:replicate_one"),
        "s14": (S14Options, "shardwise.cli.replicate:replicate_one"),
        "v17": (V17Options, "shardwise.cli.replicate:replicate_one"),
        "open-questions": (OpenQuestionsOptions, "shardwise.cli.replicate:replicate_one"),
        "all": (AllPapersOptions, "shardwise.cli.replicate:replicate_all"),
    },
    "score": (ScoreOptions, "shardwise.cli.score:score_runs"),
    "simulate": (SimulateOptions, "shardwise.cli.simulate:simulate_campaign"),
    "serve": (ServeOptions, "shardwise.cli.serve:start_server"),
    "repeat": (RepeatOptions, "shardwise.cli.repeat:repeat_report"),
}
"""Every command by name: its options, and the function that takes them; or, for a group, its commands."""

PANELS = {
    "Compare": ("compare", "leaderboard", "paper", "gate"),
    "Plan and check": ("design", "calibrate", "stability", "replicate"),
    "Try, score, serve, repeat": ("demo", "score", "simulate", "serve", "repeat"),
}
"""Commands as the help groups them."""

GROUP_HELP = {"design": PLAN, "replicate": REPLICATION}
WITHOUT_CONFIG = frozenset({"repeat", "serve"})
"""Commands that do no analysis of their own."""


def list_leaf_options() -> dict[tuple[str, ...], type]:
    """Return the options of every command by its words, such as ``("design", "power")``."""
    leaf_options: dict[tuple[str, ...], type] = {}
    for name, command in COMMANDS.items():
        if isinstance(command, dict):
            leaf_options |= {(name, inner): options for inner, (options, _) in command.items()}
        else:
            leaf_options[(name,)] = command[0]
    return leaf_options
