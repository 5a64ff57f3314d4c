"""Random valid command lines, made of the options as they are declared, with their conditions."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import jsonschema

from fuzz.cases import Wrong
from fuzz.meaning.inputs import DEPTH, INPUTS, Given
from fuzz.meaning.terminal import Done, run_line, write_inputs
from shardwise.cli.options import Command, Format, Situation, idle_options, list_commands
from shardwise.cli.parsing import Options
from shardwise.cli.schema import RESULTS, make_schema
from shardwise.methods.names import list_procedures

WEIGHTS = {
    "compare": 10, "leaderboard": 6, "gate": 6, "paper": 2, "calibrate": 2, "stability": 3, "score": 4, "simulate": 1,
    "design power": 4, "design interval": 3, "design table": 2, "design pools": 1, "design budget": 2,
    "design repeats": 2, "design equivalence": 2, "design loop": 2, "design shards": 0.2,
    "replicate s14": 0.2, "replicate v17": 0.2, "replicate f19": 0.2,
}  # fmt: skip
"""Commands and how often they are tried."""
LEFT_OUT = {
    "demo": "runs for seconds and takes no input", "serve": "does not end", "repeat": "tried by changes",
    "replicate ff21": "takes minutes", "replicate j15": "takes minutes", "replicate open-questions": "takes minutes",
    "replicate all": "takes minutes", "replicate study": "takes minutes",
}  # fmt: skip
Values = Callable[[random.Random, Given], Sequence[str]]
BASE = "--baseline"


def _any(*values: str) -> Values:
    return lambda g, given: [g.choice(values)]


def _system(g: random.Random, given: Given) -> list[str]:
    return [g.choice(given.systems)]


def _some_systems(g: random.Random, given: Given) -> list[str]:
    return g.sample(given.systems, 2)


CHOICES: dict[str, Values] = {
    "measure": lambda g, given: g.sample(given.measures, 1),
    "columns": lambda g, given: [given.columns] if given.columns else [],
    "read": lambda g, given: [
        g.choice(
            ["log", "pair-by=item", "decimal=point", "names=file", *(f"task={name}" for name in given.tasks)]
        )
    ],
    "missing": _any("leave", "zero", "refuse"),
    "max-memory": _any("1GB", "500MB"),
    "fill": _any("zero", "mean", "leave", "drop", "one", "lq"),
    "like": _any("trec_eval-10", "ir_measures", "ranx,depth=5", "undefined", "complete", "judged,depth=20"),
    "depth": _any("5", "20"),
    "generalize": _any("topic", "these", "topic,instance"),
    "baseline": _system,
    "only": _some_systems,
    "new": _system,
    "repeats": _any("seeds", "samples"),
    "range": _any("0,1", "-1,2"),
    "exclude": _system,
    "joint": lambda g, given: [""],
    "lower-is-better": lambda g, given: [""],
    "higher-is-better": lambda g, given: [""],
    "margin": _any("0.01", "0.1", "0.5"),
    "contrast": lambda g, given: [f"x: {given.systems[0]} vs {given.systems[1]}"],
    "alpha": _any("0.05", "0.1", "0.01"),
    "method": lambda g, given: [g.choice(list_quick_methods())],
    "model": _any("MD1", "MD2", "topic + system"),
    "random": _any("topic", "question"),
    "resamples": _any("50", "200"),
    "seed": _any("0", "1", "7"),
    "shards": _any("2", "3"),
    "splits": _any("2", "3"),
    "kind": _any("even", "die", "attribute:^d[0-4]", "uneven:2,1"),
    "corpus": _any("100", "500"),
    "deterministic": _system,
    "format": lambda g, given: [g.choice([f.value for f in Format])],
    "out": lambda g, given: [given.out],
    "table": lambda g, given: [
        g.choice(
            [
                "systems",
                "pairs",
                "seeds",
                "summary",
                "agreement",
                f"items:{','.join(given.systems[:2])}",
                "items",
                "fragment",
                "narrow",
                "wide",
            ]
        )
    ],
    "report": _any("report.html"),
    "calibration": _any("0", "5"),
    "chart": _any("chart.json", "chart.html"),
    "quiet": lambda g, given: [""],
    "jobs": _any("1", "2"),
    "power": _any("0.8", "0.9"),
    "min-diff": _any("0.1", "0.3"),
    "systems": _any("2", "4"),
    "topics": _any("10", "40"),
    "width": _any("0.1", "0.4"),
    "variance": _any("0.05", "AP=0.05", "residual", "two-way", "one-way", "percentile95"),
    "pool": _any("5", "10"),
    "cost": _any("topic=3", "answer=0.5", "topic=3,answer=0.5"),
    "scenario": _any("normal", "flip", "permute", "halves:2"),
    "repetitions": _any("25"),
    "budget": _any("10"),
}
"""Values of options by key; an empty text is a flag."""
UNTRIED = {
    "instances": "of runs with repeats", "human": "takes another file", "sequential": "keeps a state",
    "by": "takes labels of items", "ledger": "keeps a state", "reveal": "of a ledger", "candidates": "of a ledger",
    "base-of": "of a ledger", "plan": "of a ledger",
    "also": "takes another collection", "inputs": "of repeat", "port": "of serve", "token": "of serve",
    "open": "of serve", "limit": "of serve",
}  # fmt: skip
"""Options that are not tried here, and why."""
DEMANDED = {
    "gate": lambda given: [BASE, given.systems[0], "--new", given.systems[1]],
    "paper": lambda given: ["--out", "paper"],
    "calibrate": lambda given: ["--repetitions", "25", "--method", "t holm"],
    **dict.fromkeys(("design pools", "design budget"), lambda given: ["--pool", "5", "--pool",
        "10"] if given.runs else []),
    "simulate": lambda given: ["--out", "made", "--topics", "3", "--systems", "2", "--depth", "10", "--corpus", "400"],
    "replicate s14": lambda given: ["--out", "s14"],
    "replicate v17": lambda given: ["--out", "v17", "--resamples", "50"],
    "replicate f19": lambda given: ["--out", "f19", "--shards", "2", "--shards", "3"],
}  # fmt: skip
"""What a command needs to be quick, or at all."""
OUTPUTS = {
    "text": "o.txt",
    "json": "o.json",
    "csv": "o.csv",
    "latex": "o.tex",
    "markdown": "o.md",
    "html": "o.html",
}
TELLING = {
    "alpha", "baseline", "only", "exclude", "contrast", "margin", "lower-is-better",
    "min-diff", "topics", "power", "width", "cost",
}  # fmt: skip
"""Options that change the JSON of a result, unless they repeat the default."""


@cache
def list_quick_methods() -> list[str]:
    """Return names of procedures, the quick ones."""
    return [name for name in list_procedures() if not name.startswith(("banova", "mixed"))]


@dataclass(frozen=True)
class Line:
    """A command line with its inputs, and whether an option in it has no effect, so that it must be refused."""

    words: tuple[str, ...]
    files: Mapping[str, bytes]
    idle: tuple[str, ...]
    removable: tuple[tuple[str, ...], ...]


def make_line(g: random.Random) -> Line:
    """Return a random command line."""
    command = g.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
    called = list_commands()[tuple(command.split())]
    kinds = [name for name, made in INPUTS.items() if made.suits(command)]
    given = INPUTS[g.choice(kinds)].make(g)
    given = given.with_out(OUTPUTS[g.choice(list(OUTPUTS))])
    declared = {row.key: row for row in called.rows.values() if not row.positional and row.key in CHOICES}
    base = DEMANDED.get(command, lambda given: [])(given)
    if len(given.measures) > 1 and not given.runs and g.random() < 0.8:
        base = [*base, "--measure", given.measures[0]]
    if not given.inputs and command not in ("simulate", "design loop"):
        base = [*base, "--variance", "0.05"]
    free = [key for key in declared if f"--{key}" not in base]
    chosen = {
        key: CHOICES[key](g, given) for key in g.sample(free, min(len(free), g.choice((0, 1, 2, 2, 3, 4))))
    }
    chosen = {
        key: values if declared[key].several else values[:1] for key, values in chosen.items() if values
    }
    if "out" in chosen and command.split()[0] in ("score",):
        chosen["out"] = ["o.csv"]
    _agree_on_format(chosen)
    idle = _list_idle(chosen, called, given)
    if idle and g.random() < 0.85:
        chosen = {key: values for key, values in chosen.items() if key not in idle}
        while more := _list_idle(chosen, called, given):
            chosen = {key: values for key, values in chosen.items() if key not in more}
        idle = []
    parts = [
        (f"--{key}", value) if value else (f"--{key}",) for key, values in chosen.items() for value in values
    ]
    g.shuffle(parts)
    words = (*command.split(), *given.inputs, *base, *(word for part in parts for word in part))
    removable = tuple(part for part in parts if part[0].removeprefix("--") in TELLING)
    return Line(words, given.files, tuple(idle), removable)


def _agree_on_format(chosen: dict[str, list[str]]) -> None:
    """Leave out the format where it conflicts with the ending of the file."""
    ending = {name: key for key, name in OUTPUTS.items()}
    if "out" in chosen and "format" in chosen and ending.get(chosen["out"][0]) != chosen["format"][0]:
        del chosen["format"]


def _list_idle(chosen: Mapping[str, Sequence[str]], command: Command, given: Given) -> list[str]:
    """Options whose declared conditions do not hold here, by the declarations alone."""
    values = {name: row.default for name, row in command.rows.items()}
    for row in command.rows.values():
        if row.key in chosen:
            values[row.name] = row.parse_texts(chosen[row.key])
    now = Situation(Options(command, values), runs=given.runs, dims=given.dims)
    idle = set(idle_options(command.rows, now))
    return [key for key in chosen if key.replace("-", "_") in idle]


@cache
def _validator(command: str) -> Any:
    return jsonschema.Draft202012Validator(make_schema(command))


def command_of(words: Sequence[str]) -> str:
    """Return the words of the command in a line."""
    return " ".join(words[:2]) if words[0] in ("design", "replicate") else words[0]


def read_json(done: Done) -> Any:
    """Return the JSON of a result, checked against its schema; None where there is none."""
    command = command_of(done.words)
    texts = [text.decode() for name, text in done.files.items() if name == "o.json"]
    if not texts and _says_json(done.words) and "--out" not in done.words:
        texts = [done.out]
    if not texts or command not in RESULTS or (command == "score" and "o.json" in done.files):
        return None
    value = json.loads(texts[0])
    errors = sorted(_validator(command).iter_errors(value), key=str)
    if errors:
        raise Wrong(f"{done.explain()} JSON {list(errors[0].absolute_path)}: {errors[0].message[:200]}")
    return value


def _says_json(words: Sequence[str]) -> bool:
    return any(a in ("--format", "-f") and b == "json" for a, b in pairwise(words))


def try_line(line: Line) -> str:
    """Run a command line; where it succeeds, check its JSON, and that no option in it was idle."""
    folder = write_inputs(dict(line.files))
    done = run_line(folder, *line.words)
    if line.idle and done.code != 2:
        raise Wrong(f"{line.idle} has no effect and is accepted: {done.explain()}")
    if done.code == 2:
        return "refused"
    read_json(done)
    if line.removable and sum(map(len, line.words)) % 6 == 0:
        _compare_without(line, done)
    return "right"


def _compare_without(line: Line, done: Done) -> None:
    """Leave out one option: the JSON must become another."""
    part = line.removable[0]
    words = list(line.words)
    k = next(k for k in range(len(words)) if tuple(words[k : k + len(part)]) == part)
    shorter = [*words[:k], *words[k + len(part) :]]
    plain = [[word for word in text if word != "--quiet"] for text in (words, shorter)]
    if "--out" in words or "--format" in words or _may_be_idle(part, words):
        return
    folder = write_inputs(dict(line.files))
    both = [run_line(folder, *text, "--format", "json") for text in plain]
    if any(one.code == 2 for one in both):
        return
    first, second = (read_json(one) for one in both)
    if first is not None and first == second and not _is_default(line, part):
        raise Wrong(f"{' '.join(part)} changes nothing: {both[0].explain()}")


def _may_be_idle(part: tuple[str, ...], words: Sequence[str]) -> bool:
    """Tell whether these inputs give an option nothing to do: a cut below all runs."""
    return part[0] == "--depth" and int(part[1]) >= DEPTH


def _is_default(line: Line, part: tuple[str, ...]) -> bool:
    rows = list_commands()[tuple(command_of(line.words).split())].rows
    row = rows[part[0].removeprefix("--").replace("-", "_")]
    return bool(row.parse_texts(part[1:]) == row.default)
