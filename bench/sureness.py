"""How often statements about margins, means and tables with gaps are false, on any scale, and whether rows agree.

python -m bench.sureness [part …]

Parts: gate (false "no worse" at a loss of exactly the margin, and power of equal systems, beside Student's t), means
(coverage of 95 % intervals), gaps (some pair of equal systems significant where scores are missing), rows (300 random
analyses: a significant pair whose interval holds 0, p above the level beside "significant", an interval of no width),
and those of `bench.sure_statements`: contrasts, probabilities, tasks, judges, seeds, buyers, grid.
No range is declared: it is found from the scores, as for any file. Each part writes docs/bench/sureness_<part>.csv;
docs/bench/sureness.md sums them up.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bench import sure_statements
from shardwise.analysis.gate import Gate, gate
from shardwise.comparing.compare import compare
from shardwise.core.arrays import Floats
from shardwise.core.errors import InputError
from shardwise.core.measure import find_range
from shardwise.methods.names import parse_procedure
from shardwise.methods.tables import TABLE, Tables
from shardwise.stats.intervals import Certainty, Range, pair_moments, score_moments
from shardwise.stats.student import student_critical

OUT = Path(__file__).parent.parent / "docs" / "bench"
ALPHA = 0.05
REPETITIONS = 2_000
ITEMS = (20, 50, 100, 200, 500)
# name: lowest and highest grade, step between grades
SCALES = {
    "0/1": (0.0, 1.0, 1.0),
    "0/100": (0.0, 100.0, 100.0),
    "1-5": (1.0, 5.0, 1.0),
    "1-10": (1.0, 10.0, 1.0),
}
# margins as shares of the range
MARGINS = (0.01, 0.05)
# equal systems: the share of items on which they tie
TIES = 0.9


def draw_grades(rng: np.random.Generator, scale: str, shape: tuple[int, ...]) -> Floats:
    """Grades of a good system: the best in 95 % for right and wrong, else the two best grades mostly."""
    low, high, step = SCALES[scale]
    levels = round((high - low) / step) + 1
    if levels == 2:
        return np.where(rng.random(shape) < 0.95, high, low)
    weights = np.ones(levels)
    weights[-2:] = 8.0 * levels
    return rng.choice(np.linspace(low, high, levels), size=shape, p=weights / weights.sum())


def lose(rng: np.random.Generator, scale: str, base: Floats, loss: float, kind: str) -> Floats:
    """A system that loses a mean of `loss` to the base: by rare failures, or by single steps where they differ."""
    low, _, step = SCALES[scale]
    if kind == "rare":
        # fails completely on a share of items; what a failure costs is the mean of base less the lowest score
        mean = float(draw_grades(np.random.default_rng(0), scale, (200_000,)).mean()) - low
        return np.where(rng.random(base.shape) < loss / mean, low, base)
    # ties on 90 % of the items, else a step; grades at the end are moved inside, which is part of the draw's mean
    differ = rng.random(base.shape) < 1.0 - TIES
    up = rng.random(base.shape) < 0.5 - loss / (2.0 * step * (1.0 - TIES))
    moved = base + np.where(differ, np.where(up, step, -step), 0.0)
    return moved


def weigh(new: Floats, base: Floats, bounds: Range | None) -> Certainty:
    """Evidence of independent items, (B,)."""
    d, n = new - base, float(new.shape[-1])
    se, units = d.std(axis=-1, ddof=1) / np.sqrt(n), np.full(len(d), n)
    if bounds is None:
        return Certainty(d.mean(axis=-1), se, units - 1.0, units)
    moments = pair_moments(bounds.map_scores(new), bounds.map_scores(base))
    return Certainty(d.mean(axis=-1), se, units - 1.0, units, moments, units, bounds)


def group_ranges(*scores: Floats) -> dict[tuple[float, float] | None, Any]:
    """Numbers of the tables by the range that is found for each."""
    found: dict[tuple[float, float] | None, list[int]] = {}
    for k in range(len(scores[0])):
        values = np.concatenate([y[k] for y in scores])
        found.setdefault(find_range("score", values)[0], []).append(k)
    return {limits: np.array(rows) for limits, rows in found.items()}


def run_gate() -> pd.DataFrame:
    """False "no worse" and power, each by the rule and by Student's t."""
    rows = []
    for number, (scale, (low, high, step)) in enumerate(SCALES.items()):
        for kind in ("rare", "ties"):
            if kind == "ties" and step == high - low:
                continue
            for share in MARGINS:
                margin = share * (high - low)
                if kind == "ties" and margin > step * (1.0 - TIES):
                    continue
                for items in ITEMS:
                    row: dict[str, Any] = {"scale": scale, "kind": kind, "margin": share, "items": items}
                    for word, loss in (("false", margin), ("power", 0.0)):
                        rng = np.random.default_rng(
                            [71, number, kind == "ties", items, int(1000 * share), loss > 0]
                        )
                        base = draw_grades(rng, scale, (REPETITIONS, items))
                        if kind == "ties":
                            base = np.clip(base, low + step, high - step)
                        near = lose(rng, scale, base, loss, kind)
                        if loss == 0.0 and kind == "rare":
                            # equal systems that fail on 1 % of the items each, on others
                            near = lose(rng, scale, base, 0.01 * (high - low), kind)
                            base = lose(rng, scale, base, 0.01 * (high - low), kind)
                        passed, student = np.zeros(REPETITIONS, bool), np.zeros(REPETITIONS, bool)
                        for limits, rows_of in group_ranges(near, base).items():
                            bounds = None if limits is None else Range(*limits)
                            known = weigh(near[rows_of], base[rows_of], bounds)
                            passed[rows_of] = known.p_gain(-margin) <= ALPHA / 2.0
                            se = np.maximum(known.se, 1e-300)
                            t = (known.estimate + margin) / se
                            student[rows_of] = t >= student_critical(ALPHA, items - 1.0)
                        row[word], row[f"{word}_student"] = passed.mean(), student.mean()
                    row["error"] = error_of(row["false"], REPETITIONS)
                    rows.append(row)
                    print(row, flush=True)
    return pd.DataFrame(rows)


