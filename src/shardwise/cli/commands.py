"""The commands: the options and the help of each, and the function that does its work."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shardwise.cli import conditions as when
from shardwise.cli.options import (
    PLAN,
    SIMULATION,
    TABLE,
    Format,
    GateMargin,
    Param,
    refuse_absent_file,
    refuse_file,
    refuse_unwritable_store,
)

if TYPE_CHECKING:
    from shardwise.cli.output import Result


@dataclass(frozen=True, slots=True)
class Command:
    """A command: its words, its help, the function that does its work, and its options by name."""

    words: tuple[str, ...]
    help: str
    function: str
    rows: dict[str, Param]
    changed: frozenset[str]

    @property
    def title(self) -> str:
        """What is typed to call it, without the program."""
        return " ".join(self.words)

    @property
    def argument(self) -> Param | None:
        """The row of its argument, if it has one."""
        return next((row for row in self.rows.values() if row.positional), None)

    @property
    def every(self) -> dict[str, Param]:
        """Its options by name, and the words of those that take words."""
        return self.rows | {word.name: word for row in self.rows.values() for word in row.words}

    def load_function(self) -> Callable[[Any], Result | Sequence[Result]]:
        """Return the function that makes its results; its module is loaded now, so that help comes at once."""
        module, name = self.function.split(":")
        function: Callable[[Any], Result | Sequence[Result]]
        function = getattr(importlib.import_module(f"shardwise.cli.{module}"), name)
        return function


TABLES = "inputs measure read missing quiet max_memory columns"
FILES = "inputs measure read missing quiet like jobs"
READING = f"{TABLES} like jobs"
SHARDING = "shards splits kind corpus"
COMPARING = f"{READING} fill exclude generalize baseline alpha method model resamples {SHARDING}"
"""Options of every command that compares systems: the same input, question and method in all of them."""
DIRECTION = "range lower_is_better higher_is_better"
ASKING = f"{COMPARING} {DIRECTION} by instances deterministic repeats margin human"
WRITTEN = "format out quiet"
SOURCED = f"{READING} {WRITTEN} chart variance also"
POOLED = f"{FILES} {WRITTEN} chart pool alpha power method variance also systems"

Change = dict[str, Any]
"""What is other than usual in a command's use of an option."""
PRINTED: dict[str, Any] = {
    "format": {
        "default": Format.text,
        "help": "Format of what is printed: text, json, csv, latex, markdown or html.",
    }
}
THREADS: Change = {
    "kind": int,
    "metavar": "N",
    "least": 1,
    "help": "Number of threads. Default: all processors.",
}
FOLDER: Change = {
    "help": "Folder for the files; created if it does not exist.",
    "required": True,
    "check": refuse_file,
}
PLANNED: Change = {
    "help": "Scores to plan from: a table or logs, or a qrels file and runs.",
    "required": False,
}
TEST: Change = {
    "help": "Planned test: moderated (all pairs corrected), paired-t, blocks (topics as blocks), exact or sakai "
    "(one-way ANOVA). Default: moderated for scores, exact for a stated variance.",
    "group": PLAN,
    "common": False,
    "only_with": (when.WITHOUT_WIDTH,),
    "complete": "",
}
ESTIMATE: Change = {
    "help": "Variance estimate: residual, two-way, one-way or percentile95. Default: as the test needs it.",
    "metavar": "NAME",
    "common": False,
}
POOLS: dict[str, Any] = {
    "measure": {"default": ["AP"]},
    "method": TEST | {"default": "moderated"},
    "variance": ESTIMATE,
    "jobs": THREADS,
}
RELATED: Change = {
    "help": "Related runs for Table 6: a CSV file with the columns run and team.",
    "default": None,
    "kind": Path,
    "metavar": "FILE",
    "only_with": (when.RUNS,),
    "check": refuse_absent_file,
}
REPLICATION: dict[str, Any] = {
    "out": FOLDER,
    "measure": {"help": "Measure; names the scores of a table without a name."},
}


