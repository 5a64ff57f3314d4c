"""Reach the verdicts on all claims with ten seeds on every collection, and list those that a seed turns round.

python -m bench.verdict_seeds [folder of the data] [papers, such as f19,v17] [collections, such as TREC-3,TREC-8]

No seed may turn "holds" into "fails", in general or on a collection. Rows: docs/bench/verdict-seeds.csv.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

import shardwise as sw
from bench.replication import ROOT, load, read_robust, related
from shardwise.core.errors import InputError

ROWS = ROOT / "docs" / "bench" / "verdict-seeds.csv"
SEEDS = range(10)
PAPERS = ("f19", "ff21", "v17", "s14", "j15")
DECIDED = {"holds", "fails"}


def list_sources(folder: Path) -> dict[str, Callable[[], Any]]:
    """Return functions that read each collection or table, by its name."""

    def read_table(file: str, measure: str) -> Any:
        return sw.read_scores(folder / file).rename(measure)

    return {
        "TREC-3": lambda: read_table("trec3/adhoc3_ap.csv", "AP"),
        "TREC-8": lambda: read_table("trec8/adhoc8_ap.csv", "AP"),
        "TREC-8 P@10": lambda: read_table("trec8/adhoc8_p10.csv", "P@10"),
        "LLM with seeds": lambda: read_table("llm/tables/llm1.csv", "score"),
        "LLM with epochs": lambda: read_table("llm/tables/inspect_scores.csv", "acc"),
        "Robust 2003": lambda: read_robust(folder / "robust2003"),
        "TREC-COVID r1": lambda: load(folder / "trec-covid-r1")[0],
    }


def judge_seeds(paper: str, name: str, data: Any, folder: Path) -> pd.DataFrame:
    """Return the verdicts of one paper on one collection, a row per claim and seed."""
    sets = related(data, folder / "trec-covid-r1") if name == "TREC-COVID r1" else None
    choices = {"sets": sets} if paper == "v17" and sets else {}
    rows = []
    for seed in SEEDS:
        began = time.process_time()
        try:
            verdicts = sw.papers.EXPERIMENTS[paper](seed=seed, jobs=1, **choices).judge(data)
        except InputError as error:
            print(f"  {paper} on {name}: {error}", flush=True)
            return pd.DataFrame()
        seconds = time.process_time() - began
        for v in verdicts:
            key = {"paper": paper.upper(), "claim": v.name, "data": name, "seed": seed}
            figures = {"splits": v.splits, "numbers": v.numbers, "seconds": round(seconds, 2)}
            rows.append({**key, "verdict": v.verdict, "here": v.here, **figures})
    return pd.DataFrame(rows)


def count_turns(table: pd.DataFrame) -> pd.DataFrame:
    """Return one row per claim and collection whose verdict is not the same with all seeds."""
    rows = []
    for (paper, claim, data), part in table.groupby(["paper", "claim", "data"], sort=False):
        for kind in ("verdict", "here"):
            counts = part[kind].value_counts()
            if len(counts) > 1:
                turned = set(counts.index) >= DECIDED
                words = ", ".join(f"{word} {count}" for word, count in counts.items())
                rows.append([paper, claim, data, kind, words, "TURNED" if turned else ""])
    return pd.DataFrame(rows, columns=["paper", "claim", "data", "kind", "seeds", "flips"])


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT.parent / "shared" / "data"
    papers = sys.argv[2].split(",") if len(sys.argv) > 2 else PAPERS
    sources = list_sources(folder)
    names = sys.argv[3].split(",") if len(sys.argv) > 3 else list(sources)
    known = pd.read_csv(ROWS, keep_default_na=False) if ROWS.exists() else pd.DataFrame()
    for name in names:
        data = sources[name]()
        for paper in papers:
            made = judge_seeds(paper, name, data, folder)
            if made.empty:
                continue
            print(
                f"{paper} on {name}: {made['seconds'].groupby(made['seed']).first().mean():.1f} s", flush=True
            )
            if len(known):
                known = known[(known["paper"] != paper.upper()) | (known["data"] != name)]
            known = pd.concat([known, made], ignore_index=True)
            known.to_csv(ROWS, index=False, lineterminator="\n")
    turns = count_turns(known)
    print(turns.to_string())
    print(
        f"{len(known) // len(SEEDS)} verdicts with {len(SEEDS)} seeds, {(turns['flips'] != '').sum()} turned round"
    )


if __name__ == "__main__":
    main()
