"""Writes the well-formed inputs of the golden cases: small, with ties nowhere and every topic judged.

Run in this folder; the cases must then be written anew (SHARDWISE_UPDATE_GOLDEN=1 pytest tests/test_cli_golden.py).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

HERE = Path(__file__).parent


def main() -> None:
    rng = np.random.default_rng(20)
    docs = [f"{'AB'[d % 2]}-{d:02d}" for d in range(40)]
    topics = [str(401 + t) for t in range(8)]
    relevant = {topic: set(rng.choice(docs, 10, replace=False)) for topic in topics}
    lines = [
        f"{t} 0 {d} {int(d in relevant[t]) * (1 + (k % 5 == 0))}\n"
        for t in topics
        for k, d in enumerate(docs)
    ]
    (HERE / "qrels.txt").write_text("".join(lines))

    def run(path: Path, tag: str, lift: float, depth: int = 20) -> None:
        rows = []
        for t in topics:
            scores = np.round(10 + rng.normal(size=40) + lift * np.array([d in relevant[t] for d in docs]), 3)
            scores += np.arange(40) * 1e-4  # no ties
            best = np.argsort(-scores)[:depth]
            rows += [
                f"{t} Q0 {docs[d]} {rank} {scores[d]:.4f} {tag}\n" for rank, d in enumerate(best, start=1)
            ]
        path.write_text("".join(rows))

    (HERE / "runs").mkdir(exist_ok=True)
    for tag, lift in (("bm25", 1.0), ("dense", 2.5), ("tfidf", 0.5), ("rerank", 2.7)):
        run(HERE / "runs" / f"{tag}.run", tag, lift)
    (HERE / "seeds").mkdir(exist_ok=True)
    for tag, lift in (("old", 1.0), ("new", 2.0), ("other", 1.1)):
        for seed in range(3):
            run(HERE / "seeds" / f"{tag}_seed{seed}.run", f"{tag}{seed}", lift, depth=12)
    quality = {"x": 0.52, "y": 0.48, "z": 0.31}
    hard = rng.normal(0, 0.15, 12)
    table = [
        f"t{k + 1}," + ",".join(f"{q + hard[k] + rng.normal(0, 0.05):.3f}" for q in quality.values())
        for k in range(12)
    ]
    (HERE / "scores.csv").write_text("\n".join(["topic," + ",".join(quality), *table]) + "\n")
    long = [f"{row.split(',')[0]},{name},{value},{float(value) / 2:.3f}" for row in table
            for name, value in zip(quality, row.split(",")[1:], strict=True)]  # fmt: skip
    (HERE / "long.csv").write_text("\n".join(["topic,system,AP,RR", *long]) + "\n")


if __name__ == "__main__":
    main()