def _define(words: str, function: str, options: str, help: str, **changes: Any) -> Command:
    """Return a command with these options, some of them changed."""
    rows = {name: replace(TABLE[name], **changes.get(name, {})) for name in TABLE if name in options.split()}
    return Command(tuple(words.split()), help, function, rows, frozenset(changes))


# fmt: off
_COMMANDS = (
    _define(
        "demo", "simulate:run_demo",
        "format out quiet jobs seed",
        """Run the whole analysis on a small simulated collection; no data needed.

Example: shardwise demo""",
        **PRINTED, out=FOLDER | {"default": Path("demo")}, seed={"default": 7}, jobs=THREADS,
    ),
    _define(
        "compare", "compare:compare_systems",
        f"{ASKING} {WRITTEN} only random seed chart table contrast report calibration",
        """Which systems are significantly different, and what the result applies to.

Takes a qrels file and runs, or scores: any table of items and systems, and logs of evaluation tools. The line "read
as" says what was understood. The result applies to new topics like these unless --generalize says otherwise.

As text it shows the systems with intervals, possible ranks and groups; other formats hold all pairs, HTML is the
report. Tables that do not fit into memory are streamed.

Example: shardwise compare qrels.txt runs/*.gz -m AP -m nDCG@10

Example: shardwise compare evals.csv --baseline gpt-old --margin 0.02

Example: shardwise compare logs/*.eval --report report.html

Example: shardwise compare evals.csv --table items:gpt-new,gpt-old --out items.csv""",
        table={
            "help": "Table to show: systems (default as text) or pairs (default else); items:A,B behind the "
            "difference of two systems, or items of all; with repeats also seeds, spread (of p), shares (of variance) "
            "or settings."
        },
        out={
            "help": "Write the result to this file: .txt, .json, .csv, .tex, .md or .html; with .moments, keep counts, "
            "means and cross-products of the scores there, to be added to later input."
        },
    ),
    _define(
        "leaderboard", "leaderboard:rank_systems",
        f"{ASKING} {WRITTEN} only random seed table",
        """Rank the systems, with the range of ranks that each may have.

Rank ranges hold for all systems at once. Several measures give several columns; the first one ranks. As HTML it is
one page to sort, search and link to.

Example: shardwise leaderboard qrels.txt runs/*.gz -m AP -m nDCG@10 --baseline bm25 --out board.html""",
        table={
            "help": "As HTML: fragment for an element of a page of yours, not a whole page.", "metavar": "fragment",
            "only_with": (when.PAGE,),
        },
    ),
    _define(
        "paper", "leaderboard:write_files",
        f"{ASKING} only seed format out table",
        """Write what a paper needs: table, figure, methods paragraph, references, and every number by name.

table.tex has all measures of all systems, the best in bold, with superscripts for the systems that each is
significantly better than.

Example: shardwise paper qrels.txt runs/*.gz -m AP -m nDCG@10 --baseline bm25 --out paper/""",
        **PRINTED, out=FOLDER | {"default": Path("paper")},
        table={"help": "Width of table.tex: narrow (one column) or wide (table*). Default: as it fits."},
    ),
    _define(
        "gate", "gate:judge_gate",
        f"{ASKING} {WRITTEN} random new sequential ledger reveal candidates base_of plan power",
        """May the new system replace the one in use? Exit code 0 if it passes, 3 if not.

It passes if it is significantly better, or worse by less than the margin; it does not if it is worse, or if the
scores do not tell. Of several measures all must pass; with --by no category may be significantly worse. As Markdown
it is a comment for a pull request.

Example: shardwise gate base.csv new.csv --margin 0.01

Example: shardwise gate evals.csv --baseline gpt-old --new gpt-new --margin 0.01

Example: shardwise gate base.csv new.csv --margin 0 --ledger gate.jsonl""",
        inputs={
            "help": "Scores of the system in use, then of the new one; or any input of compare with --baseline and "
            "--new.",
            "required": False,
        },
        new={}, margin={
            "default": GateMargin("0.01"), "kind": GateMargin, "metavar": "[NAME=]X[:WORD]",
            "help": "Largest loss that does not matter; with 0.01:no-rare-failures no failures rarer or larger than "
            "those seen are assumed, for more power on scores that vary little.",
        },
        missing={"default": "refuse"},
        power={"help": "Probability with which equal systems should pass."},
    ),
    _define(
        "design power", "design:plan_power",
        f"{SOURCED} min_diff systems alpha power topics method",
        """Topics needed to detect a difference, or with --topics the power that they have.

From scores with repeats it says how many more topics or repeats are needed, as design repeats does.

Example: shardwise design power --variance 0.053 --min-diff 0.1 --systems 10""",
        inputs=PLANNED, jobs=THREADS, method=TEST, variance={}, alpha={"default": [0.05]}, power={"default": [0.8]},
        topics={"help": "Show what this number of topics detects instead."},
    ),
    _define(
        "design interval", "design:plan_intervals",
        f"{SOURCED} width alpha topics",
        """Topics needed for intervals of a given width, or with --topics the width that they give.

Example: shardwise design interval --variance 0.053 --width 0.1""",
        inputs=PLANNED, jobs=THREADS, variance={}, alpha={"default": [0.05]},
        topics={"help": "Show the width that this number of topics gives instead."},
    ),
    _define(
        "design table", "design:plan_table",
        f"{SOURCED} min_diff systems alpha power width method",
        """Topics needed over a whole grid, measures side by side (Sakai 2014, Tables 4 to 8).

--chart draws topics against the number of systems, for the first min-diff, alpha and power, or against the width.

Example: shardwise design table --variance AP=0.053 --variance nERR=0.1208 --method sakai""",
        inputs=PLANNED, jobs=THREADS, method=TEST, variance={},
        min_diff={"default": [0.02, 0.05, 0.1, 0.2, 0.25]}, systems={"default": [10, 100]},
        alpha={"default": [0.01, 0.05]}, power={"default": [0.9, 0.8]},
        width={"default": [], "help": "Table for intervals of these widths instead."},
    ),
    _define(
        "design pools", "design:plan_pools",
        f"{POOLED} min_diff width",
        """What each pool depth costs: variance, topics and judgments, from runs that were judged deeper.

Example: shardwise design pools qrels.txt runs/*.gz --pool 10 --pool 50 --pool 100 --chart cost.html""",
        **POOLS, min_diff={"default": 0.15}, systems={"default": 10}, width={"default": 0.15},
    ),
    _define(
        "design budget", "design:plan_budget",
        f"{POOLED} columns max_memory budget cost",
        """How to spend judgments: topics by pool depth, and the difference that each can detect.

From scores with repeats: how to spend answers, items by repeats.

Example: shardwise design budget qrels.txt runs/*.gz --budget 10000 --pool 10 --pool 50 --pool 100

Example: shardwise design budget samples.csv --budget 10000""",
        **POOLS, budget={
            "default": 10_000, "kind": float, "group": PLAN, "common": True, "least": 1, "most": None,
            "help": "Judgments, or answers, that can be paid for.",
        }, systems={"default": 2},
    ),
    _define(
        "design repeats", "design:print_repeat_plan",
        f"{TABLES} {WRITTEN} chart min_diff systems repeats alpha power cost",
        """More questions or more samples? How many of either detect a difference, and what they cost.

Plans for the default test of all pairs, from scores with repeats: samples of answers, or seeds of trainings.

Example: shardwise design repeats scores.csv --min-diff 0.05 --cost topic=3,answer=0.02""",
        min_diff={"default": 0.05, "help": "Smallest difference worth detecting."},
        systems={"default": None, "help": "Number of systems. Default: those of the scores."},
        repeats={},
    ),
    _define(
        "design loop", "design:plan_candidates",
        f"{WRITTEN} topics min_diff alpha power",
        """Candidates that a hold-out carries in a loop, one after another, before it no longer detects a gain.

For gate --ledger with a margin of 0 and right or wrong answers that differ on 20% of the items. Counted are all
candidates by then, of which some were accepted; if_declared: their number is declared by --candidates.

Example: shardwise design loop --topics 1000 --min-diff 0.05""",
        topics={"default": [200, 1000, 5000], "help": "Number of items of the hold-out."},
        min_diff={"default": [0.05, 0.1], "help": "True gain to detect.", "only_with": ()},
        power={"only_with": ()},
    ),
    _define(
        "design equivalence", "design:plan_margin",
        f"{TABLES} {WRITTEN} chart topics alpha power margin",
        """Repeats and topics needed to show that two systems differ by less than a margin.

Example: shardwise design equivalence scores.csv --margin 0.02""",
        topics={"default": [25, 50, 100, 200], "help": "Numbers of topics to plan for."},
        margin={
            "metavar": "X,difference=X", "help": "Largest difference that does not matter. Default: 0.01.",
            "words": (
                Param("margin", PLAN, default=0.01, kind=float, metavar="X", least=0.0, word="="),
                Param("difference", PLAN, default=0.0, kind=float, metavar="X",
                    help="true difference to allow for, within the margin"),
            ),
        },
    ),
    _define(
        "calibrate", "checking:calibrate_methods",
        f"{READING} {DIRECTION} {SHARDING} {WRITTEN} seed chart method model generalize scenario repetitions budget "
        "margin alpha fill",
        """Measure the false-alarm rate and power of methods on simulated data like yours.

Example: shardwise calibrate qrels.txt runs/*.gz --measure AP --shards 5 --model MD6""",
        method={"default": [], "help": "Method to try, such as 'MD6 hsd topic' or 't holm'."},
        model={"help": "Try this model with common corrections: MD1 to MD6."},
        generalize={"default": [], "help": "Claim to try: these, topic, shard or topic,shard. Default: all."},
        margin={
            "kind": float, "metavar": "X",
            "help": "Margin of the statement 'no worse' to check. Default: a hundredth of the range.",
        },
    ),
    _define(
        "stability", "checking:compare_splits",
        f"{COMPARING} {WRITTEN} only seed table",
        """Would other shards lead to the same conclusions? Agreement of many splits (Faggioli & Ferro 2021).

Example: shardwise stability qrels.txt runs/*.gz --measure AP --shards 5 --splits 11""",
        model={"default": "MD6"}, shards={"default": 5}, splits={"default": 11},
        table={
            "default": "agreement",
            "help": "Table to show: agreement of two splits; summary (rank correlation, widths, counts); found (by one "
            "split, most, all); divided; models, methods or fills side by side.",
        },
    ),
    _define(
        "replicate f19", "replicate:replicate_one",
        f"{READING} out seed shards splits corpus alpha fill",
        """Ferro & Sanderson 2019: verdicts on its claims, Tables 1 and 2, Figures 1, 3, 4 and 5.

Writes f19.html and f19.md into the folder, all rows as CSV, tables as LaTeX and charts as SVG. From a table of
scores it makes the row of MD1. Interrupted and started again with the same options, it continues.

Example: shardwise replicate f19 qrels.txt runs/*.gz --out f19/""",
        **REPLICATION, shards={"default": [2, 3, 4, 5, 10, 25, 50]}, splits={"default": 10},
    ),
    _define(
        "replicate ff21", "replicate:replicate_one",
        f"{FILES} out seed shards fill splits corpus resamples alpha",
        """Faggioli & Ferro 2021: verdicts on its claims, Tables 1 to 8.

Writes ff21.html and ff21.md into the folder, all rows as CSV and tables as LaTeX. Needs runs. Interrupted and
started again with the same options, it continues.

Example: shardwise replicate ff21 qrels.txt runs/*.gz --out ff21/""",
        **REPLICATION, splits={"default": 5},
        shards={"default": [2, 3, 5], "help": "Numbers of shards of Tables 1 to 4."},
        fill={
            "default": [5, 10, 25], "kind": int, "metavar": "N", "least": 2, "only_with": (),
            "help": "Numbers of shards of Tables 7 and 8, which compare fills.",
        },
        resamples={"help": "Bootstrap samples; they give the least and largest widths."},
    ),
    _define(
        "replicate j15", "replicate:replicate_one",
        f"{READING} out seed instances deterministic baseline margin pool repetitions resamples",
        """Jayasinghe et al. 2015: verdicts on its claims, Figures 2 to 4 by simulation, 6 to 13 from your own repeats.

Writes j15.html and j15.md into the folder, all rows as CSV and the charts as SVG. Takes a table with repeats, or
runs with --instances. Without scores it makes the simulated figures only. Interrupted and started again with the
same options, it continues.

Example: shardwise replicate j15 scores.csv --baseline exhaustive --out j15/""",
        **REPLICATION, inputs=PLANNED,
        baseline={"help": "System to compare with. Default: the deterministic one, else the first."},
        margin={"default": 0.01, "kind": float, "metavar": "X", "help": "Largest loss that does not matter."},
        pool={
            "default": 50, "metavar": "N", "least": 2, "only_with": (), "common": False,
            "help": "Pools of repeats of each system and size.",
        },
        repetitions={"default": 500, "help": "Simulated comparisons of Figure 4."},
        resamples={"default": 200, "help": "Bootstrap samples of each repeat."},
    ),
    _define(
        "replicate s14", "replicate:replicate_one",
        f"{READING} out also pool method",
        """Sakai 2014: verdicts on its claims, Tables 3 to 9, Figures 1 to 4.

Writes s14.html and s14.md into the folder, all rows as CSV, tables as LaTeX and charts as SVG. From a table of
scores it makes Tables 3, 4 and 8 and Figures 1 to 3. Interrupted and started again with the same options, it
continues.

Example: shardwise replicate s14 qrels.txt runs/*.gz --also qrels2.txt,runs2/ --out s14/""",
        **REPLICATION | {"measure": {"help": "Name of the scores of a table without a name."}},
        pool={"default": [], "help": "Pool depth of Table 9. Default: 10 to 100."},
        method=TEST | {"default": "sakai", "help": "How topics are counted: sakai or exact."},
    ),
    _define(
        "replicate v17", "replicate:replicate_one",
        f"{READING} out seed also shards splits corpus resamples",
        """Voorhees, Samarov & Soboroff 2017: verdicts on its claims, Tables 1 to 6, Figures 2 to 7.

Writes v17.html and v17.md into the folder, all rows as CSV, tables as LaTeX and charts as SVG. From a table of
scores it makes the rows of the classic tests. Interrupted and started again with the same options, it continues.

Example: shardwise replicate v17 qrels.txt runs/*.gz --also teams.csv --out v17/""",
        **REPLICATION, also=RELATED, shards={"default": [2, 3, 5], "help": "Numbers of parts of Table 3."},
        splits={"default": 11, "help": "Number of independent splits into two parts."},
        resamples={"help": "Samples of the randomization test and the bootstrap. Default: 10,000 and exact."},
    ),
    _define(
        "replicate open-questions", "replicate:replicate_one",
        f"{FILES} out also shards splits seed",
        """What the papers leave open, answered for several collections side by side.

Writes open-questions.html and open-questions.md into the folder, all rows as CSV and tables as LaTeX. Needs runs.
Interrupted and started again with the same options, it continues.

Example: shardwise replicate open-questions qrels.txt runs/*.gz --also qrels2.txt,runs2/ --out open/""",
        **REPLICATION, also={"help": "Another collection to show beside the first."},
        shards={"default": 5, "help": "Number of even shards."}, splits={"default": 3},
    ),
    _define(
        "replicate all", "replicate:replicate_all",
        f"{READING} out seed instances deterministic baseline also corpus",
        """All five papers on the same data, each in a folder of its own, and one page with all verdicts.

Writes index.html. A paper that these data cannot serve is named with the reason. Interrupted and started again with
the same options, it continues.

Example: shardwise replicate all qrels.txt runs/*.gz --out papers/""",
        **REPLICATION, also=RELATED, baseline={"help": "System to compare with in J15."},
    ),
    _define(
        "score", "score:score_runs",
        f"{FILES} max_memory {SHARDING} {WRITTEN} seed",
        """Score every system on every topic, on the whole collection or in every shard of every split.

Prints the means, best system first; --out writes all scores. Runs that do not fit into memory together are read a
few at a time.

Example: shardwise score qrels.txt runs/*.gz --measure AP --shards 5 --splits 10 --out scores.parquet""",
        **PRINTED, inputs={"help": "A qrels file and runs (files, folders, patterns)."}, measure={"default": ["AP"]},
        out={
            "help": "Write all scores to this file (.csv, .tsv, .parquet, .nc) or Zarr store (.zarr).",
            "check": refuse_unwritable_store,
        },
    ),
    _define(
        "simulate", "simulate:simulate_campaign",
        "format out quiet topics systems depth corpus seed",
        """Simulate a retrieval campaign with known system quality and write it as TREC files.

Writes runs/ and qrels.txt into the folder, and prints the true quality of each system.

Example: shardwise simulate --topics 50 --systems 129 --out demo/""",
        **PRINTED, out=FOLDER, topics={"default": 50}, systems={"default": 20},
        corpus={
            "metavar": "N,relevant=X", "help": "Documents in the corpus. Default: 528155.", "words": (
                Param("corpus", SIMULATION, default=528_155, kind=int, metavar="N", word="="),
                Param("relevant", SIMULATION, default=80.0, kind=float, metavar="X", least=1,
                    help="mean number of relevant documents of a topic, 80 by default"),
            ),
        },
    ),
    _define(
        "serve", "main:start_server",
        "port host token out open jobs limit max_memory",
        """The same in a browser: drop files, confirm how they are read, see the answer.

A small server on this machine; data never leave it. It prints an address with a token, which is needed to get in.
Analyses are kept in a folder. Needs: pip install starlette uvicorn python-multipart.

Example: shardwise serve --open""",
        out={
            "help": "Folder where analyses are kept. Default: ~/.local/share/shardwise.", "metavar": "FOLDER",
            "check": refuse_file,
        },
        jobs=THREADS | {"help": "Analyses at a time. Default: one per processor."},
        max_memory={
            "help": "Memory that data may take in a worker, such as 2GB. Default: its share of three quarters.",
        },
    ),
    _define(
        "repeat", "repeat:repeat_report",
        "report inputs format out quiet jobs",
        """Repeat the analysis of a report from its inputs, and check that the numbers are the same.

The inputs must be those of the report, byte for byte. Exit code 1 if numbers differ.

Example: shardwise repeat report.html --inputs data/ --out again.html""",
        **PRINTED,
        report={"positional": True, "required": True, "metavar": "REPORT", "check": None, "written": False,
                "help": "A report written by shardwise."},
        inputs={"positional": False, "required": False, "default": None, "metavar": "FOLDER", "common": True,
                "help": "Folder in which the inputs are."},
        out={"help": "Write the new report to this file."}, jobs=THREADS,
    ),
)
# fmt: on
COMMANDS: dict[str, Command | dict[str, Command]] = {}
"""Every command by name; or, for a group, its commands."""
for _command in _COMMANDS:
    if len(_command.words) == 1:
        COMMANDS[_command.words[0]] = _command
    else:
        _group = COMMANDS.setdefault(_command.words[0], {})
        assert isinstance(_group, dict)
        _group[_command.words[1]] = _command

PANELS = {
    "Compare": ("compare", "leaderboard", "paper", "gate"),
    "Plan and check": ("design", "calibrate", "stability", "replicate"),
    "Try, score, serve, repeat": ("demo", "score", "simulate", "serve", "repeat"),
}
"""Commands as the help groups them."""
GROUP_HELP = {
    "design": "How many topics, how deep a pool, at what cost: plan a test collection or benchmark.",
    "replicate": "The claims of published papers checked on your own data, with their tables and figures beside print.",
}
WITHOUT_CONFIG = frozenset({"repeat", "serve"})
"""Commands that do no analysis of their own."""


def list_commands() -> dict[tuple[str, ...], Command]:
    """Return every command by its words, such as ``("design", "power")``."""
    return {command.words: command for command in _COMMANDS}
