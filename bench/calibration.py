"""What methods do on data like TREC's: the grid behind "Which method should I use?".

python -m bench.calibration [folder of the data]
python -m bench.calibration --tables      (the tables again, from the figures that are there)
python -m bench.calibration --held        (only the check of the advice on designs that it has not seen)

Writes docs/bench/calibration.csv (every figure) and docs/bench/calibration_*.md (what the page shows).
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import pandas as pd
import xarray as xr

from bench.replication import load, markdown
from shardwise.io.reader import read_collection
from shardwise.io.scores import read_scores
from shardwise.lab.calibrate import CLAIMS, Calibration, calibrate
from shardwise.procedures.vocabulary import DEFAULT
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


def tried(name: str, scores: xr.DataArray) -> pd.DataFrame:
    """Like 20 of the systems at their own size, as `calibrate` chooses them; then others, to check the advice."""
    dims = SHARDS if "shard" in scores.dims else TABLE
    methods = list(dict.fromkeys([*DEFAULT[dims], *EXTRA[dims]]))
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
        found = calibrate(table, methods, repetitions=REPETITIONS, seed=seed, **how)
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
        promise = ABOUT[mine["promise"].iloc[0]]
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
        rows.append([method, promise, "yes" if mine["meant"].iloc[0] else "", *cells, f"{100 * power:.0f}"])
    return markdown(["method", "promises about", "made for it", *names, "power"], rows)


def held(folder: Path) -> pd.DataFrame:
    """Advice for 20 systems of each collection, and what the advised methods do in designs that it has not seen.

    The same systems, but other numbers of them, of topics and of shards, other seeds, and both kinds of margins.
    """
    rows = []
    for name, scores in sources(folder).items():
        dims = SHARDS if "shard" in scores.dims else TABLE
        step = max(1, scores.sizes["system"] // 20)
        some = scores.isel(system=slice(0, 20 * step, step))
        advice = calibrate(some, [*DEFAULT[dims], *EXTRA[dims]], repetitions=REPETITIONS, seed=1)
        for claim, verdict in zip(CLAIMS[dims], advice.verdicts, strict=True):
            at_home = advice.table[advice.table["claim"] == verdict.claim].set_index("method")
            other = {"margins": [], "normal": []} if verdict.use else {}
            for null, seen in other.items():
                for k, size in enumerate(others(some)):
                    how: dict[str, Any] = {"claims": [claim], "nulls": [null], "seed": 100 + k, **size}
                    found = calibrate(some, list(verdict.use.values()), repetitions=REPETITIONS, **how)
                    seen.append(found.table.assign(design=" × ".join(map(str, size.values())), null=null))
            for promise in ("family", "discovery", "pair"):
                if not ((at_home["promise"] == promise) & at_home["meant"]).any():
                    continue
                row = {"data": name, "claim": verdict.claim, "promise": promise}
                method = verdict.use.get(promise)
                if method is None:
                    row |= {"advised": "nothing"}
                else:
                    every = pd.concat([table for seen in other.values() for table in seen])
                    mine = every[every["method"] == method]
                    failed = mine[mine["status"] == "fails"]
                    row |= {"advised": method, "there": at_home.loc[method, "rate"]}
                    row |= {"least": mine["rate"].min(), "most": mine["rate"].max(), "designs": len(mine)}
                    row["fails"] = "; ".join(
                        f"{d}, {n}: {100 * r:.1f}"
                        for d, n, r in zip(failed["design"], failed["null"], failed["rate"], strict=True)
                    )
                rows.append(row)
        print(f"{name}: checked", flush=True)
    return pd.DataFrame(rows)


def others(some: xr.DataArray) -> list[dict[str, int]]:
    """Sizes that the advice has not seen."""
    r = some.sizes["system"]
    if "shard" in some.dims:
        sizes = ((25, r, 5), (75, r, 5), (50, r, 3), (50, r, 8), (50, r // 2, 5))
        return [{"topics": t, "systems": n, "shards": s} for t, n, s in sizes]
    return [{"topics": t, "systems": n} for t, n in ((25, r), (40, r), (100, r), (50, r // 2), (50, r // 4))]


def held_table(checked: pd.DataFrame) -> str:
    rows = []
    for _, row in checked.iterrows():
        head = [str(row["data"]), str(row["claim"]), ABOUT[str(row["promise"])], str(row["advised"])]
        if row["advised"] == "nothing":
            rows.append([*head, "–", "–", "–"])
            continue
        between = f"{100 * row['least']:.1f}–{100 * row['most']:.1f}"
        rows.append([*head, f"{100 * row['there']:.1f}", between, str(row["fails"]) or "nowhere"])
    many = int(checked["designs"].max())
    return markdown(
        ["data", "claim", "promise about", "advised", "there, %", f"in {many} other designs, %", "fails, %"],
        rows,
    )


def main() -> None:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if sys.argv[1:] == ["--tables"]:
        write(pd.read_csv(TABLES / "calibration.csv"))
        return
    folder = Path(
        sys.argv[1]
        if len(sys.argv) > 1 and sys.argv[1] != "--held"
        else os.environ.get("SHARDWISE_DATA", ROOT.parent / "shared" / "data")
    )
    if sys.argv[1:] != ["--held"]:
        grid(folder)
    checked = held(folder)
    (TABLES / "calibration_held.md").write_text(held_table(checked) + "\n")


def grid(folder: Path) -> None:
    every = pd.concat([tried(name, scores) for name, scores in sources(folder).items()])
    every.round(5).to_csv(TABLES / "calibration.csv", index=False)
    write(every)


def write(every: pd.DataFrame) -> None:
    for name, table in pages(every).items():
        (TABLES / f"{name}.md").write_text(table + "\n")


if __name__ == "__main__":
    main()