def run_means() -> pd.DataFrame:
    """Coverage of intervals of means: accuracy .98 in percent, grades of good and of middling systems."""
    rows = []
    kinds: dict[str, tuple[Floats, Floats]] = {
        "0/1 at .98": (np.array([0.0, 1.0]), np.array([0.02, 0.98])),
        "percent at 98": (np.array([0.0, 100.0]), np.array([0.02, 0.98])),
        "percent by ones": (np.arange(101.0), np.linspace(0.2, 1.8, 101)),
        "1-5 mostly 5": (np.arange(1.0, 6.0), np.array([0.01, 0.01, 0.03, 0.05, 0.90])),
        "1-5 middling": (np.arange(1.0, 6.0), np.array([0.1, 0.2, 0.4, 0.2, 0.1])),
        "1-10 mostly 9": (np.arange(1.0, 11.0), np.r_[np.full(8, 0.01), 0.85, 0.07]),
    }
    for number, (name, (levels, weights)) in enumerate(kinds.items()):
        weights = weights / weights.sum()
        truth = float(levels @ weights)
        for items in ITEMS:
            rng = np.random.default_rng([73, number, items])
            y = rng.choice(levels, size=(REPETITIONS, items), p=weights)
            other = rng.choice(levels, size=(REPETITIONS, items), p=weights)
            mean, se = y.mean(axis=1), y.std(axis=1, ddof=1) / np.sqrt(items)
            critical = float(student_critical(ALPHA, items - 1.0))
            covered = np.zeros(REPETITIONS, bool)
            # the file holds two systems, whose values decide the range
            for limits, rows_of in group_ranges(y, other).items():
                n = np.full(len(rows_of), float(items))
                known = Certainty(mean[rows_of], se[rows_of], n - 1.0, n)
                if limits is not None:
                    bounds = Range(*limits)
                    moments = score_moments(bounds.map_scores(y[rows_of]))
                    known = known._replace(moments=moments, effective=n, bounds=bounds)
                lower, upper = known.limits(critical)
                covered[rows_of] = (lower <= truth + 1e-12) & (truth <= upper + 1e-12)
            plain = np.abs(mean - truth) <= critical * se + 1e-12
            share = covered.mean()
            rows.append(
                {"scores": name, "items": items, "coverage": share, "student": plain.mean(),
                 "error": error_of(share, REPETITIONS)}
            )  # fmt: skip
            print(rows[-1], flush=True)
    return pd.DataFrame(rows)


