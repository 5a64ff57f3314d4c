"""What was retrieved and what was judged, coded as integers."""

from __future__ import annotations

import itertools
import os
from dataclasses import dataclass, field

import numpy as np

from shardwise.arrays import Bytes, Codes, Grades, Ints
from shardwise.read.archive import load_arrays, save_arrays

UNJUDGED = np.int16(-32768)
"""Grade of a retrieved document that nobody judged for the topic."""


@dataclass(frozen=True, slots=True, eq=False)
class Collection:
    """Systems, topics and documents as integers, rankings in trec_eval order, judgments.

    The ranking of system r for topic t is ``docs[starts[r * T + t] : starts[r * T + t + 1]]``, best first,
    and ``grades`` has the judgment of each of its entries. Documents are numbered in byte order of their
    names, so codes do not depend on the order of files. Document d is called
    ``names[name_starts[d] : name_starts[d + 1]]``.
    """

    systems: tuple[str, ...]
    topics: tuple[str, ...]
    names: Bytes  # all document names, one after another
    name_starts: Ints  # (n_docs + 1,)
    docs: Codes  # all rankings, one after another, systems outermost
    starts: Ints  # (R * T + 1,)
    grades: Grades  # like docs; UNJUDGED where nobody judged
    qrel_docs: Codes  # judged documents, topic after topic, ascending within a topic
    qrel_grades: Grades  # like qrel_docs
    qrel_starts: Ints  # (T + 1,)
    notes: tuple[str, ...] = field(default=())  # what the reader decided, counted and left out

    @property
    def n_docs(self) -> int:
        """Number of documents that a run retrieved or someone judged."""
        return len(self.name_starts) - 1

    def docnos(self) -> list[str]:
        """Names of all documents, in code order."""
        text = self.names.tobytes()
        edges = self.name_starts.tolist()
        return [text[a:b].decode("utf-8", "surrogateescape") for a, b in itertools.pairwise(edges)]

    def ranking(self, system: int, topic: int) -> Codes:
        """Document codes that a system retrieved for a topic, best first."""
        at = system * len(self.topics) + topic
        return self.docs[self.starts[at] : self.starts[at + 1]]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the collection as one compact file."""
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        facts = {"systems": self.systems, "topics": self.topics, "notes": self.notes}
        save_arrays(path, "collection", arrays, facts)

    def __str__(self) -> str:
        lines = [
            f"{len(self.systems)} systems, {len(self.topics)} topics, {self.n_docs} documents,"
            f" {len(self.docs)} ranked, {len(self.qrel_docs)} judged"
        ]
        return "\n".join([*lines, *(f"- {note}" for note in self.notes)])


_ARRAYS = ("names", "name_starts", "docs", "starts", "grades", "qrel_docs", "qrel_grades", "qrel_starts")


def load_collection(path: str | os.PathLike[str]) -> Collection:
    """Read a collection that ``Collection.save`` wrote."""
    arrays, facts = load_arrays(path, "collection")
    return Collection(
        systems=tuple(facts["systems"]),
        topics=tuple(facts["topics"]),
        notes=tuple(facts["notes"]),
        **arrays,
    )
