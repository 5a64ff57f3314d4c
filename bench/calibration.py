"""What methods do on data like TREC's: the grid behind "Which method should I use?".

python -m bench.calibration [folder of the data]
python -m bench.calibration --tables      (the tables again, from the figures that are there)

Writes docs/bench/calibration.csv (every figure) and docs/bench/calibration_*.md (what the page shows), but for
calibration_held.md, which bench.advice makes.
"""

from __future__ import annotations

import os
import sys
import time
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import pandas as pd
import xarray as xr

from bench.crew import crew
from bench.replication import load, markdown
from shardwise.io.reader import read_collection
from shardwise.io.scores import read_scores
from shardwise.lab.calibrate import Calibration, calibrate
from shardwise.methods.names import DEFAULTS
from shardwise.scoring.scoring import score
from shardwise.scoring.undefined import fill_undefined
from shardwise.sharding.split import split

ROOT = Path(__file__).parent.parent
TABLES = ROOT / "docs" / "bench"
REPETITIONS = 1000
SIZES = ((25, 20), (50, 5), (50, 20), (50, 40), (100, 20))  # topics, systems
SHARDED = ((30, 20, 5), (50, 20, 2), (50, 20, 5), (50, 20, 10), (100, 10, 5))
TABLE, SHARDS = ("topic", "system"), ("topic", "system", "shard")
EXTRA = {TABLE: ("MD1 none topic",), SHARDS: ("MD6 bh topic+shard", "MD6 hsd shard", "t bh", "tukey")}
ABOUT = {"family": "any", "discovery": "among found", "pair": "each"}
OWN = "own size"


def sources(folder: Path) -> dict[str, xr.DataArray]:
    """Real scores by name; undefined cells count as 0."""
    found = {
        "TREC-8 AP": read_scores(folder / "trec8" / "adhoc8_ap.csv"),
        "TREC-8 P@10": read_scores(folder / "trec8" / "adhoc8_p10.csv"),
        "TREC-3 AP": read_scores(folder / "trec3" / "adhoc3_ap.csv"),
    }
    runs, corpus = load(folder / "trec-covid-r1")
    found["TREC-COVID AP"] = score(runs, ["AP"])["AP"]
    cut = score(runs, ["AP"], split(runs, 5, seed=0, corpus=corpus, unlisted="add"))["AP"].isel(
        split=0, drop=True
    )
    found["TREC-COVID AP, 5 shards"] = fill_undefined(cut, "zero")
    robust = read_collection(
        sorted((folder / "robust2003").glob("input.*.gz")), folder / "robust2003" / "robust03_qrels.txt.gz"
    )
    cut = score(robust, ["AP"], split(robust, 5, seed=0))["AP"].isel(split=0, drop=True)
    found["Robust 2003 AP, 5 shards"] = fill_undefined(cut, "zero")
    return {name: table for name, table in found.items() if isinstance(table, xr.DataArray)}


def designs(scores: xr.DataArray) -> list[dict[str, int]]:
    """Sizes to simulate, with no more systems than there are."""
    there = scores.sizes["system"]
    if "shard" in scores.dims:
        return [{"topics": t, "systems": min(r, there), "shards": s} for t, r, s in SHARDED]
    return [{"topics": t, "systems": min(r, there)} for t, r in SIZES]


def tried(name: str, scores: xr.DataArray, pool: Executor) -> pd.DataFrame:
    """Like 20 of the systems at their own size, as `calibrate` chooses them; then others, to check the advice."""
    dims = SHARDS if "shard" in scores.dims else TABLE
    methods = list(dict.fromkeys([*DEFAULTS[dims].shown, *EXTRA[dims]]))
    step = max(1, scores.sizes["system"] // 20)
    some = scores.isel(system=slice(0, 20 * step, step))
    own = " × ".join(str(some.sizes[d]) for d in dims)
    cases: list[tuple[str, xr.DataArray, dict[str, Any]]] = [
        (f"{own}, {OWN}", some, {"nulls": ["margins", "permute", "flip"]}),
        (f"{own}, topics resampled", some, {"nulls": ["resample"], "claims": [("topic",)]}),
        *(
            (" × ".join(map(str, size.values())), scores, {"nulls": ["margins", "normal"], **size})
            for size in designs(scores)
        ),
    ]
    frames = []
    for seed, (design, table, how) in enumerate(cases, start=1):
        began = time.perf_counter()
        found = calibrate(table, methods, repetitions=REPETITIONS, seed=seed, executor=pool, **how)
        frames.append(row_of(found, name, design))
        print(f"{name}, {design}: {time.perf_counter() - began:.0f} s", flush=True)
    return pd.concat(frames)


def row_of(found: Calibration, name: str, design: str) -> pd.DataFrame:
    chosen = {(v.claim, m) for v in found.verdicts for m in v.use.values()}
    rows = found.table.assign(data=name, design=design)
    rows["advised"] = [(c, m) in chosen for c, m in zip(rows["claim"], rows["method"], strict=True)]
    return rows


def pages(every: pd.DataFrame) -> dict[str, str]:
    """The tables of the page, by name: error rates of each claim, and what was advised."""
    found = {}
    for kind, part in (("tables", every[~every["data"].str.contains("shards")]),
                       ("shards", every[every["data"].str.contains("shards")])):  # fmt: skip
        for claim, own in part.groupby("claim", sort=False):
            key = f"calibration_{kind}_{'_'.join(str(claim).replace(',', '').split())}"
            found[key] = rates_table(own)
    return found


def rates_table(own: pd.DataFrame) -> str:
    """One row a method, one column a collection: lowest to highest promised error rate over the designs."""
    names = list(dict.fromkeys(own["data"]))
    rows = []
    order = own.groupby("method")["rate"].max().sort_values(kind="stable").index
    for method in order:
        mine = own[own["method"] == method]
        error_rate = ABOUT[mine["error_rate"].iloc[0]]
        cells = []
        for name in names:
            cell = mine[mine["data"] == name]
            if cell.empty:
                cells.append("–")
                continue
            low, high = 100 * cell["rate"].min(), 100 * cell["rate"].max()
            failed = int((cell["status"] == "fails").sum())
            text = f"{low:.1f}–{high:.1f}"
            cells.append(f"**{text}** ({failed} of {len(cell)})" if failed else text)
        power = mine["power"].mean()
        rows.append(
            [method, error_rate, "yes" if mine["meant"].iloc[0] else "", *cells, f"{100 * power:.0f}"]
        )
    return markdown(["method", "promises about", "made for it", *names, "power"], rows)


def main() -> None:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if sys.argv[1:] == ["--tables"]:
        write(pd.read_csv(TABLES / "calibration.csv"))
        return
    folder = Path(
        sys.argv[1]
        if len(sys.argv) > 1
        else os.environ.get("SHARDWISE_DATA", ROOT.parent / "shared" / "data")
    )
    with crew() as pool:
        every = pd.concat([tried(name, scores, pool) for name, scores in sources(folder).items()])
    every.round(5).to_csv(TABLES / "calibration.csv", index=False)
    write(every)


def write(every: pd.DataFrame) -> None:
    for name, table in pages(every).items():
        (TABLES / f"{name}.md").write_text(table + "\n")


if __name__ == "__main__":
    main()
