"""Small inputs of every kind that commands take: tables, repeats, tasks, several measures, votes, runs."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

SYSTEMS = ["bm25", "dense", "hybrid", "splade"]


@dataclass(frozen=True)
class Given:
    """Files, which of them are named, and what is in them."""

    files: dict[str, bytes]
    inputs: tuple[str, ...]
    systems: list[str]
    measures: list[str]
    dims: frozenset[str]
    runs: bool | None = False
    tasks: tuple[str, ...] = ()
    columns: str = ""
    out: str = "o.txt"

    def with_out(self, out: str) -> Given:
        """Return the same with the name of a file to be written."""
        return replace(self, out=out)


@dataclass(frozen=True)
class Kind:
    """How an input is made, and which commands take it."""

    make: Callable[[random.Random], Given]
    commands: tuple[str, ...]

    def suits(self, command: str) -> bool:
        """Tell whether a command takes this input."""
        return any(command.startswith(name) for name in self.commands)


DEPTH = 20
"""Documents of each topic in a run."""


def draw_scores(g: random.Random, items: int, systems: int, repeats: int = 1, kind: str = "share") -> Any:
    """Return (item, system, repeat) scores with effects of items and systems."""
    rng = np.random.default_rng(g.randrange(2**63))
    level = rng.normal(size=(items, 1, 1)) + 0.5 * np.arange(systems)[None, :, None] * rng.choice((0.2, 1.0))
    y = 1 / (1 + np.exp(-(level + rng.normal(size=(items, systems, repeats)))))
    return (y > 0.5).astype(float) if kind == "binary" else np.round(y, 4)


def write_csv(header: list[str], rows: list[list[Any]]) -> bytes:
    """Return a table as CSV; a score that is missing is an empty cell."""
    lines = [",".join("" if cell != cell else str(cell) for cell in row) for row in [header, *rows]]
    return ("\n".join(lines) + "\n").encode()


def _make_wide(g: random.Random, *, gaps: bool = False) -> Given:
    systems = SYSTEMS[: g.randint(2, 4)]
    y = draw_scores(g, g.randint(6, 20), len(systems), kind=g.choice(("share", "share", "binary")))[:, :, 0]
    if gaps:
        y[g.randrange(len(y)), 0] = np.nan
    rows = [[f"q{k + 1}", *map(float, row)] for k, row in enumerate(y)]
    files = {"t.csv": write_csv(["topic", *systems], rows)}
    return Given(files, ("t.csv",), systems, ["score"], frozenset({"topic", "system"}), columns="item=topic")


def _make_long(g: random.Random, *, repeats: int = 1, tasks: bool = False, measures: int = 1) -> Given:
    systems = SYSTEMS[: g.randint(2, 4)]
    items = g.randint(6, 14)
    names = ["acc", "f1"][:measures]
    y = [draw_scores(g, items, len(systems), repeats, g.choice(("share", "binary"))) for _ in names]
    header = [*(["task"] if tasks else []), "question", "model", *(["seed"] if repeats > 1 else []), *names]
    rows = [
        [*([("law", "math")[k % 2]] if tasks else []), f"q{k + 1}", system, *([r + 1] if repeats > 1 else []),
         *(float(table[k, j, r]) for table in y)]
        for k in range(items) for j, system in enumerate(systems) for r in range(repeats)
    ]  # fmt: skip
    dims = {"topic", "system", *(["instance"] if repeats > 1 else [])}
    return Given(
        {"t.csv": write_csv(header, rows)}, ("t.csv",), systems, names, frozenset(dims),
        tasks=("law", "math") if tasks else (), columns="item=question,system=model",
    )  # fmt: skip


def _make_runs(g: random.Random) -> Given:
    systems = SYSTEMS[: g.randint(2, 4)]
    topics = range(1, g.randint(6, 12))
    files = {}
    qrels = [f"{t} 0 d{d} {int(g.random() < 0.4)}" for t in topics for d in range(25)]
    files["qrels.txt"] = ("\n".join(qrels) + "\n").encode()
    for j, name in enumerate(systems):
        lines = []
        for t in topics:
            good = [line.split()[2] for line in qrels if line.startswith(f"{t} ") and line.endswith("1")]
            docs = sorted((f"d{d}" for d in range(40)), key=lambda d: g.random() + 0.2 * j * (d in good))
            lines += [f"{t} Q0 {doc} {rank} {40 - rank} {name}" for rank, doc in enumerate(docs[:DEPTH])]
        files[f"runs/{name}.run"] = ("\n".join(lines) + "\n").encode()
    named = ("qrels.txt", *(name for name in files if name.startswith("runs/")))
    measures = ["AP", "P@10", "nDCG@10", "RR"]
    return Given(files, named, systems, measures, frozenset({"topic", "system"}), runs=True)


def _make_votes(g: random.Random) -> Given:
    systems = SYSTEMS[:3]
    rows = [
        [f"q{k % 8}", *g.sample(systems, 2), g.choice(("model_a", "model_b", "tie"))]
        for k in range(g.randint(40, 80))
    ]
    files = {"v.csv": write_csv(["question", "model_a", "model_b", "winner"], [list(row) for row in rows])}
    return Given(files, ("v.csv",), systems, ["strength", "elo"], frozenset({"topic", "system"}))


def _make_nothing(g: random.Random) -> Given:
    return Given({}, (), SYSTEMS, ["AP"], frozenset(), runs=None)


COMPARING = ("compare", "leaderboard", "paper", "gate")
TABLES = (*COMPARING, "calibrate", "design power", "design interval", "design table")
DESIGNS = ("design power", "design interval", "design table", "design pools", "design budget")
INPUTS = {
    "wide": Kind(_make_wide, (*TABLES, "replicate s14", "replicate v17")),
    "gaps": Kind(lambda g: _make_wide(g, gaps=True), COMPARING),
    "long": Kind(_make_long, TABLES),
    "repeats": Kind(
        lambda g: _make_long(g, repeats=g.randint(2, 4)),
        (*COMPARING, "design power", "design repeats", "design equivalence", "design budget"),
    ),
    "tasks": Kind(lambda g: _make_long(g, tasks=True), COMPARING),
    "measures": Kind(lambda g: _make_long(g, measures=2), COMPARING),
    "runs": Kind(_make_runs, (*COMPARING, "stability", "score", "calibrate", *DESIGNS, "replicate")),
    "votes": Kind(_make_votes, ("compare", "leaderboard")),
    "nothing": Kind(
        _make_nothing, ("simulate", "design power", "design interval", "design table", "design loop")
    ),
}
"""Kinds of input by name."""
