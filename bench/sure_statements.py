"""How often contrasts, probabilities, means of tasks, judges, two seeds, few buyers and the default itself are wrong.

Parts of `bench.sureness`. Cells were fixed before the first run. Every table goes through `sw.compare` as a user's does
with its defaults, but 499 resamples; "false" is the share of tables with a false statement, "coverage" the share in
which all intervals hold the truth, each with its standard error beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy import special

import shardwise as sw
from bench import moderated_grid
from shardwise.core.arrays import Floats
from shardwise.core.errors import InputError

ALPHA = 0.05
TABLES = 400
# of parts that take longest
FEWER = 250
RESAMPLES = 499
CONTRASTS = {
    "half against half": (["s0", "s1"], ["s2", "s3"]),
    "one against the rest": (["s0"], ["s1", "s2", "s3"]),
    "a pair": (["s1"], ["s2"]),
}
WEIGHTS = np.array([[0.5, 0.5, -0.5, -0.5], [1.0, -1 / 3, -1 / 3, -1 / 3], [0.0, 1.0, -1.0, 0.0]])
EFFECTS = np.array([0.0, 0.03, 0.06, 0.02])


def error_of(share: float, count: int) -> float:
    """Standard error of a share of so many tables."""
    return float(np.sqrt(max(share * (1.0 - share), 0.25 / max(count, 1)) / max(count, 1)))


def make_table(y: Floats, **coordinates: Any) -> xr.DataArray:
    """Scores (items, systems[, instances]) as a user would hand them over."""
    names = [f"s{k}" for k in range(y.shape[1])]
    dims = ("topic", "system", "instance")[: y.ndim]
    return xr.DataArray(y, dims=dims, coords={"system": names, **coordinates}, name="score")


def draw_scores(rng: np.random.Generator, kind: str, items: int, effects: Floats) -> Floats:
    """(items, systems) scores whose true means differ by the effects, on the scale of the kind."""
    systems = len(effects)
    easy, own = rng.normal(size=(items, 1)), rng.normal(size=(items, systems))
    if kind == "right or wrong":
        return (special.ndtr((easy + own) / np.sqrt(2.0)) < 0.8 + effects).astype(float)
    if kind == "rare failures":
        return (rng.random((items, systems)) < 0.93 + effects).astype(float)
    if kind == "percent":
        return 100.0 * (special.ndtr((easy + own) / np.sqrt(2.0)) < 0.8 + effects)
    spread = np.r_[4.0, np.ones(systems - 1)] if kind == "unequal variances" else np.ones(systems)
    return 0.5 + effects + 0.05 * easy + 0.05 * spread * own


def scale_of(kind: str) -> float:
    """Width of the range of scores of a kind."""
    return 100.0 if kind == "percent" else 1.0


def count_tables(
    name: str,
    items: int,
    seed: list[int],
    judge: Callable[[np.random.Generator, int], tuple[bool, float | None]],
    tables: int = TABLES,
) -> dict[str, Any]:
    """One row: shares of tables that are judged (false, covered), without those that are refused."""
    false, covered, refused = [], [], 0
    for k in range(tables):
        try:
            wrong, held = judge(np.random.default_rng([*seed, k]), k)
        except InputError:
            refused += 1
            continue
        false.append(wrong)
        covered.append(held)
    judged = len(false)
    row: dict[str, Any] = {"cell": name, "items": items, "tables": judged, "refused": refused}
    share = float(np.mean(false)) if judged else 0.0
    row |= {"false": share, "error": error_of(share, judged)}
    known = [held for held in covered if held is not None]
    if known:
        row |= {
            "coverage": float(np.mean(known)),
            "coverage_error": error_of(float(np.mean(known)), len(known)),
        }
    print(row, flush=True)
    return row


def run_contrasts() -> pd.DataFrame:
    """Some contrast of equal systems significant; all intervals of contrasts hold the truth where systems differ."""
    rows = []
    for number, kind in enumerate(("graded", "unequal variances", "right or wrong", "percent")):
        for items in (20, 50, 100):
            truth = scale_of(kind) * WEIGHTS @ EFFECTS

            def judge(
                rng: np.random.Generator, k: int, kind: str = kind, items: int = items, truth: Floats = truth
            ) -> tuple[bool, float]:
                tables = []
                for effects in (np.zeros(4), EFFECTS):
                    scores = make_table(draw_scores(rng, kind, items, effects))
                    tables.append(
                        sw.compare(scores, n_resamples=RESAMPLES, seed=k).contrasts(CONTRASTS).table
                    )
                equal, moved = tables
                held = (moved["lower"] <= truth + 1e-12) & (truth <= moved["upper"] + 1e-12)
                return bool((equal["p_adjusted"] <= ALPHA).any()), bool(held.all())

            rows.append(count_tables(kind, items, [101, number, items], judge, FEWER))
    return pd.DataFrame(rows)


def run_probabilities() -> pd.DataFrame:
    """P(practically equal) ≥ .95 (false), P(better by more than the margin) ≥ .975 (better), at a gap of the margin."""
    rows = []
    for number, kind in enumerate(("graded", "rare failures", "right or wrong", "percent")):
        for items in (20, 50, 200):
            margin = 0.05

            def judge(
                rng: np.random.Generator, k: int, kind: str = kind, items: int = items, margin: float = margin
            ) -> tuple[bool, float]:
                scores = make_table(draw_scores(rng, kind, items, np.array([margin, 0.0])))
                pairs = sw.compare(scores, n_resamples=RESAMPLES, seed=k)
                row = pairs.probabilities(margin * scale_of(kind)).iloc[0]
                better = row["better"] if row["a"] == "s0" else row["worse"]
                return bool(row["equal"] >= 0.95), float(better >= 0.975)

            rows.append(count_tables(kind, items, [103, number, items], judge))
    return pd.DataFrame(rows).rename(columns={"coverage": "better", "coverage_error": "better_error"})


def run_tasks() -> pd.DataFrame:
    """Tasks that count alike: equal systems significant; intervals of the means hold the mean over tasks."""
    rows = []
    for number, kind in enumerate(("graded", "right or wrong")):
        for tasks in (2, 5, 10):
            for items in (10, 40):

                def judge(
                    rng: np.random.Generator, k: int, kind: str = kind, tasks: int = tasks, items: int = items
                ) -> tuple[bool, float]:
                    hard = np.linspace(-0.15, 0.15, tasks)
                    # tasks of unequal size, about as many items each
                    sizes = np.maximum(items + np.arange(tasks) % 3 - 1, 2)
                    parts = [
                        draw_scores(rng, kind, size, np.full(3, h))
                        for size, h in zip(sizes, hard, strict=True)
                    ]
                    label = np.repeat([f"t{j}" for j in range(tasks)], sizes)
                    scores = make_table(np.concatenate(parts), task=("topic", label))
                    pairs = sw.compare(scores, n_resamples=RESAMPLES, seed=k)
                    mean = (0.8 if kind == "right or wrong" else 0.5) + hard.mean()
                    means = pairs.intervals()
                    held = float(((means["lower"] <= mean) & (mean <= means["upper"])).mean())
                    return bool((pairs.p_adjusted <= ALPHA).any()), held

                rows.append(
                    count_tables(f"{kind}, {tasks} tasks", items, [107, number, tasks, items], judge, FEWER)
                )
    return pd.DataFrame(rows)


def run_judges() -> pd.DataFrame:
    """A judge of 300 answers and some labels: equal systems significant; two or three systems, right or wrong."""
    rows = []
    for systems in (2, 3):
        for miss in (0.02, 0.15):
            for labels in (20, 30, 50, 100):

                def judge(
                    rng: np.random.Generator,
                    k: int,
                    systems: int = systems,
                    miss: float = miss,
                    labels: int = labels,
                ) -> tuple[bool, None]:
                    human = draw_scores(rng, "right or wrong", 300, np.zeros(systems))
                    told = np.where(rng.random(human.shape) < miss, 1.0 - human, human)
                    seen = np.where(np.arange(300)[:, None] < labels, human, np.nan)
                    scores = sw.judges.with_human(make_table(told), make_table(seen))
                    pairs = sw.compare(scores, seed=k)
                    return bool((pairs.p_adjusted <= ALPHA).any()), None

                name = f"{systems} systems, judge wrong in {miss:.0%}"
                rows.append(count_tables(name, labels, [109, systems, int(100 * miss), labels], judge))
    return pd.DataFrame(rows)


def run_seeds() -> pd.DataFrame:
    """Two seeds a system, one system whose seeds vary four times as much: equal systems significant."""
    rows = []
    for number, spread in enumerate((0.0, 0.02, 0.1)):
        for systems in (2, 4):
            for items in (20, 100):

                def judge(
                    rng: np.random.Generator,
                    k: int,
                    spread: float = spread,
                    systems: int = systems,
                    items: int = items,
                ) -> tuple[bool, None]:
                    noise = spread * np.r_[4.0, np.ones(systems - 1)]
                    y = (
                        0.5
                        + 0.1 * rng.normal(size=(items, 1, 1))
                        + 0.1 * rng.normal(size=(items, systems, 1))
                    )
                    y = (
                        y
                        + noise[:, None] * rng.normal(size=(1, systems, 2))
                        + 0.1 * rng.normal(size=(items, systems, 2))
                    )
                    pairs = sw.compare(make_table(y), repeats="seeds", n_resamples=RESAMPLES, seed=k)
                    return bool((pairs.p_adjusted <= ALPHA).any()), None

                name = f"{systems} systems, seeds' sd {spread:g}"
                rows.append(count_tables(name, items, [113, number, systems, items], judge))
    return pd.DataFrame(rows)


def run_buyers() -> pd.DataFrame:
    """Users who met one of two variants, few of whom buy: equal variants significant; `items` are users a side."""
    rows = []
    for share in (0.02, 0.05):
        for users in (50, 100, 200, 500):
            for twice in (1, 2):

                def judge(
                    rng: np.random.Generator,
                    k: int,
                    share: float = share,
                    users: int = users,
                    twice: int = twice,
                ) -> tuple[bool, None]:
                    sizes = (users, twice * users)
                    y = np.full((sum(sizes), 2), np.nan)
                    bought = rng.lognormal(3.0, 1.0, sum(sizes)) * (rng.random(sum(sizes)) < share)
                    y[: sizes[0], 0], y[sizes[0] :, 1] = bought[: sizes[0]], bought[sizes[0] :]
                    pairs = sw.compare(make_table(y).rename("revenue"), n_resamples=RESAMPLES, seed=k)
                    return bool((pairs.p_adjusted <= ALPHA).any()), None

                name = f"{share:.0%} buy" + (", second side twice as many" if twice > 1 else "")
                rows.append(count_tables(name, users, [127, int(100 * share), users, twice], judge, FEWER))
    return pd.DataFrame(rows)


def list_designs(recorded: pd.DataFrame) -> Iterator[moderated_grid.Design]:
    """Every twelfth recorded design without a difference, of the tables kept as scores, with at most 22 systems."""
    kept = ("TREC-8 AP", "TREC-8 P@10", "TREC-8 RR", "TREC-3 AP")
    chosen = recorded[recorded["data"].isin(kept) & (recorded["systems"] <= 22)]
    chosen = chosen[chosen["scenario"] != "planted"]
    for row in chosen.iloc[::12].itertuples():
        yield moderated_grid.Design(row.data, int(row.topics), int(row.systems), row.scenario)


def run_grid() -> pd.DataFrame:
    """Family-wise error of the default beside the record, of the same tables."""
    folder = Path(__file__).parents[1].parent / "shared" / "data"
    files = {"TREC-8 AP": "trec8/adhoc8_ap.csv", "TREC-8 P@10": "trec8/adhoc8_p10.csv",
             "TREC-8 RR": "trec8/adhoc8_rr.csv", "TREC-3 AP": "trec3/adhoc3_ap.csv"}  # fmt: skip
    tables = {
        name: sw.read_scores(folder / file).transpose("topic", "system").to_numpy()
        for name, file in files.items()
    }
    recorded = pd.read_csv(moderated_grid.RECORD)
    rows = []
    for design in list_designs(recorded):
        same = recorded[["data", "topics", "systems", "scenario"]] == (
            design.data, design.topics, design.systems, design.scenario,
        )  # fmt: skip
        record = recorded[same.all(axis=1)].iloc[0]
        now = moderated_grid.figures(tables[design.data], design, ("moderated",))[0]
        row = {"cell": f"{design.data}, {design.scenario}, {design.systems} systems", "items": design.topics,
               "tables": now.tables, "refused": 0, "false": now.error, "error": error_of(now.error, now.tables),
               "recorded": float(record["moderated"])}  # fmt: skip
        print(row, flush=True)
        rows.append(row)
    return pd.DataFrame(rows)


PARTS: dict[str, Callable[[], pd.DataFrame]] = {
    "contrasts": run_contrasts,
    "probabilities": run_probabilities,
    "tasks": run_tasks,
    "judges": run_judges,
    "seeds": run_seeds,
    "buyers": run_buyers,
    "grid": run_grid,
}
# what is false in a part, and what its intervals are of
STATEMENTS = {
    "contrasts": (
        "some contrast of equal systems is significant",
        "all intervals of contrasts hold the truth",
    ),
    "probabilities": ("P(practically equal) ≥ .95 at a gap of the margin", ""),
    "tasks": (
        "some equal pair is significant: tasks that count alike",
        "interval of a mean of tasks covers it",
    ),
    "judges": ("some equal pair is significant: judge with 20 to 100 labels", ""),
    "seeds": ("some equal pair is significant: two seeds, one system four times as noisy", ""),
    "buyers": ("equal variants are significant: 2% or 5% of 50 to 500 users a side buy", ""),
    "grid": ("some equal pair is significant: the default, designs of the record", ""),
}
