"""Decide on half of the topics and verify on the other half, on real scores; write docs/bench/prediction_*.md.

python -m bench.prediction [folder with trec3, trec8, trec-covid-r1 and robust2003]
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
import xarray as xr

from bench.replication import load, markdown, sharded
from shardwise.io.reader import read_collection
from shardwise.io.scores import read_scores
from shardwise.lab.holdout import PredictiveCheck, across_collections, split_half
from shardwise.scoring.scoring import score
from shardwise.sharding.split import split

ROOT = Path(__file__).parent.parent
TABLES = ROOT / "docs" / "bench"
REPEATS = 200
SHARDS = 5
WHOLE = ("MD1 hsd topic", "MD1 holm topic", "MD1 bh topic", "t none", "t holm", "t bh", "unpaired-t none",
         "wilcoxon holm", "randomization none", "tukey", "banova MD1 marginal-1 bh")  # fmt: skip
SHARDED = ("MD1 hsd topic", "MD2 hsd", "MD3 hsd", "MD6 hsd", "MD6 bh", "MD6 hsd topic", "MD6 bh topic",
           "banova MD3 marginal-1 bh", "banova MD6 marginal-1 bh", "banova MD6 difference bh", "t bh")  # fmt: skip
OVER_SHARDS = ("MD6 hsd", "MD6 hsd topic", "MD6 hsd shard", "MD6 hsd topic+shard", "MD3 hsd", "MD2 hsd")
ACROSS = (
    "MD1 hsd topic",
    "MD6 hsd",
    "MD6 hsd topic",
    "MD6 bh",
    "MD6 bh topic",
    "banova MD3 marginal-1 bh",
    "t bh",
)


def percent(value: float, digits: int = 1) -> str:
    return "–" if np.isnan(value) else f"{100 * value:.{digits}f} %"


def figures(check: PredictiveCheck, extra: bool) -> list[list[str]]:
    rows = []
    single = len(check.repeats) == len(check.table)
    for key, row in check.table.iterrows():
        swing = float("nan") if single else check.spread.loc[key, "reversal"]
        turned = percent(row["reversal"], 2) + ("" if np.isnan(swing) else f" ± {100 * swing:.2f}")
        rows.append(
            [
                *(key if isinstance(key, tuple) else (str(key),)),
                f"{row['found']:.0f} ({percent(row['found_share'], 0)})",
                percent(row["found_again"]),
                turned,
                percent(row["predicted_reversal"], 2),
                percent(row["significant_reversal"], 2),
                *([f"{row['extra']:.0f}", percent(row["extra_reversal"])] if extra else []),
                percent(row["coverage"]),
                f"{row['brier']:.3f}",
            ]
        )
    return rows


HEAD = ["procedure", "pairs found", "found again", "turned ± spread", "predicted", "turned and significant"]
EXTRA = ["more than the reference", "of these turned"]
TAIL = ["inside 95 % interval", "Brier score"]


def curves(checks: dict[str, PredictiveCheck]) -> str:
    rows = []
    for name, check in checks.items():
        frame = check.curve
        for kind in dict.fromkeys(frame["prediction"]):
            part = frame[frame["prediction"] == kind]
            cells = {f"{row.low:g}–{row.high:g}": f"{100 * row.observed:.1f}" for row in part.itertuples()}
            rows.append({"scores": name, "prediction": kind} | cells)
    table = pd.DataFrame(rows).fillna("–")
    bins = [column for column in table.columns if "–" in str(column)]
    bins.sort(key=lambda name: float(str(name).split("–")[0]))
    table = table[["scores", "prediction", *bins]]
    return markdown([str(c) for c in table.columns], table.astype(str).to_numpy().tolist())


def robust(folder: Path) -> xr.DataArray:
    """AP on five even shards, without topics that have an undefined cell."""
    runs = read_collection(str(folder / "input.*.gz"), folder / "robust03_qrels.txt.gz")
    made = split(runs, SHARDS, kind="even", seed=1)
    scores = score(runs, "AP", splits=made)["AP"].isel(split=0)
    return scores.dropna("topic")


def checked(
    name: str,
    scores: xr.DataArray,
    procedures: tuple[str, ...],
    reference: str,
    over: Literal["topic", "shard"] = "topic",
) -> PredictiveCheck:
    start = time.perf_counter()
    check = split_half(scores, procedures, over=over, reference=reference, repeats=REPEATS, seed=1)
    print(f"\n{name}: {time.perf_counter() - start:.0f} s, {check.setting}", flush=True)
    return check


def main() -> None:
    data = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT.parent / "shared" / "data"
    whole = {
        "TREC-3": read_scores(data / "trec3" / "adhoc3_ap.csv"),
        "TREC-8": read_scores(data / "trec8" / "adhoc8_ap.csv"),
    }
    runs, corpus = load(data / "trec-covid-r1")
    covid = sharded(runs, corpus, SHARDS, 1, seed=1)["AP"].isel(split=0).dropna("topic")
    hard = robust(data / "robust2003")
    on_shards = {"TREC-COVID": covid, "Robust 2003": hard}
    for name, scores in {**whole, **on_shards}.items():
        print(name, dict(scores.sizes), flush=True)
    tables: dict[str, str] = {}
    halves = {n: checked(n, s, WHOLE, "MD1 hsd topic") for n, s in whole.items()}
    sharded_halves = {n: checked(n, s, SHARDED, "MD6 hsd topic") for n, s in on_shards.items()}
    for name, check in {**halves, **sharded_halves}.items():
        tables[name] = markdown([*HEAD, *EXTRA, *TAIL], figures(check, True))
    tables["curve"] = curves({**halves, **sharded_halves})
    shards = {n: checked(n, s, OVER_SHARDS, "MD6 hsd topic+shard", "shard") for n, s in on_shards.items()}
    rows = [[name, *row] for name, check in shards.items() for row in figures(check, False)]
    tables["shards"] = markdown(["scores", *HEAD, *TAIL], rows)
    old = np.array([int(topic) <= 450 for topic in hard["topic"].values])
    sets = hard.isel(topic=np.flatnonzero(old)), hard.isel(topic=np.flatnonzero(~old))
    across = across_collections(*sets, ACROSS, names=("old topics", "new topics"))
    print(across, flush=True)
    head = ["procedure", "decided on", *HEAD[1:3], "turned", *HEAD[4:], *TAIL]
    tables["across"] = markdown(head, figures(across, False))
    for name, table in tables.items():
        print(f"\n## {name}\n\n{table}", flush=True)
        (TABLES / f"prediction_{name.lower().replace(' ', '-')}.md").write_text(f"{table}\n")


if __name__ == "__main__":
    main()