def error_of(share: float, count: int) -> float:
    """Standard error of a share of so many tables."""
    return float(np.sqrt(max(share * (1.0 - share), 0.25 / count) / count))


GAPS: dict[str, tuple[int, int, float]] = {
    "6 topics x 3 systems, half missing": (6, 3, 0.5),
    "3 topics x 6 systems, half missing": (3, 6, 0.5),
    "10 topics x 5 systems, 70% missing": (10, 5, 0.7),
    "5 topics x 10 systems, 70% missing": (5, 10, 0.7),
    "30 topics x 4 systems, 30% missing": (30, 4, 0.3),
    "50 topics x 5 systems, 50% missing": (50, 5, 0.5),
}
GAP_TABLES = 1_000


def one_shared(rng: np.random.Generator) -> Floats:
    """Ten topics, three systems, each pair with one topic in common."""
    y = rng.normal(size=(9, 1)) + rng.normal(size=(9, 3))
    lacks = np.ones((9, 3), bool)
    for k, pair in enumerate(((0, 1), (1, 2), (0, 2))):
        lacks[k, list(pair)] = False
    lacks[3:6, 0] = lacks[6:8, 1] = lacks[8:, 2] = False
    return np.where(lacks, np.nan, y)


def noisy_few(rng: np.random.Generator) -> Floats:
    """Fifty topics, four systems, one of them four times as noisy with scores on five topics."""
    y = rng.normal(size=(50, 1)) + rng.normal(size=(50, 4)) * [1.0, 1.0, 1.0, 4.0]
    y[5:, 3] = np.nan
    return y


def run_gaps() -> pd.DataFrame:
    """Tables of equal systems with some significant pair, with how many were refused."""
    makers: dict[str, Callable[[np.random.Generator], Floats]] = {
        "one shared topic": one_shared,
        "noisy system with 5 of 50 topics": noisy_few,
    }
    for name, (topics, systems, share) in GAPS.items():

        def make(
            rng: np.random.Generator, topics: int = topics, systems: int = systems, share: float = share
        ) -> Floats:
            y = rng.normal(size=(topics, 1)) + rng.normal(size=(topics, systems))
            return np.where(rng.random(y.shape) < share, np.nan, y)

        makers[name] = make
    rows, procedure = [], parse_procedure("moderated")
    for number, (name, maker) in enumerate(makers.items()):
        rng = np.random.default_rng([79, number])
        false = refused = tested = pairs = 0
        for k in range(GAP_TABLES):
            y = maker(rng)
            y = y[np.isfinite(y).any(axis=1)]
            y = y[:, np.isfinite(y).any(axis=0)]
            try:
                decided = procedure.decide(Tables(y[None], TABLE, seed=number, first=k, n_resamples=499))
            except InputError:
                refused += 1
                continue
            false += bool((decided.p_adjusted <= ALPHA).any())
            tested += int(np.isfinite(decided.p_adjusted).sum())
            pairs += decided.p_adjusted.size
        share = false / GAP_TABLES
        row = {"table": name, "false": share, "error": error_of(share, GAP_TABLES), "refused": refused / GAP_TABLES,
               "tested_pairs": tested / max(pairs, 1)}  # fmt: skip
        rows.append(row)
        print(row, flush=True)
    return pd.DataFrame(rows)


