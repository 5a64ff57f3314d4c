"""Does the laboratory's advice keep? It is asked on half of the topics, and what it advises is tried on the other half.

python -m bench.advice [folder of the data]      (about 20 minutes on one processor)
python -m bench.advice --try                     (only the tries, of the advice that is there)
python -m bench.advice --table                   (only the table, of the figures that are there)

Writes docs/bench/calibration_held.csv and docs/bench/calibration_held.md, which docs/validation.md shows.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bench.calibration import ABOUT, ROOT, SHARDS, TABLE, TABLES, sources
from bench.replication import markdown
from shardwise.lab.calibrate import CLAIMS, calibrate
from shardwise.lab.trial import judge_interval
from shardwise.lab.verdict import two_digits
from shardwise.methods.names import parse_procedure

ALPHA = 0.05
BUDGET = 400  # tables of a scenario where the advice is asked
REPETITIONS = {TABLE: 1000, SHARDS: 400}  # where it is tried
SEED = 13  # of the halves
METHODS = {
    TABLE: "moderated; moderated holm; moderated bh; moderated none; MD1 hsd topic; MD1 bh topic;"
    " t holm; t bh; t none; max-t",
    SHARDS: "moderated; moderated holm; moderated bh; t holm; t bh; MD6 hsd topic; MD6 bh topic;"
    " moderated holm these; moderated bh these; stratified holm; stratified bh; MD6 hsd; MD6 bh;"
    " moderated topic+shard; moderated holm topic+shard; moderated bh topic+shard;"
    " MD6 hsd topic+shard; MD6 bh topic+shard",
}
RIVAL = {(): "MD6 hsd", ("topic",): "MD6 hsd topic", ("topic", "shard"): "MD6 hsd topic+shard"}


def halves(scores: xr.DataArray) -> tuple[xr.DataArray, xr.DataArray]:
    """Twenty systems, every other topic of a random order in each half."""
    step = max(1, scores.sizes["system"] // 20)
    some = scores.isel(system=slice(0, 20 * step, step))
    order = np.random.default_rng(SEED).permutation(some.sizes["topic"])
    one, other = (some.isel(topic=np.sort(order[k::2])) for k in range(2))
    return one, other


def asked(name: str, half: int, scores: xr.DataArray) -> list[dict[str, Any]]:
    """What is advised on one half: a row for each claim and promise, and the level of HSD."""
    dims = SHARDS if "shard" in scores.dims else TABLE
    found = calibrate(scores, METHODS[dims].split("; "), budget=BUDGET, seed=1 + half)
    rows = []
    for over, verdict in zip(CLAIMS[dims], found.verdicts, strict=True):
        home = found.table[found.table["claim"] == verdict.claim].set_index("method")
        rival = RIVAL[over] if dims == SHARDS else "MD1 hsd topic"
        level = two_digits(float(home.loc[rival, "level"]))
        for one in verdict.advice:
            head = {
                "data": name,
                "half": half,
                "claim": verdict.claim,
                "error_rate": one.error_rate,
                "advised": one.method,
            }
            head |= {
                "alpha": one.alpha,
                "home": home.loc[one.declared, "rate"],
                "rival": rival,
                "level": level,
            }
            rows.append(head)
    return rows


def tried(advice: pd.DataFrame, other: xr.DataArray) -> list[dict[str, Any]]:
    """The same rows with what the advice for one claim does on the other half."""
    first = advice.iloc[0]
    rival, level = first["rival"], first["level"]
    wanted: dict[float, set[str]] = {ALPHA: {rival}, level: {rival}}
    for method, alpha in zip(advice["advised"], advice["alpha"], strict=True):
        wanted.setdefault(alpha, set()).add(method)
    tables = REPETITIONS[SHARDS if "shard" in other.dims else TABLE]
    how: dict[str, Any] = {
        "claims": [parse_procedure(rival).claim],
        "repetitions": tables,
        "seed": 101 + int(first["half"]),
    }
    away = {
        alpha: calibrate(other, sorted(methods), alpha=alpha, **how).table.set_index("method")
        for alpha, methods in wanted.items()
    }
    rows = []
    for row in advice.to_dict("records"):
        found = away[row["alpha"]].loc[row["advised"]]
        row |= {name: found[name] for name in ("rate", "low", "high", "null", "coverage")}
        row["status"] = judge_interval(found["low"], found["high"], ALPHA)
        row |= {
            "rival_rate": away[ALPHA].loc[rival, "rate"],
            "rival_at_level": away[level].loc[rival, "rate"],
        }
        rows.append(row)
    return rows


def held(folder: Path, advice: pd.DataFrame | None) -> pd.DataFrame:
    """One row a case and direction: what is advised on one half, and what it does on the other."""
    rows: list[dict[str, Any]] = []
    for name, scores in sources(folder).items():
        began = time.perf_counter()
        parts = halves(scores)
        for half in range(2):
            mine = pd.DataFrame(asked(name, half, parts[half])) if advice is None else advice
            mine = mine[(mine["data"] == name) & (mine["half"] == half)]
            for _, of_claim in mine.groupby("claim", sort=False):
                rows += tried(of_claim, parts[1 - half])
        print(
            f"{name}: {time.perf_counter() - began:.0f} s, {time.process_time():.0f} s of processors so far",
            flush=True,
        )
    return pd.DataFrame(rows)


def table(rows: pd.DataFrame) -> str:
    """One row a case; the two directions beside each other."""
    shown = []
    for (data, claim, error_rate), both in rows.groupby(["data", "claim", "error_rate"], sort=False):
        advice = dict.fromkeys(
            f"{m} at {a:g}" if a != ALPHA else m for m, a in zip(both["advised"], both["alpha"], strict=True)
        )
        states = dict.fromkeys(both["status"])
        first = both.iloc[0]
        beside = ["–", "–"]
        if error_rate == "family":
            beside = [
                f"{_percent(both['rival_rate'])} ({first['rival']})",
                f"{_percent(both['rival_at_level'])} (at {' / '.join(f'{x:.2g}' for x in both['level'])})",
            ]
        tries = [
            f"{100 * r:.1f} ({100 * low:.1f}–{100 * high:.1f}, {null})"
            for r, low, high, null in zip(both["rate"], both["low"], both["high"], both["null"], strict=True)
        ]
        told = [" / ".join(x) for x in (advice, [_percent(both["home"])], tries, states)]
        shown.append([data, claim, ABOUT[error_rate], *told, *beside])
    head = ["data", "claim", "promise about", "advised", "there, %", "on the other half, %", "which"]
    return markdown([*head, "HSD on the other half, %", "and at its calibrated level, %"], shown)


def _percent(values: pd.Series) -> str:  # type: ignore[type-arg]
    return " / ".join(f"{100 * x:.1f}" if np.isfinite(x) else "–" for x in values)


def main() -> None:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    stored, words = TABLES / "calibration_held.csv", sys.argv[1:]
    if words != ["--table"]:
        usual = os.environ.get("SHARDWISE_DATA", ROOT.parent / "shared" / "data")
        advice = pd.read_csv(stored) if words == ["--try"] else None
        folder = Path(words[0] if words and advice is None else usual)
        held(folder, advice).round(5).to_csv(stored, index=False)
    (TABLES / "calibration_held.md").write_text(table(pd.read_csv(stored)) + "\n")


if __name__ == "__main__":
    main()
