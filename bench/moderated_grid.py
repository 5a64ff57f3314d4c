"""False alarms of the moderated test and of others: collections × measures × topics × systems × scenarios.

python -m bench.moderated_grid [folder of the data] [--tables | --again]

Appends each figure to docs/bench/moderated_grid.csv as soon as it is known, so that a run goes on where one was
stopped. With --again the figures of the default method are computed anew, and how far they moved is printed; a run that
was stopped goes on with the designs that are missing in docs/bench/moderated_again.csv. Then writes
docs/bench/moderated_methods.md, moderated_designs.md, moderated_power.md, moderated_top.md and moderated_top_below.md
of it; --tables writes these pages only.
"""

from __future__ import annotations

import csv
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import astuple, dataclass, fields
from functools import partial
from pathlib import Path

import altair as alt
import numpy as np
import pandas as pd
import xarray as xr
from scipy import stats

from bench.crew import crew
from bench.replication import load, markdown
from shardwise.core.arrays import Bools, Floats, Ints
from shardwise.core.claim import Claim
from shardwise.core.errors import InputError
from shardwise.io.reader import read_collection
from shardwise.io.scores import read_scores
from shardwise.lab.recorded import FILE, exceeds_level
from shardwise.lab.scenarios.base import Scenario
from shardwise.lab.scenarios.bounded import vine_scenario
from shardwise.lab.scenarios.from_scores import (
    SHARE,
    data_null,
    draw_rows,
    effective_topics,
    tilted_scenario,
    tilted_weights,
)
from shardwise.lab.simulate_scores import SimulationOptions
from shardwise.lab.simulate_scores import build_scenario as simulated
from shardwise.lab.trial import SAME, Truth, count_errors, estimate_rate
from shardwise.methods.names import parse_procedure
from shardwise.methods.pairs import Pairs
from shardwise.methods.tables import TABLE, Tables
from shardwise.plot.saving import save_chart
from shardwise.plot.theme import finish_chart, list_records, make_data
from shardwise.scoring.scoring import score
from shardwise.stats.groups import count_wins

ROOT = Path(__file__).parent.parent
FIGURES = ROOT / "docs" / "bench" / "moderated_grid.csv"
RECORD = ROOT / "src" / "shardwise" / "lab" / FILE
AGAIN = FIGURES.with_name("moderated_again.csv")
METHODS = ("moderated", "moderated holm", "moderated bh", "MD1 hsd topic", "t holm", "max-t")
TITLES = {"MD1 hsd topic": "HSD"}
SCENARIOS = ("tilt", "vine", "margins", "permute", "flip", "resample", "planted")
TOPICS, SYSTEMS = (25, 50, None), (2, 3, 4, 5, 10, 22, 40, None)  # None: all of them
REPETITIONS, FEW = 1000, 250  # tables of a scenario; with more than MANY systems
MANY, DRAWS, CHUNK = 60, 499, 25
ALPHA, DOUBT, SHIFT = 0.05, 0.01, 0.5  # share of the real differences that is planted
ABOUT = Claim("topic")


@dataclass(frozen=True)
class Design:
    """A cell of the grid."""

    data: str
    topics: int
    systems: int
    scenario: str


@dataclass(frozen=True)
class Figure:
    """What a method did there; shares of tables, or of pairs for found."""

    data: str
    topics: int
    systems: int
    scenario: str
    method: str
    tables: int
    error: float  # tables in which an equal pair is called different
    together: float  # tables in which all intervals hold the truth
    found: float  # of truly different pairs, called different the right way round
    best: float  # share of the best systems that are in the best set
    group: float  # its mean size
    least: float  # share of tables that have the best system in it which is there most seldom


def sources(folder: Path) -> dict[str, Floats]:
    """(T, R) scores by name."""
    found = {
        "TREC-8 AP": read_scores(folder / "trec8" / "adhoc8_ap.csv"),
        "TREC-8 P@10": read_scores(folder / "trec8" / "adhoc8_p10.csv"),
        "TREC-8 RR": read_scores(folder / "trec8" / "adhoc8_rr.csv"),
        "TREC-3 AP": read_scores(folder / "trec3" / "adhoc3_ap.csv"),
    }
    robust = folder / "robust2003"
    collections = {
        "TREC-COVID": load(folder / "trec-covid-r1")[0],
        "Robust 2003": read_collection(sorted(robust.glob("input.*.gz")), robust / "robust03_qrels.txt.gz"),
    }
    for name, runs in collections.items():
        for measure in ("AP", "P@10"):
            found[f"{name} {measure}"] = score(runs, [measure])[measure]
    return {name: y.transpose(*TABLE).to_numpy() for name, y in found.items()}