LAYOUTS = ("table", "gaps", "clusters", "tasks", "seeds", "samples", "shards", "unpaired")
ANALYSES = 300


def draw_scores(rng: np.random.Generator, layout: str) -> xr.DataArray:
    """A random table of a layout on a random scale, with or without differences; lower is better for seconds."""
    items, systems = int(rng.integers(4, 60)), int(rng.integers(2, 7))
    more = {"seeds": ("instance", 3), "samples": ("instance", 3), "shards": ("shard", 3)}.get(layout)
    shape = (items, systems) if more is None else (items, systems, more[1])
    y = 0.6 * rng.normal(size=(items, 1, 1)[: len(shape)]) + rng.normal(size=shape)
    effect = rng.choice([0.0, 0.4, 1.5]) * rng.normal(size=systems)
    y = y + effect.reshape(1, -1, *([1] * (len(shape) - 2)))
    scale = str(rng.choice(["0/1", "percent", "1-5", "1-10", "ap", "seconds", "constant"]))
    if scale in ("0/1", "percent"):
        y = (y < rng.uniform(0.0, 2.0)) * (1.0 if scale == "0/1" else 100.0)
    elif scale in ("1-5", "1-10"):
        y = np.clip(np.rint(3.0 + y), 1.0, 5.0 if scale == "1-5" else 10.0)
    elif scale == "ap":
        y = 1.0 / (1.0 + np.exp(-y))
    elif scale == "seconds":
        y = np.exp(0.3 * y)
    else:
        y = np.broadcast_to(np.rint(effect.reshape(1, -1, *([1] * (len(shape) - 2)))), shape).copy()
    if layout == "gaps":
        y = np.where(rng.random(y.shape) < rng.uniform(0.05, 0.6), np.nan, y)
    if layout == "unpaired":
        y = np.where(rng.integers(systems, size=(items, 1)) == np.arange(systems), y, np.nan)
    dims = TABLE if more is None else (*TABLE, more[0])
    scores = xr.DataArray(y, dims=dims, coords={"system": [f"s{k}" for k in range(systems)]})
    scores = scores.rename("seconds" if scale == "seconds" else "score")
    if layout in ("clusters", "tasks"):
        labels = [f"g{k % max(2, items // 4)}" for k in range(items)]
        scores = scores.assign_coords({layout[:-1]: ("topic", labels)})
    return scores


def check_pairs(scores: xr.DataArray, layout: str, seed: int) -> set[str]:
    """Kinds of contradictions in the rows of one comparison, or "refused"."""
    how = {"repeats": layout} if layout in ("seeds", "samples") else {}
    try:
        pairs = compare(scores, n_resamples=499, seed=seed, **how)
    except InputError:
        return {"refused"}
    frame, kinds = pairs.to_frame(), set()
    significant = pairs.reject(ALPHA)
    lower, upper = frame["lower"].to_numpy(), frame["upper"].to_numpy()
    # open ends are 0, so that a significant pair may have a limit of 0 but none beyond
    if (significant & (lower < 0.0) & (upper > 0.0)).any() or (
        significant & (lower == 0.0) & (upper == 0.0)
    ).any():
        kinds.add("significant, interval holds 0")
    if (~significant & ((lower > 0.0) | (upper < 0.0))).any():
        kinds.add("tied, interval leaves out 0")
    if (significant & ~(frame["p_adjusted"] <= ALPHA)).any():
        kinds.add("significant, p above the level")
    means = pairs.intervals()
    widths = np.concatenate([upper - lower, (means["upper"] - means["lower"]).to_numpy()])
    if (widths <= 0.0).any():
        kinds.add("no width")
    return kinds


