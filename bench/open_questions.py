"""What the papers leave open, asked of TREC-COVID's first round: 143 runs, 30 topics, AP.

python -m bench.open_questions [folder of TREC-COVID round 1]
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

import shardwise as sw
from bench.replication import load, related
from shardwise.comparing.rankings import kendall_tau
from shardwise.core.arrays import Bools
from shardwise.io.collection import UNJUDGED, Collection
from shardwise.planning.pools import _judged_keys, _ranked_keys

ROOT = Path(__file__).parent.parent
SHARDS, SPLITS = 5, 3


def sharded(runs: Collection, **how: object) -> xr.DataArray:
    """AP on the shards of three splits, undefined scores zero."""
    made = sw.split(runs, how.pop("shards", SHARDS), n_splits=SPLITS, seed=1, **how)  # type: ignore[arg-type]
    return sw.fill_undefined(sw.score(runs, ["AP"], made)["AP"], "zero")


def fitted(scores: xr.DataArray, model: sw.Model) -> dict[str, float]:
    """Error sd, width of a pair's interval and pairs found by a model, mean over splits."""
    rows = []
    for i in range(scores.sizes["split"]):
        fit = sw.anova(scores.isel(split=i, drop=True), model)
        pairs = sw.compare(fit, "hsd")
        rows.append({"error sd": float(np.sqrt(fit.table.loc["error", "ms"])), "se": float(pairs.se[0]),
                     "pairs": float(pairs.reject().sum())})  # fmt: skip
    return {str(k): float(v) for k, v in pd.DataFrame(rows).mean().items()}


def by_relevant(runs: Collection) -> Iterator[dict[str, object]]:
    """F19 §10: what MD6 gains over MD3 on topics with few, some and many relevant documents."""
    topic_of = np.repeat(np.arange(len(runs.topics)), np.diff(runs.qrel_starts))
    relevant = np.bincount(topic_of[runs.qrel_grades > 0], minlength=len(runs.topics))
    scores = sharded(runs)
    for part, own in zip(("fewest", "middle", "most"), np.array_split(np.argsort(relevant), 3), strict=True):
        some = scores.isel(topic=np.sort(own))
        three, six = fitted(some, sw.MD3), fitted(some, sw.MD6)
        yield {"topics": part, "relevant": f"{relevant[own].min()} to {relevant[own].max()}",
               "error sd MD3": three["error sd"], "error sd MD6": six["error sd"],
               "variance MD6 / MD3": (six["error sd"] / three["error sd"]) ** 2,
               "pairs MD3": three["pairs"], "pairs MD6": six["pairs"]}  # fmt: skip


def without(runs: Collection, keep: Bools) -> Collection:
    """The collection with only some of its judgments."""
    gone = np.sort(_judged_keys(runs)[~keep])
    judged = np.flatnonzero(runs.grades != UNJUDGED)
    grades = runs.grades.copy()
    grades[judged[np.isin(_ranked_keys(runs, judged), gone)]] = UNJUDGED
    ends = np.concatenate([[0], np.cumsum(keep)])[runs.qrel_starts].astype(np.int64)
    return replace(runs, grades=grades, qrel_docs=runs.qrel_docs[keep], qrel_grades=runs.qrel_grades[keep],
                   qrel_starts=ends)  # fmt: skip


def fewer_judgments(runs: Collection) -> Iterator[dict[str, object]]:
    """F19 §10: judgments thinned at random, or topics left out, then shards and models anew."""
    rng = np.random.default_rng(1)
    whole = sw.score(runs, ["AP"])["AP"].mean("topic").to_series()
    scores = sharded(runs)
    n = len(runs.qrel_docs)
    for what in ("judgments", "topics"):
        for share in (1.0, 0.5, 0.25) if what == "judgments" else (0.5, 0.25):
            if what == "judgments":
                kept = rng.random(n) < share
                thin = runs if share == 1.0 else without(runs, kept)
                own = scores if share == 1.0 else sharded(thin)
                judged = n if share == 1.0 else int(kept.sum())
            else:
                some = np.sort(rng.choice(len(runs.topics), round(share * len(runs.topics)), replace=False))
                own, judged = scores.isel(topic=some), int(np.diff(runs.qrel_starts)[some].sum())
            here = fitted(own, sw.MD6)
            like = int(sw.compare(own, "moderated", n_resamples=999).reject().sum())
            tau = kendall_tau(own.mean(("split", "topic", "shard")).to_series().to_dict(), whole.to_dict())
            yield {"kept": f"{share:.0%} of the {what}", "judged": judged, "tau": tau, "se MD6": here["se"],
                   "pairs, these topics": here["pairs"], "pairs, topics like these": like}  # fmt: skip


def uneven(runs: Collection) -> Iterator[dict[str, object]]:
    """FF21 §6: shards of unequal sizes, each counted alike or by its share of the documents."""
    whole = sw.score(runs, ["AP"])["AP"].mean("topic").to_series().to_dict()
    for shares in ((1, 1, 1), (3, 2, 1), (8, 1, 1)):
        if len(set(shares)) > 1:
            scores = sharded(runs, kind="uneven", proportions=shares, shards=None)
        else:
            scores = sharded(runs, shards=3)
        weights = xr.DataArray(np.array(shares) / sum(shares), dims="shard")
        six = fitted(scores, sw.MD6)
        for how, table in (("alike", scores.mean("shard")), ("by size", (scores * weights).sum("shard"))):
            means = table.mean("split")
            tau = kendall_tau(means.mean("topic").to_series().to_dict(), whole)
            found = int(sw.compare(means, "moderated", n_resamples=999).reject().sum())
            yield {"shards": ":".join(map(str, shares)), "counted": how, "tau with whole": tau,
                   "pairs, topics like these": found,
                   "pairs, MD6 these topics": six["pairs"] if how == "alike" else np.nan}  # fmt: skip


def runs_in_the_model(runs: Collection, folder: Path) -> Iterator[dict[str, object]]:
    """V17 §7: models of random, related and diverse runs; widths of a single pair's interval, so that numbers compare."""
    scores = sharded(runs)
    names = list(runs.systems)
    teams = related(runs, folder)
    rng = np.random.default_rng(3)
    yield {"runs": "all", "systems": len(names), "models": 1, **fitted(scores, sw.MD6), "se, least": np.nan}
    sets: dict[str, list[list[str]]] = {
        f"{m} at random": [list(rng.choice(names, m, replace=False)) for _ in range(5)] for m in (5, 20, 80)
    }
    large = sorted(teams.values(), key=len, reverse=True)
    sets["of one team"] = [list(team) for team in large[:8]]
    sets["one of each team"] = [[str(rng.choice(team)) for team in large] for _ in range(5)]
    for name, each in sets.items():
        found = pd.DataFrame([fitted(scores.sel(system=own), sw.MD6) for own in each])
        sizes = {len(own) for own in each}
        yield {"runs": name, "systems": f"{min(sizes)} to {max(sizes)}" if len(sizes) > 1 else min(sizes),
               "models": len(each), **{str(k): float(v) for k, v in found.mean().items()}, "se, least": found["se"].min(),
               "se, most": found["se"].max()}  # fmt: skip


def main() -> None:
    """Print every table."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT.parent / "shared" / "data" / "trec-covid-r1"
    runs, _ = load(folder)
    for rows in (by_relevant(runs), fewer_judgments(runs), uneven(runs), runs_in_the_model(runs, folder)):
        print(pd.DataFrame(rows).round(4).to_markdown(index=False), end="\n\n", flush=True)


if __name__ == "__main__":
    main()