def designs(tables: dict[str, Floats]) -> Iterator[Design]:
    """All cells; sizes that a table does not have are left out."""
    for name, y in tables.items():
        t, r = y.shape
        for systems in dict.fromkeys(min(r, n or r) for n in SYSTEMS):
            for topics in dict.fromkeys(min(t, n or t) for n in TOPICS):
                yield from (Design(name, topics, systems, scenario) for scenario in SCENARIOS)


def similar_systems(scores: Floats, *, most: int | None = None) -> Ints:
    """Return the largest set of systems of neighbouring means that chances of topics can make equal.

    >>> rng = np.random.default_rng(2)
    >>> y = rng.normal([0.0, 0.9, 0.5, 0.05, 0.1], 0.2, (60, 5))
    >>> similar_systems(y).tolist()
    [0, 3, 4]
    """
    r = scores.shape[1]
    top = r if most is None else min(most, r)
    order = np.argsort(scores.mean(axis=0), kind="stable")
    best, end = order[:1], 0

    # a part of a set that can be made equal can be, with weights nearer to equal ones: so both ends only move up
    for start in range(r):
        end = max(end, start + 1)
        while end < r and end - start < top:
            weights = tilted_weights(scores[:, order[start : end + 1]])
            if weights is None or effective_topics(weights) < SHARE * len(scores):
                break
            end += 1
        if end - start > len(best):
            best = order[start:end]
    return np.sort(best)


def scenario_of(y: Floats, design: Design) -> Scenario | None:
    """The scenario of a cell; None where tilting finds fewer than three systems."""
    t, r = y.shape
    some = y[:, np.round(np.linspace(0, r - 1, design.systems)).astype(int)]
    kind, topics = design.scenario, design.topics
    if kind == "tilt":
        alike = similar_systems(y, most=design.systems)
        return tilted_scenario(y[:, alike], topics=topics) if len(alike) > 2 else None
    if kind == "vine":
        return vine_scenario(some, topics=topics)
    if kind == "margins":
        options = SimulationOptions(
            topics=topics, effects=np.zeros(design.systems), margins="auto", generalize=ABOUT
        )
        return simulated(xr.DataArray(some, dims=TABLE), options)
    if kind in ("permute", "flip"):
        rows = np.sort(np.random.default_rng(0).permutation(t)[:topics])
        return data_null(kind, some[rows], TABLE, ABOUT)
    apart = some.mean(axis=0)
    truth = np.full(design.systems, some.mean()) + (
        SHIFT * (apart - apart.mean()) if kind == "planted" else 0.0
    )
    shape, facts = (topics, design.systems), {"scores": some - apart + some.mean()}
    return Scenario(kind, TABLE, shape, ABOUT, truth, draw_again, facts)