def check_gate(scores: xr.DataArray, layout: str) -> set[str]:
    """Kinds of contradictions in the row of one gate, or "refused"."""
    values = scores.to_numpy()
    margin = 0.05 * max(float(np.nanmax(values) - np.nanmin(values)), 1.0)
    repeats = layout if layout in ("seeds", "samples") else None
    try:
        verdict = gate("s0", "s1", scores=scores, margin=margin, repeats=repeats)
    except InputError:
        return {"gate refused"}
    return check_verdict(verdict, scores.name == "seconds")


def check_verdict(verdict: Gate, lower_is_better: bool) -> set[str]:
    """Kinds of contradictions in a gate's row: p, interval and needed are the verdict's."""
    kinds = set()
    of_margin = verdict.verdict in ("no worse", "inconclusive")
    level = verdict.alpha / 2.0 if of_margin else verdict.alpha
    if (verdict.p <= level) != (verdict.verdict != "inconclusive"):
        kinds.add("gate: p is not the verdict's")
    holds = verdict.lower < 0.0 < verdict.upper
    if verdict.verdict in ("better", "worse") and holds:
        kinds.add("gate: significant, interval holds 0")
    worst = -verdict.upper if lower_is_better else verdict.lower
    if np.isfinite(worst) and (worst > -verdict.margin) != verdict.passes:
        kinds.add("gate: passes, interval beyond the margin, or the reverse")
    if (verdict.needed is not None) and verdict.verdict != "inconclusive":
        kinds.add("gate: needed without need")
    if verdict.upper <= verdict.lower:
        kinds.add("no width")
    return kinds


def run_rows() -> pd.DataFrame:
    """Contradictions by layout."""
    rows: dict[str, dict[str, int]] = {layout: {"analyses": 0} for layout in LAYOUTS}
    for number in range(ANALYSES):
        rng = np.random.default_rng([83, number])
        layout = LAYOUTS[number % len(LAYOUTS)]
        scores = draw_scores(rng, layout)
        kinds = check_pairs(scores, layout, number) | check_gate(scores, layout)
        rows[layout]["analyses"] += 1
        for kind in kinds:
            rows[layout][kind] = rows[layout].get(kind, 0) + 1
            if "refused" not in kind:
                print(number, layout, kind, flush=True)
    return pd.DataFrame(rows).T.fillna(0).astype(int).rename_axis("layout").reset_index()


PARTS: dict[str, Callable[[], pd.DataFrame]] = {
    "gate": run_gate,
    "means": run_means,
    "gaps": run_gaps,
    "rows": run_rows,
}
EVERY = PARTS | sure_statements.PARTS


def write_summary() -> None:
    """Write docs/bench/sureness.md from the tables of all parts."""
    gate, means, gaps, rows = (pd.read_csv(OUT / f"sureness_{part}.csv") for part in PARTS)

    def percent(values: pd.Series) -> str:
        low, high = 100.0 * values.min(), 100.0 * values.max()
        return f"{low:.1f}" if high - low < 0.05 else f"{low:.1f}–{high:.1f}"

    lines = [
        "| statement | nominal, % | measured, % (lowest–highest) | Student's t, % | settings | MC error, at most |",
        "|---|---|---|---|---|---|",
    ]
    for scale, part in gate.groupby("scale", sort=False):
        lines.append(
            f"| no worse, at a loss of the margin: {scale} | at most 2.5 | {percent(part['false'])} |"
            f" {percent(part['false_student'])} | {len(part)} | {100 * part['error'].max():.1f} |"
        )
    many = gate[gate["items"] >= 200]
    for scale, part in many.groupby("scale", sort=False):
        lines.append(
            f"| no worse, of equal systems, 200 items or more: {scale} | power | {percent(part['power'])} |"
            f" {percent(part['power_student'])} | {len(part)} | 1.1 |"
        )
    for name, part in means.groupby("scores", sort=False):
        lines.append(
            f"| interval of a mean covers it: {name} | 95 | {percent(part['coverage'])} |"
            f" {percent(part['student'])} | {len(part)} | {100 * part['error'].max():.1f} |"
        )
    for row in gaps.itertuples():
        refused = f", {100 * row.refused:.0f}% refused" if row.refused else ""
        lines.append(
            f"| some equal pair is significant: {row.table} | at most 5 | {100 * row.false:.1f}{refused} | | 1 |"
            f" {100 * row.error:.1f} |"
        )
    kinds = [name for name in rows.columns if name not in ("layout", "analyses", "refused", "gate refused")]
    count = int(rows[kinds].to_numpy().sum()) if kinds else 0
    lines.append(
        f"| a row that contradicts its verdict, or an interval of no width | 0 | {count} of"
        f" {int(rows['analyses'].sum())} analyses and their gates | | {len(rows)} layouts | |"
    )
    for part, words in sure_statements.STATEMENTS.items():
        if (path := OUT / f"sureness_{part}.csv").exists():
            lines.extend(sum_up(words, pd.read_csv(path)))
    (OUT / "sureness.md").write_text("\n".join(lines) + "\n")


