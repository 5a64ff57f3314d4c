"""Small collections out of pytrec_eval's dictionaries, and their shards as filtered copies."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import numpy as np

from shardwise.io.collection import UNJUDGED, Collection
from shardwise.sharding.splits import Splits

V = TypeVar("V")
Qrels = dict[str, dict[str, int]]
Run = dict[str, dict[str, float]]


def collection_of(runs: dict[str, Run], qrels: Qrels) -> Collection:
    """Code runs and judgments as integers; rankings by score descending, docno descending."""
    names = {doc for judged in qrels.values() for doc in judged}
    names |= {doc for run in runs.values() for ranking in run.values() for doc in ranking}
    docnos = sorted(names, key=lambda name: name.encode())
    code = {name: d for d, name in enumerate(docnos)}
    docs: list[int] = []
    grades: list[int] = []
    starts = [0]
    for run in runs.values():
        for topic, judged in qrels.items():
            ranking = sorted(run.get(topic, {}).items(), key=lambda x: (x[1], x[0].encode()), reverse=True)
            docs += [code[doc] for doc, _ in ranking]
            grades += [judged.get(doc, int(UNJUDGED)) for doc, _ in ranking]
            starts.append(len(docs))
    judgments = [sorted((code[doc], grade) for doc, grade in judged.items()) for judged in qrels.values()]
    flat = [pair for pairs in judgments for pair in pairs]
    encoded = [name.encode() for name in docnos]
    return Collection(
        systems=tuple(runs),
        topics=tuple(qrels),
        names=np.frombuffer(b"".join(encoded), dtype=np.uint8),
        name_starts=np.cumsum([0, *map(len, encoded)], dtype=np.int64),
        docs=np.array(docs, dtype=np.int32),
        starts=np.array(starts, dtype=np.int64),
        grades=np.array(grades, dtype=np.int16),
        qrel_docs=np.array([doc for doc, _ in flat], dtype=np.int32),
        qrel_grades=np.array([grade for _, grade in flat], dtype=np.int16),
        qrel_starts=np.cumsum([0, *map(len, judgments)], dtype=np.int64),
    )


def die(collection: Collection, n_shards: int, n_splits: int = 1, seed: int = 1) -> Splits:
    """Every document rolls a die."""
    rng = np.random.default_rng(seed)
    shards = rng.integers(0, n_shards, (n_splits, collection.n_docs)).astype(np.int16)
    sizes = np.stack([np.bincount(row, minlength=n_shards) for row in shards])
    labels = tuple(f"s{k}" for k in range(n_shards))
    return Splits(shards, n_shards, "die", seed, sizes, labels, collection.names, collection.name_starts)


def in_shard(
    runs: dict[str, Run], qrels: Qrels, collection: Collection, splits: Splits, split: int, shard: int
) -> tuple[dict[str, Run], Qrels]:
    """Runs and judgments with the documents of the other shards taken out."""
    inside = {
        doc for doc, k in zip(collection.docnos(), splits.shards[split].tolist(), strict=True) if k == shard
    }

    def only(table: dict[str, dict[str, V]]) -> dict[str, dict[str, V]]:
        return {topic: {d: v for d, v in row.items() if d in inside} for topic, row in table.items()}

    return {name: only(run) for name, run in runs.items()}, only(qrels)


def write_runs(folder: Path, systems: int = 3) -> list[Path]:
    """Files of runs of six topics, and beside them their judgments, ``qrels``."""
    rng = np.random.default_rng(3)
    found = []
    for r in range(systems):
        lines = [
            f"{t} Q0 d{d} {k + 1} {50 - k} s{r}"
            for t in range(6)
            for k, d in enumerate(rng.permutation(40)[:15])
        ]
        found.append(folder / f"run{r}.txt")
        found[-1].write_text("\n".join(lines) + "\n")
    judged = [f"{t} 0 d{d} {rng.integers(0, 3)}" for t in range(6) for d in range(40)]
    (folder / "qrels").write_text("\n".join(judged) + "\n")
    return found
