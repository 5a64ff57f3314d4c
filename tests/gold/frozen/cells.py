"""What is frozen: cells, each a name and the figures that the public interface gives for it.

A cell is `file/name`, such as ``plain/t holm``: the pairs of the table ``plain`` by the procedure ``t holm``. Its
figures are columns, lists of numbers or words. Only public names are used, so that the package may be rebuilt below.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import shardwise as sw
from gold.frozen import figures
from gold.frozen.stored_tables import load_people, load_table, load_votes

FOLDER = Path(__file__).parent
RESAMPLES = 99
REFUSED = {"refused": [True]}
"""The figures of a cell that the package refuses."""
Cell = dict[str, list[Any]]


@dataclass(frozen=True)
class Layout:
    """A table and the keywords of `sw.compare`, under which every name is frozen."""

    table: Callable[[], Any]
    keywords: Mapping[str, Any] = field(default_factory=dict)


def _layout(table: str, **keywords: Any) -> Layout:
    return Layout(lambda: load_table(table), keywords)


LAYOUTS = {
    **{name: _layout(name) for name in (
        "plain", "binary", "gaps", "clusters", "tasks", "tasks-clusters", "shards", "shards-gaps", "splits",
        "seeds", "seeds-gaps", "seeds-clusters", "seeds-tasks", "samples", "unpaired", "unpaired-clusters",
    )},
    "seeds-deterministic": Layout(
        lambda: sw.instances.flag_deterministic(load_table("seeds-deterministic"), ["B"])
    ),
    "grades": Layout(lambda: load_table("grades").assign_attrs(range=(1.0, 5.0))),
    "two": Layout(lambda: load_table("plain").sel(system=["B", "C"])),
    "few": Layout(lambda: load_table("plain").isel(topic=slice(0, 6))),
    "baseline": _layout("plain", baseline="C"),
    "baselines": _layout("plain", baseline=("A", "C")),
    "only": _layout("plain", only=("A", "C", "D")),
    "only-pairs": _layout("plain", only=(("A", "B"), ("D", "C"))),
    "gaps-baseline": _layout("gaps", baseline="C"),
    "shards-baseline": _layout("shards", baseline="C"),
    "shards-only": _layout("shards", only=("A", "C", "D")),
    "seeds-baseline": _layout("seeds", baseline="C"),
    "seeds-only": _layout("seeds", only=("A", "C", "D")),
    "votes": Layout(load_votes),
    "votes-baseline": Layout(load_votes, {"baseline": "C"}),
    "people": Layout(load_people),
    "people-baseline": Layout(load_people, {"baseline": "C"}),
    "unpaired-baseline": _layout("unpaired", baseline="C"),
}  # fmt: skip
"""Every layout by name."""
IN_FULL = ("plain", "binary", "gaps", "clusters", "tasks", "baseline", "only", "two", "shards", "splits",
           "seeds", "seeds-gaps", "votes", "people", "unpaired")  # fmt: skip
"""Layouts on which every correction is frozen; on the others those that control the family-wise error by themselves."""
FURTHER_CORRECTIONS = ("none", "bonferroni", "scheffe", "bh", "by")


def describe_pairs(pairs: sw.Comparisons, level: float = 0.95) -> Cell:
    """Return all figures of comparisons: pairs, intervals of means, bars, ranks and the best set."""
    frame = pairs.to_frame(level)
    cell: Cell = {"pair": [f"{a} {b}" for a, b in zip(frame["a"], frame["b"], strict=True)]}
    cell |= {str(name): frame[name].tolist() for name in frame.columns if name not in {"a", "b"}}
    means = pairs.intervals(level)
    cell |= {"system": list(means.index), "mean": means["estimate"].tolist()}
    cell |= {"mean_lower": means["lower"].tolist(), "mean_upper": means["upper"].tolist()}
    try:
        bars = pairs.intervals(level, kind="comparison")
        cell |= {"bar_lower": bars["lower"].tolist(), "bar_upper": bars["upper"].tolist()}
    except sw.InputError:
        pass
    try:
        ranks = pairs.ranks(level)
        cell |= {"rank_best": ranks["rank_best"].tolist(), "rank_worst": ranks["rank_worst"].tolist()}
        cell |= {"best": list(pairs.best(alpha=1.0 - level))}
    except sw.InputError:
        pass
    return cell


def compare_layout(layout: str, name: str, seed: int) -> Cell:
    """Return the figures of one procedure on one layout; `default` leaves the choice to the package."""
    here = LAYOUTS[layout]
    method = None if name == "default" else name
    keywords = dict(here.keywords)
    if layout == "samples" and method is None:
        keywords["repeats"] = "samples"
    return describe_pairs(sw.compare(here.table(), method, n_resamples=RESAMPLES, seed=seed, **keywords))


FIGURES = {
    "fits": figures.list_fits(),
    "statements": figures.list_statements(),
    "gates": figures.list_gates(),
    "plans": figures.list_plans(),
    "lab": figures.list_lab(),
    "stability": figures.list_stability(),
    "scores": figures.list_scores(),
    "commands": figures.list_commands(),
}
FILES = (*LAYOUTS, *FIGURES)
FAST = (
    *("plain", "gaps", "clusters", "seeds", "baseline", "few", "unpaired", "people"),
    *("gates", "plans", "stability", "scores"),
)
"""Files that `make check` compares; the others are slow tests."""


def list_names(file: str) -> list[str]:
    """Return the names that a file must have; of procedures, those that are stored count."""
    return ["default"] if file in LAYOUTS else list(FIGURES[file])


def compute(file: str, name: str, seed: int) -> Cell:
    """Return the figures of a cell as they are now."""
    if file in LAYOUTS:
        return compare_layout(file, name, seed)
    if name not in FIGURES[file]:
        raise sw.InputError(f"{file}/{name} is stored, and figures.py does not make it any more")
    return figures.flatten(FIGURES[file][name](seed))
