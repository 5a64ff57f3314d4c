"""Make inferred_qrels.txt, inferred_run.txt and inferred_transcribed.csv.

python tests/gold/inferred_make.py SCRIPT

SCRIPT is a perl program called as NIST's sample_eval.pl is. The values kept here were NOT made by NIST's program,
which was not at hand: they come from a transcription, retyped by hand, of the parts of it that compute these two
measures, with ten digits printed. An error of transcription would show in the values. Run this again with the original
(per-topic output changed from %6.4f to %.10f) to replace them by real ones.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
HEAD = """\
# infAP (here xinfAP) and infNDCG of inferred_run.txt against inferred_qrels.txt, first 100 documents. NOT made by
# NIST's sample_eval.pl itself but by a hand-retyped transcription of the parts that compute them; see inferred_make.py.
# "even" and "odd" are runs and qrels with only the documents whose number is even or odd.
part,topic,xinfAP,infNDCG
"""


def draw() -> tuple[list[tuple[str, str, str, int]], dict[str, list[str]]]:
    """Judgments (topic, document, stratum, grade) of pools sampled at three rates, and a run."""
    rng = np.random.default_rng(20)
    docs = [f"D{i:03d}" for i in range(240)]
    qrels, run = [], {}
    for topic in ("1", "2", "3", "4"):
        pool = [str(doc) for doc in rng.permutation(docs)[:130]]
        for i, doc in enumerate(pool):
            stratum, rate = ("1", 1.0) if i < 25 else ("2", 0.4) if i < 70 else ("3", 0.15)
            grade = int(rng.choice([0, 0, 0, 1, 1, 2, 3])) if rng.random() < rate else -1
            qrels.append((topic, doc, stratum, grade))
        noise = rng.normal(0, 1, 240)
        depth = {doc: -i / 60 for i, doc in enumerate(pool)}
        order = np.argsort([-(depth.get(doc, -3) + noise[i]) for i, doc in enumerate(docs)])
        run[topic] = [docs[i] for i in order][: int(rng.integers(70, 140))]
    return qrels, run


def write(folder: Path, qrels: list[tuple[str, str, str, int]], run: dict[str, list[str]], part: str) -> None:
    """Write qrels and run, whole or with half of the documents."""

    def inside(doc: str) -> bool:
        return part == "whole" or (int(doc[-1]) % 2 == 0) == (part == "even")

    rows = [f"{topic} 0 {doc} {stratum} {grade}\n" for topic, doc, stratum, grade in qrels if inside(doc)]
    (folder / "inferred_qrels.txt").write_text("".join(rows))
    ranked = [
        f"{topic} Q0 {doc} {i + 1} {1000 - i} sampled\n"
        for topic, docs in run.items()
        for i, doc in enumerate(docs)
        if inside(doc)
    ]
    (folder / "inferred_run.txt").write_text("".join(ranked))


def main() -> None:
    """Draw, evaluate, write."""
    qrels, run = draw()
    write(HERE, qrels, run, "whole")
    lines = []
    for part in ("whole", "even", "odd"):
        with tempfile.TemporaryDirectory() as folder:
            write(Path(folder), qrels, run, part)
            files = [f"{folder}/inferred_qrels.txt", f"{folder}/inferred_run.txt"]
            done = subprocess.run(
                ["perl", sys.argv[1], "-q", *files], capture_output=True, text=True, check=True
            )
        found: dict[str, dict[str, str]] = {}
        for line in done.stdout.splitlines():
            name, topic, value = line.split()
            if name in ("infAP", "infNDCG") and topic != "all":
                found.setdefault(topic, {})[name] = value
        lines += [f"{part},{topic},{row['infAP']},{row['infNDCG']}" for topic, row in found.items()]
    (HERE / "inferred_transcribed.csv").write_text(HEAD + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