def sum_up(words: tuple[str, str], frame: pd.DataFrame) -> list[str]:
    """Rows of the summary for a part of `sure_statements`: false statements, and coverage where there is any."""
    false, covered = words
    refused = int(frame["refused"].sum())
    note = f", {100 * refused / (refused + frame['tables'].sum()):.0f}% refused" if refused else ""
    kept = frame[frame["tables"] > 0]
    columns = [(false, "at most 5", "false", "error", note)]
    if "better" in frame:
        name = "P(better by more than the margin) ≥ .975 at a gap of the margin"
        columns.append((name, "at most 2.5", "better", "better_error", ""))
    if covered:
        columns.append((covered, "95", "coverage", "coverage_error", ""))
    rows = []
    for name, nominal, value, error, more in columns:
        low, high = 100.0 * kept[value].min(), 100.0 * kept[value].max()
        rows.append(
            f"| {name} | {nominal} | {low:.1f}–{high:.1f}{more} | | {len(kept)} | {100 * kept[error].max():.1f} |"
        )
    return rows


def write_cells() -> None:
    """Write docs/bench/sure_statements.md, a row a cell of the parts of `sure_statements` that were run."""
    lines = [
        '| | cell | items | tables | false, % | false "better", % | intervals that hold, % | recorded, % |',
        "|---|---|---|---|---|---|---|---|",
    ]
    for part in sure_statements.PARTS:
        path = OUT / f"sureness_{part}.csv"
        for row in pd.read_csv(path).to_dict("records") if path.exists() else ():
            tables = f"{row['tables']}" + (f", {row['refused']} refused" if row["refused"] else "")
            figures = [
                f"{100 * row[value]:.1f} ± {100 * row[error]:.1f}"
                if np.isfinite(row.get(value, np.nan))
                else ""
                for value, error in (
                    ("false", "error"),
                    ("better", "better_error"),
                    ("coverage", "coverage_error"),
                )
            ]
            recorded = f"{100 * row['recorded']:.1f}" if "recorded" in row else ""
            lines.append(
                f"| {part} | {row['cell']} | {row['items']} | {tables} | {' | '.join(figures)} | {recorded} |"
            )
    (OUT / "sure_statements.md").write_text("\n".join(lines) + "\n")


def main() -> None:
    """Run the parts asked for, and write a table of each, and of all where all were run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=list(EVERY), choices=list(EVERY))
    for part in parser.parse_args().parts:
        frame = EVERY[part]()
        frame.round(4).to_csv(OUT / f"sureness_{part}.csv", index=False)
        print(frame.to_string())
    write_cells()
    if all((OUT / f"sureness_{part}.csv").exists() for part in PARTS):
        write_summary()


if __name__ == "__main__":
    main()
