"""Does the laboratory's advice keep? It is asked on half of the topics, and what it advises is tried on the other half.

python -m bench.advice [folder of the data]      (about 15 minutes on one processor)
python -m bench.advice --table                   (the table again, from the figures that are there)

Writes docs/bench/calibration_held.csv and docs/bench/calibration_held.md, which docs/which-method.md shows.
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
from shardwise.lab.calibrate import CLAIMS, Calibration, calibrate
from shardwise.lab.looks import status
from shardwise.lab.verdict import Verdict

ALPHA = 0.05
BUDGET, REPETITIONS = 400, 400  # tables of a world where the advice is asked, and where it is tried
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


def held(folder: Path) -> pd.DataFrame:
    """One row a case and direction: what was advised on one half, and what it did on the other."""
    rows: list[dict[str, Any]] = []
    for name, scores in sources(folder).items():
        began = time.perf_counter()
        parts = halves(scores)
        for here, there in ((0, 1), (1, 0)):
            rows += [
                {"data": name, "half": here, **row} for row in tried(parts[here], parts[there], seed=here + 1)
            ]
        print(f"{name}: {time.perf_counter() - began:.0f} s", flush=True)
    return pd.DataFrame(rows)


def tried(one: xr.DataArray, other: xr.DataArray, seed: int) -> list[dict[str, Any]]:
    """Advice of one half, put to the test on the other."""
    dims = SHARDS if "shard" in one.dims else TABLE
    asked = calibrate(one, METHODS[dims].split("; "), budget=BUDGET, seed=seed)
    rows = []
    for claim, verdict in zip(CLAIMS[dims], asked.verdicts, strict=True):
        rival = RIVAL[claim] if dims == SHARDS else "MD1 hsd topic"
        home = asked.table[asked.table["claim"] == verdict.claim].set_index("method")
        level = float(home.loc[rival, "level"])
        away = {
            alpha: calibrate(
                other, sorted(methods), claims=[claim], alpha=alpha, repetitions=REPETITIONS, seed=100 + seed
            )
            for alpha, methods in wanted(verdict, rival, level).items()
        }
        rows += [row(verdict, k, home, away, rival, level) for k in range(len(verdict.advice))]
    return rows


def wanted(verdict: Verdict, rival: str, level: float) -> dict[float, set[str]]:
    """Methods to try at each level: what is advised, and HSD as it is and at the level where it would hold."""
    found: dict[float, set[str]] = {ALPHA: {rival}}
    for one in verdict.advice:
        found.setdefault(one.alpha, set()).add(one.method)
    if level > 0.0:
        found.setdefault(level, set()).add(rival)
    return found


def row(
    verdict: Verdict, k: int, home: pd.DataFrame, away: dict[float, Calibration], rival: str, level: float
) -> dict[str, Any]:
    one = verdict.advice[k]
    found = of(away[one.alpha], one.method)
    figures = {
        "claim": verdict.claim,
        "promise": one.promise,
        "advised": one.method,
        "alpha": one.alpha,
        "home": home.loc[one.declared, "rate"],
        **{name: found[name] for name in ("rate", "low", "high", "null", "coverage")},
        "status": status(found["low"], found["high"], ALPHA),
    }
    if one.promise == "family":
        hsd = of(away[ALPHA], rival)
        figures |= {"rival": rival, "rival_rate": hsd["rate"], "level": level}
        figures["rival_at_level"] = of(away[level], rival)["rate"] if level > 0.0 else np.nan
    return figures


def of(found: Calibration, method: str) -> pd.Series:  # type: ignore[type-arg]
    return found.table.set_index("method").loc[method]


def table(rows: pd.DataFrame) -> str:
    """One row a case; the two directions beside each other."""
    shown = []
    for (data, claim, promise), both in rows.groupby(["data", "claim", "promise"], sort=False):
        advice = dict.fromkeys(
            f"{m} at {a:g}" if a != ALPHA else m for m, a in zip(both["advised"], both["alpha"], strict=True)
        )
        states = dict.fromkeys(both["status"])
        first = both.iloc[0]
        beside = ["–", "–"]
        if promise == "family":
            beside = [
                f"{_percent(both['rival_rate'])} ({first['rival']})",
                f"{_percent(both['rival_at_level'])} (at {' / '.join(f'{x:.2g}' for x in both['level'])})",
            ]
        tries = [
            f"{100 * r:.1f} ({100 * low:.1f}–{100 * high:.1f}, {null})"
            for r, low, high, null in zip(both["rate"], both["low"], both["high"], both["null"], strict=True)
        ]
        told = [" / ".join(x) for x in (advice, [_percent(both["home"])], tries, states)]
        shown.append([data, claim, ABOUT[promise], *told, *beside])
    head = ["data", "claim", "promise about", "advised", "there, %", "on the other half, %", "which"]
    return markdown([*head, "HSD on the other half, %", "and at its calibrated level, %"], shown)


def _percent(values: pd.Series) -> str:  # type: ignore[type-arg]
    return " / ".join(f"{100 * x:.1f}" if np.isfinite(x) else "–" for x in values)


def main() -> None:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    stored = TABLES / "calibration_held.csv"
    if sys.argv[1:] != ["--table"]:
        usual = os.environ.get("SHARDWISE_DATA", ROOT.parent / "shared" / "data")
        held(Path(sys.argv[1] if len(sys.argv) > 1 else usual)).round(5).to_csv(stored, index=False)
    (TABLES / "calibration_held.md").write_text(table(pd.read_csv(stored)) + "\n")


if __name__ == "__main__":
    main()