def draw_again(scenario: Scenario, first: int, count: int, seed: int) -> Floats:
    """Topics drawn with replacement from all that there are, however many are wanted."""
    topics = scenario.shape[0]
    times = -(-topics // len(scenario.facts["scores"]))
    drawn = [draw_rows(scenario, first, count, seed + 7919 * k) for k in range(times)]
    return np.ascontiguousarray(np.concatenate(drawn, axis=1)[:, :topics])


def truth_is_best(means: Floats) -> Bools:
    """The best systems: where none differ, all are."""
    return means >= means.max() - SAME


def figures(y: Floats, design: Design, names: tuple[str, ...] = METHODS) -> list[Figure]:
    """Hold methods against the truth in the tables of one cell."""
    try:
        scenario = scenario_of(y, design)
    except InputError as e:
        print(f"{design}: {e}", flush=True)
        scenario = None
    if scenario is None:
        return []
    repetitions = FEW if design.systems > MANY else REPETITIONS
    truth = Truth.from_means(scenario.truth)
    methods = [parse_procedure(name) for name in names]
    tallies: dict[str, list[tuple[Floats, ...]]] = {name: [] for name in names}
    tops: list[Bools] = []
    for tables in simulated_tables(scenario, repetitions):
        for name, method in zip(names, methods, strict=True):
            decided = method.decide(tables)
            seen = count_errors(decided, truth, method.error_rate, ALPHA)
            nothing = np.full(CHUNK, np.nan)
            found = nothing if not len(truth.sizes) else seen.right_way / (~truth.null).sum()
            tallies[name].append((seen.family, seen.together, found))
            if name == "moderated":
                tops.append(top_of(decided))
    out = []
    for name, parts in tallies.items():
        columns = (np.concatenate(column) for column in zip(*parts, strict=True))
        means = [round(estimate_rate(x).value, 5) for x in columns]
        top = of_group(np.concatenate(tops), scenario.truth) if name == "moderated" else [np.nan] * 3
        out.append(
            Figure(
                design.data,
                design.topics,
                scenario.shape[1],
                design.scenario,
                name,
                repetitions,
                *means,
                *top,
            )
        )
    return out


def simulated_tables(scenario: Scenario, repetitions: int) -> Iterator[Tables]:
    """The tables of a cell, some at a time."""
    for first in range(0, repetitions, CHUNK):
        yield Tables(scenario.draw(first, CHUNK, 0), TABLE, 0, first, n_resamples=DRAWS)


def top_of(decided: Pairs) -> Bools:
    """(B, R) the best sets of tables."""
    systems = decided.systems
    significant = decided.p_adjusted <= ALPHA
    _, above = count_wins(significant, decided.difference, *np.triu_indices(systems, 1), systems)
    return np.asarray(above == 0)


def of_group(top: Bools, truth: Floats) -> list[float]:
    """The columns best, group and least of (N, R) best sets."""
    held = top[:, truth_is_best(truth)].mean(axis=0)
    return [round(float(x), 5) for x in (held.mean(), top.sum(axis=1).mean(), held.min())]


def run(folder: Path) -> None:
    """All cells that are not in the file yet."""
    tables = sources(folder)
    names = [f.name for f in fields(Figure)]
    if not FIGURES.exists():
        FIGURES.write_text(",".join(["of", *names]) + "\n")
    done = set(pd.read_csv(FIGURES)["of"])
    todo = [d for d in designs(tables) if "/".join(map(str, astuple(d))) not in done]
    todo.sort(key=lambda d: d.systems > MANY)
    with crew() as pool:
        for at in range(0, len(todo), 8):
            some = todo[at : at + 8]
            began = time.perf_counter()
            results = list(pool.map(figures, [tables[d.data] for d in some], some))
            with FIGURES.open("a", newline="") as file:
                for design, rows in zip(some, results, strict=True):
                    key = "/".join(map(str, astuple(design)))
                    csv.writer(file, lineterminator="\n").writerows([key, *astuple(row)] for row in rows)
            print(f"{at + len(some)} of {len(todo)}: {time.perf_counter() - began:.0f} s", flush=True)


def run_again(folder: Path) -> None:
    """Compute the figures of the default method anew, all else in the file stays as it is."""
    tables = sources(folder)
    every = pd.read_csv(FIGURES)
    names = [f.name for f in fields(Figure)]
    if not AGAIN.exists():
        AGAIN.write_text(",".join(["of", *names]) + "\n")
    done = set(pd.read_csv(AGAIN)["of"])
    keys = every.loc[(every["method"] == "moderated") & ~every["of"].isin(done), "of"]
    cells = [Design(name, int(t), int(r), kind) for name, t, r, kind in (key.split("/") for key in keys)]
    cells.sort(key=lambda d: d.systems)
    with crew() as pool, AGAIN.open("a", newline="") as file:
        work = partial(figures, names=("moderated",))
        for number, rows in enumerate(pool.map(work, [tables[d.data] for d in cells], cells), start=1):
            key = "/".join(map(str, astuple(cells[number - 1])))
            csv.writer(file, lineterminator="\n").writerows([key, *astuple(row)] for row in rows)
            file.flush()
            print(f"{number} of {len(cells)}: {key}", flush=True)


def merge_again() -> None:
    """Put the figures of the default method that were computed anew into the file, and print how far they moved."""
    every, again = pd.read_csv(FIGURES), pd.read_csv(AGAIN)
    both = every.merge(again, on=["of", "method"], suffixes=("", "_again"))
    null = both[both["scenario"] != "planted"]
    moved = 100 * (null["error_again"] - null["error"])
    print(
        f"{len(null)} designs without a difference: mean {100 * null['error'].mean():.2f} before,"
        f" {100 * null['error_again'].mean():.2f} now; moved by {moved.min():.1f} to {moved.max():.1f} points,"
        f" {int((moved == 0).sum())} not at all; highest {100 * null['error_again'].max():.1f}"
    )
    kept = every[~((every["method"] == "moderated") & every["of"].isin(again["of"]))]
    order = {key: number for number, key in enumerate(dict.fromkeys(every["of"]))}
    merged = pd.concat([again, kept])
    merged = merged.iloc[np.lexsort((merged["method"].map(METHODS.index), merged["of"].map(order)))]
    merged.to_csv(FIGURES, index=False, na_rep="nan")
    AGAIN.unlink()


def fails(part: pd.DataFrame) -> Bools:
    """Whether chance alone would bring so many false alarms at a true 5 % in fewer than 1 of 100 tries."""
    return exceeds_level(part["error"].to_numpy(), part["tables"].to_numpy())


def misses(part: pd.DataFrame) -> Bools:
    """Whether chance alone would lose an equally good system so often at a true 95 % in fewer than 1 of 100 tries."""
    hits = (part["best"] * part["tables"]).round()
    return np.asarray(stats.binom.cdf(hits, part["tables"], 1.0 - ALPHA) < DOUBT)


def misses_one(part: pd.DataFrame) -> Bools:
    """Whether chance alone would lose some system of the design so often, each held with 95 % (Bonferroni)."""
    hits = (part["least"] * part["tables"]).round()
    return np.asarray(stats.binom.cdf(hits, part["tables"], 1.0 - ALPHA) < DOUBT / part["systems"])


def of_top(null: pd.DataFrame) -> str:
    """One row a scenario: how often a system that is as good as the best is in the best set."""
    rows = []
    for scenario in [*SCENARIOS[:-1], "all"]:
        own = null[(null["method"] == "moderated") & ((null["scenario"] == scenario) | (scenario == "all"))]
        own = own[own["best"].notna()]
        held = 100 * own["best"]
        figures = [f"{held.mean():.1f}", f"{held.min():.1f}", f"{int(misses(own).sum())}"]
        one = [f"{100 * own['least'].min():.1f}", f"{int(misses_one(own).sum())}"]
        rows.append([scenario, str(len(own)), *figures, *one])
    heads = [
        "mean",
        "lowest",
        "below 95 beyond chance",
        "lowest single system",
        "a single one below 95 beyond chance",
    ]
    return markdown(["scenario", "designs", *heads], rows)


def of_top_below(null: pd.DataFrame) -> str:
    """The designs in which it is shown to hold such a system, or a single one, less often than it promises."""
    own = null[(null["method"] == "moderated") & null["best"].notna()]
    below = own[misses(own) | misses_one(own)].sort_values(["least", "best"])
    rows = [
        [
            *(str(row[name]) for name in ("data", "scenario", "topics", "systems")),
            *(f"{100 * row[name]:.1f}" for name in ("best", "least")),
        ]
        for row in below.to_dict("records")
    ]
    return markdown(["data", "scenario", "topics", "systems", "held, %", "lowest single system, %"], rows)


def record_rates(null: pd.DataFrame) -> pd.DataFrame:
    """One row a design, one column a method: what reports look up instead of simulating it again."""
    keys = ["data", "topics", "systems", "scenario", "tables"]
    wide = null.pivot_table(index=keys, columns="method", values="error", sort=False)[list(METHODS)]
    return wide.reset_index().rename(columns={"scenario": "scenario"})


def of_methods(null: pd.DataFrame) -> str:
    """One row a scenario, one column a method: mean, highest and number of designs that fail."""
    rows = []
    scenarios = [*SCENARIOS[:-1], "all"]
    for scenario in scenarios:
        part = null if scenario == "all" else null[null["scenario"] == scenario]
        row = [scenario, str(part.groupby(["data", "topics", "systems", "scenario"]).ngroups)]
        for method in METHODS:
            own = part[part["method"] == method]
            error = 100 * own["error"]
            row.append(f"{error.mean():.1f} / {error.max():.1f} / {int(fails(own).sum())}")
        rows.append(row)
    return markdown(["scenario", "designs", *(TITLES.get(m, m) for m in METHODS)], rows)


def of_designs(null: pd.DataFrame, method: str) -> str:
    """One row a collection and number of topics, a column a number of systems: lowest to highest rate."""
    own = null[(null["method"] == method) & (null["scenario"] != "tilt")]  # which chooses systems of its own
    sizes = sorted(own["systems"].unique())
    rows = []
    for (name, topics), part in own.groupby(["data", "topics"], sort=False):
        cells = {n: 100 * one["error"] for n, one in part.groupby("systems")}
        row = [f"{cells[n].min():.1f}–{cells[n].max():.1f}" if n in cells else "" for n in sizes]
        rows.append([f"{name}, {topics} topics", *row])
    return markdown(["", *(f"{n}" for n in sizes)], rows)


def of_power(every: pd.DataFrame) -> str:
    """One row a collection and number of topics: pairs found and false alarms, over all numbers of systems."""
    rows = []
    for (name, topics), part in every.groupby(["data", "topics"], sort=False):
        row = [f"{name}, {topics} topics"]
        for method in METHODS:
            own = part[part["method"] == method]
            found = 100 * own.loc[own["scenario"] == "planted", "found"].mean()
            error = 100 * own.loc[own["scenario"] == "resample", "error"].mean()
            row.append(f"{found:.0f} / {error:.1f}")
        own = part[(part["method"] == "moderated") & (part["scenario"] == "planted")]
        covered = 100 * own["together"]
        row += [f"{covered.min():.1f}–{covered.max():.1f}", f"{100 * own['best'].min():.1f}"]
        rows.append(row)
    heads = [TITLES.get(m, m) for m in METHODS]
    return markdown(["", *heads, "intervals hold", "best set holds the best"], rows)


def pages() -> None:
    """The tables of the documentation, out of the file."""
    own = [
        "data",
        "topics",
        "systems",
        "scenario",
        "method",
    ]  # tilt may find the same systems for several numbers asked
    every = pd.read_csv(FIGURES).drop_duplicates(own)
    null = every[every["scenario"] != "planted"]
    folder = FIGURES.parent
    record_rates(null).to_csv(RECORD, index=False)
    (folder / "moderated_methods.md").write_text(of_methods(null) + "\n")
    (folder / "moderated_designs.md").write_text(of_designs(null, "moderated") + "\n")
    (folder / "moderated_power.md").write_text(of_power(every) + "\n")
    (folder / "moderated_top.md").write_text(of_top(null) + "\n")
    (folder / "moderated_top_below.md").write_text(of_top_below(null) + "\n")
    save_chart(picture(null), folder.parent / "images" / "moderated_errors.png")


def picture(null: pd.DataFrame) -> alt.LayerChart:
    """One point a design, one column a method: false alarms in per cent, on a log axis, with the 5 % promised."""
    rows = null.assign(
        method=[TITLES.get(m, m) for m in null["method"]], error=100 * np.maximum(null["error"], 0.002)
    )
    rows["place"] = (
        np.arange(len(rows)) // len(METHODS) * 0.618 % 1.0
    )  # apart from each other, the same every time
    names = [TITLES.get(m, m) for m in METHODS]
    x = alt.X("method:N", sort=names, title=None, axis=alt.Axis(labelAngle=0))
    y = alt.Y("error:Q", title="false alarms, %", scale=alt.Scale(type="log", domain=[0.2, 100]))
    points = (
        alt.Chart(make_data(list_records(rows[["method", "error", "scenario", "place"]])))
        .mark_point(filled=True, size=14, opacity=0.5)
        .encode(x=x, y=y, xOffset="place:Q", color=alt.Color("scenario:N", title="scenario"))
    )
    line = (
        alt.Chart(make_data([{"promised": 100 * ALPHA}])).mark_rule(strokeDash=[4, 3]).encode(y="promised:Q")
    )
    return finish_chart(alt.LayerChart(layer=[points, line]).properties(width=640, height=320))


def main() -> None:
    """Run, and write the pages."""
    words = [w for w in sys.argv[1:] if not w.startswith("--")]
    folder = Path(words[0] if words else os.environ.get("SHARDWISE_DATA", ROOT.parent / "shared" / "data"))
    if "--again" in sys.argv:
        run_again(folder)
        merge_again()
    elif "--tables" not in sys.argv:
        run(folder)
    pages()


if __name__ == "__main__":
    main()
