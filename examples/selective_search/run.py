"""Build all instances of the search system, score them, and keep the scores as NetCDF."""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

from selective_search.instances import Setting, score_instances
from selective_search.texts import load_ir_dataset, load_trec

import shardwise as sw

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("SHARDWISE_DATA", ROOT.parent / "shared" / "data"))
SCORES = Path("selective-search-scores.nc")


def main() -> int:
    """Run the experiment."""
    usual = Setting()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--data", type=Path, default=DATA / "vaswani", help="folder of the Vaswani collection"
    )
    parser.add_argument("--ir-dataset", help="a collection of ir_datasets instead, for instance vaswani")
    parser.add_argument("--rates", type=float, nargs="+", default=list(usual.rates))
    for name in ("instances", "shards", "searched", "hits", "seed"):
        parser.add_argument(f"--{name}", type=int, default=getattr(usual, name))
    parser.add_argument("--out", type=Path, default=SCORES)
    asked = parser.parse_args()
    setting = Setting(
        rates=tuple(asked.rates),
        instances=asked.instances,
        shards=asked.shards,
        searched=asked.searched,
        hits=asked.hits,
        seed=asked.seed,
    )
    try:
        texts = load_ir_dataset(asked.ir_dataset) if asked.ir_dataset else load_trec(asked.data)
    except sw.InputError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{len(texts.docnos)} documents, {len(texts.topics)} topics")
    if texts.left_out:
        print(f"{texts.left_out} judgments of documents that the collection does not have were left out")
    start = time.perf_counter()
    scores = score_instances(
        texts, setting, lambda name: print(f"{time.perf_counter() - start:6.1f} s  {name} done", flush=True)
    )
    scores.to_netcdf(asked.out, engine="h5netcdf")
    means = scores[list(setting.measures)].mean(("instance", "topic")).to_dataframe()
    print(means.drop(columns=["rate", "deterministic"]).round(4).to_string())
    print(f"scores are in {asked.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
