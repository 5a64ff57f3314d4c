"""TREC-like runs and qrels with known system quality, for demonstrations, tests and benchmarks."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from shardwise.core.arguments import validate_count
from shardwise.core.arrays import Codes, Floats, Ints, make_generator
from shardwise.core.errors import InputError, Option
from shardwise.core.shown import Drawn
from shardwise.io.atomic import write_atomically
from shardwise.io.collection import Collection
from shardwise.io.reader import read_collection

_SOURCES = ("GAZ", "WIRE", "REGISTER", "TIMES")


@dataclass(frozen=True, slots=True, eq=False)
class SimulatedCollection(Drawn):
    """Runs and judgments, and the truth they were drawn from."""

    systems: tuple[str, ...]
    topics: tuple[str, ...]
    quality: Floats  # (R,) true quality of each system, best first
    difficulty: Floats  # (T,) what each topic takes from every system
    interaction: Floats  # (T, R) what a topic gives to or takes from a single system
    docs: Codes  # (R, T, depth) numbers of the retrieved documents, best first
    scores: npt.NDArray[np.float32]  # (R, T, depth)
    qrel_docs: tuple[Ints, ...]  # per topic, numbers of the judged documents
    qrel_grades: tuple[Ints, ...]
    corpus: int  # number of documents in the corpus

    def docno(self, number: int) -> str:
        """Return the name of a document.

        Parameters
        ----------
        number : int
            Its number in the corpus, from 0.

        Returns
        -------
        str
            The name, as runs and judgments have it.
        """
        # one of four sources, a volume and a number, of varying length
        source = _SOURCES[number * len(_SOURCES) // self.corpus]
        return f"{source}{number // 9973 % 90 + 10}-{number % 9973 * 7 % 9973}-{number // 9973}"

    def write(self, folder: str | os.PathLike[str]) -> tuple[Path, Path]:
        """Write ``runs/*.run`` and ``qrels.txt``; return the folder of the runs and the qrels file.

        Parameters
        ----------
        folder : str or path
            Where to; it is made if it is not there.

        Returns
        -------
        tuple of Path
            Folder of the runs, and the qrels file.
        """
        root = Path(folder)
        (root / "runs").mkdir(parents=True, exist_ok=True)
        for name, content in render_files(self):
            write_atomically(root / name, content)
        return root / "runs", root / "qrels.txt"

    def collection(self) -> Collection:
        """Return the same runs and judgments as a Collection, without files.

        Returns
        -------
        Collection
            As `read_collection` would read the files.
        """
        runs = {
            system: {
                topic: {
                    self.docno(int(d)): float(s)
                    for d, s in zip(self.docs[r, t], self.scores[r, t], strict=True)
                }
                for t, topic in enumerate(self.topics)
            }
            for r, system in enumerate(self.systems)
        }
        qrels = {
            topic: {self.docno(int(d)): int(g) for d, g in zip(docs, grades, strict=True)}
            for topic, docs, grades in zip(self.topics, self.qrel_docs, self.qrel_grades, strict=True)
        }
        return read_collection(runs, qrels)


def simulate_collection(
    *,
    topics: int = 50,
    systems: int = 20,
    depth: int = 1000,
    corpus: int = 528_155,
    relevant: float = 80.0,
    pool_depth: int = 100,
    quality_sd: float = 0.35,
    difficulty_sd: float = 0.6,
    interaction_sd: float = 0.4,
    grades: int = 2,
    seed: int = 0,
) -> SimulatedCollection:
    """Simulate runs and pooled judgments of a retrieval campaign.

    A topic has a log-normal number of relevant documents (``relevant`` on average: a few topics have very many,
    many have few) among candidates that look relevant to every system to a degree all systems share, which makes their
    rankings overlap. A system scores a candidate by that shared degree, noise of its own, and, if the
    document is relevant, a lift of 1 + quality - difficulty + interaction.

    Parameters
    ----------
    topics : int
        Number of topics.
    systems : int
        Number of runs.
    depth : int
        Documents that each run retrieves for a topic.
    corpus : int
        Documents of the corpus, at least 4 times the depth.
    relevant : float
        Relevant documents of a topic, on average.
    pool_depth : int
        How many of the best documents of each run are judged.
    quality_sd : float
        Standard deviation of the quality of systems.
    difficulty_sd : float
        Standard deviation of the difficulty of topics.
    interaction_sd : float
        Standard deviation of what a topic gives to or takes from a single system.
    grades : int
        Highest grade of relevance; 0 is not relevant.
    seed : int
        Where the random numbers start; a topic depends on the seed and its number alone.

    Returns
    -------
    SimulatedCollection
        Runs, judgments and the truth behind them.

    >>> made = simulate_collection(topics=3, systems=2, depth=10, corpus=500, relevant=5, pool_depth=5, seed=1)
    >>> made.docs.shape, bool(made.quality[0] >= made.quality[1])
    ((2, 3, 10), True)
    """
    for name, size in (("topics", topics), ("systems", systems), ("depth", depth), ("pool_depth", pool_depth),
                       ("grades", grades)):  # fmt: skip
        validate_count(size, name)
    if not relevant >= 1:
        raise InputError((Option("relevant", relevant), " is too small"), remedy="give at least 1")
    if validate_count(corpus, "corpus") < 4 * depth:
        raise InputError(
            f"a corpus of {corpus} is too small for depth {depth}",
            remedy=f"use at least {4 * depth}",
            argument="corpus",
            value=corpus,
        )
    rng = make_generator(seed, 0)
    quality = np.sort(rng.normal(0.0, quality_sd, systems))[::-1].copy()
    difficulty = rng.normal(0.0, difficulty_sd, topics)
    interaction = rng.normal(0.0, interaction_sd, (topics, systems))
    docs = np.empty((systems, topics, depth), dtype=np.int32)
    scores = np.empty((systems, topics, depth), dtype=np.float32)
    qrels = []
    for t in range(topics):
        lift = np.maximum(0.0, 1.0 + quality - difficulty[t] + interaction[t])
        rng = make_generator(seed, 1, t)
        spread = 0.9
        n_relevant = int(np.clip(rng.lognormal(np.log(relevant) - spread**2 / 2, spread), 1, corpus // 8))
        n_candidates = min(corpus, 6 * depth + n_relevant)
        candidates = rng.choice(corpus, size=n_candidates, replace=False).astype(np.int64)
        grade_of = np.zeros(n_candidates, dtype=np.int64)
        grade_of[:n_relevant] = 1 + rng.binomial(grades - 1, 0.35, n_relevant)
        shared = rng.gumbel(0.0, 1.0, n_candidates).astype(np.float32)
        look = rng.standard_normal((systems, n_candidates), dtype=np.float32)
        look += shared
        look[:, :n_relevant] += (2.0 * lift[:, None] * (0.75 + 0.25 * grade_of[:n_relevant])).astype(
            np.float32
        )
        best = np.argpartition(-look, depth - 1, axis=1)[:, :depth]
        values = np.take_along_axis(look, best, axis=1)
        order = np.argsort(-values, axis=1, kind="stable")
        best = np.take_along_axis(best, order, axis=1)
        scores[:, t] = np.round(10.0 + np.take_along_axis(values, order, axis=1), 4)
        docs[:, t] = candidates[best]
        # at least one relevant document is always judged
        pool = np.unique(docs[:, t, :pool_depth])
        ascending = np.argsort(candidates)
        judged = grade_of[ascending[np.searchsorted(candidates[ascending], pool)]]
        if not judged.any():
            highest = int(np.argmax(grade_of))
            pool, judged = np.append(pool, candidates[highest]), np.append(judged, grade_of[highest])
        qrels.append((pool.astype(np.int64), judged))
    digits = len(str(systems))
    return SimulatedCollection(
        systems=tuple(f"sys{r + 1:0{digits}d}" for r in range(systems)),
        topics=tuple(str(401 + t) for t in range(topics)),
        quality=quality,
        difficulty=difficulty,
        interaction=interaction,
        docs=docs,
        scores=scores,
        qrel_docs=tuple(pair[0] for pair in qrels),
        qrel_grades=tuple(pair[1] for pair in qrels),
        corpus=corpus,
    )


def render_files(made: SimulatedCollection) -> Iterator[tuple[str, bytes]]:
    """Yield the name of each run and of the judgments, relative to their folder, with its content."""
    names = [made.docno(number) for number in range(made.corpus)]
    for system, docs, scores in zip(made.systems, made.docs, made.scores, strict=True):
        lines = [
            f"{topic} Q0 {names[doc]} {rank} {value:.4f} {system}\n"
            for topic, retrieved, values in zip(made.topics, docs.tolist(), scores.tolist(), strict=True)
            for rank, (doc, value) in enumerate(zip(retrieved, values, strict=True), start=1)
        ]
        yield f"runs/{system}.run", "".join(lines).encode()
    lines = [
        f"{topic} 0 {names[doc]} {grade}\n"
        for topic, docs, grades in zip(made.topics, made.qrel_docs, made.qrel_grades, strict=True)
        for doc, grade in zip(docs.tolist(), grades.tolist(), strict=True)
    ]
    yield "qrels.txt", "".join(lines).encode()
