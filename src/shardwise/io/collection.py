"""What was retrieved and what was judged, coded as integers."""

from __future__ import annotations

import itertools
import os
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from shardwise.core.arrays import Bools, Bytes, Codes, Floats, Grades, Ints
from shardwise.core.claim import format_count
from shardwise.core.errors import InputError
from shardwise.io.archive import codes_fit, edges_fit, load_arrays, save_arrays
from shardwise.io.trec.conventions import DEFAULT, Conventions

UNJUDGED = np.int16(-32768)
"""Grade of a retrieved document that nobody judged for the topic."""


@dataclass(frozen=True, slots=True, eq=False)
class Subtopics:
    """Judgments by subtopic (intent), for measures of diversity.

    The subtopics of topic t are ``names[starts[t] : starts[t + 1]]``. The judged document at place j of
    ``Collection.qrel_docs`` has the grades ``grades[edges[j] : edges[j + 1]]`` for the subtopics numbered
    ``codes`` within its topic.
    """

    names: tuple[str, ...]
    starts: Ints  # (T + 1,)
    weights: (
        Floats  # like names: probability of each intent, up to a factor; 1 throughout where none is known
    )
    edges: Ints  # (len(qrel_docs) + 1,)
    codes: Codes
    grades: Grades  # like codes


@dataclass(frozen=True, slots=True, eq=False)
class Strata:
    """From which stratum of the pool each judged document was sampled; grades below 0: not sampled."""

    names: tuple[str, ...]
    codes: Codes  # like Collection.qrel_docs


@dataclass(frozen=True, slots=True, eq=False)
class Collection:
    """Systems, topics and documents as integers, rankings in trec_eval order, judgments.

    The ranking of system r for topic t is ``docs[starts[r * T + t] : starts[r * T + t + 1]]``, best first,
    and ``grades`` has the judgment of each of its entries. Documents are numbered in byte order of their
    names, so codes do not depend on the order of files. Document d is called
    ``names[name_starts[d] : name_starts[d + 1]]``. Where judgments are by subtopic, the grade of a document is its
    highest over the subtopics.

    Parameters
    ----------
    systems
        Name of each system.
    topics
        Name of each topic.
    names
        All document names, one after another.
    name_starts
        Where each name begins; the last entry is where the last one ends.
    docs
        All rankings as document numbers, one after another, systems outermost.
    starts
        Where each ranking begins in ``docs``.
    grades
        Judgment of each entry of ``docs``, `UNJUDGED` where nobody judged.
    qrel_docs
        Judged documents, topic after topic, ascending within a topic.
    qrel_grades
        Grade of each of them.
    qrel_starts
        Where each topic begins in ``qrel_docs``.
    notes
        What the reader decided, counted and left out.
    subtopics
        Judgments by subtopic, where there are any.
    strata
        Strata of a sampled pool, where there are any.
    conventions
        What was chosen where evaluation programs differ; `score` follows it.
    reordered
        The runs that are ordered otherwise if scores are compared in the other precision, in that order; None where
        there are none. It is not saved.
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
    subtopics: Subtopics | None = None
    strata: Strata | None = None
    conventions: Conventions = DEFAULT
    reordered: Collection | None = None

    @property
    def n_docs(self) -> int:
        """Number of documents that a run retrieved or someone judged."""
        return len(self.name_starts) - 1

    def docnos(self) -> list[str]:
        """Return names of all documents, in code order.

        Returns
        -------
        list of str
            Name of each document, by its code.
        """
        text = self.names.tobytes()
        edges = self.name_starts.tolist()
        return [text[a:b].decode("utf-8", "surrogateescape") for a, b in itertools.pairwise(edges)]

    def ranking(self, system: int, topic: int) -> Codes:
        """Return document codes that a system retrieved for a topic, best first.

        Parameters
        ----------
        system : int
            Number of the system.
        topic : int
            Number of the topic.

        Returns
        -------
        array of int
            Document codes in the order of the ranking.
        """
        start = system * len(self.topics) + topic
        return self.docs[self.starts[start] : self.starts[start + 1]]

    @property
    def judged_keys(self) -> Ints:
        """Topic × number of documents + document of every judgment, ascending."""
        topics = np.repeat(np.arange(len(self.topics), dtype=np.int64), np.diff(self.qrel_starts))
        return np.asarray(topics * self.n_docs + self.qrel_docs)

    def ranked_keys(self, places: Ints) -> Ints:
        """Return topic × number of documents + document at some places of ``docs``.

        Parameters
        ----------
        places : array of int
            Places in ``docs``.

        Returns
        -------
        array of int
            A number each.
        """
        ranking = np.searchsorted(self.starts, places, side="right") - 1
        return np.asarray(ranking % len(self.topics) * self.n_docs + self.docs[places])

    def pooled_keys(self, depth: int) -> Ints:
        """Return topic × number of documents + document of what some run has among its first, ascending.

        Parameters
        ----------
        depth : int
            How many of the best documents of each run are pooled.

        Returns
        -------
        array of int
            A number for each document of a pool.
        """
        ranks = np.arange(len(self.docs)) - np.repeat(self.starts[:-1], np.diff(self.starts))
        return np.unique(self.ranked_keys(np.flatnonzero(ranks < depth)))

    def keep_judgments(self, keep: Bools) -> Collection:
        """Return the collection with some of its judgments; the other documents are unjudged.

        Parameters
        ----------
        keep : array of bool
            Which judgments stay.

        Returns
        -------
        Collection
            The same runs.
        """
        judged = np.flatnonzero(self.grades != UNJUDGED)
        grades = self.grades.copy()
        grades[judged[np.isin(self.ranked_keys(judged), self.judged_keys[~keep])]] = UNJUDGED
        by, strata = self.subtopics, self.strata
        if by is not None:
            lengths = np.diff(by.edges)
            inside, edges = np.repeat(keep, lengths), np.concatenate([[0], np.cumsum(lengths[keep])])
            codes, of_subtopics = by.codes[inside], by.grades[inside]
            by = replace(by, edges=edges.astype(np.int64), codes=codes, grades=of_subtopics)
        return replace(
            self,
            grades=grades,
            qrel_docs=self.qrel_docs[keep],
            qrel_grades=self.qrel_grades[keep],
            qrel_starts=np.concatenate([[0], np.cumsum(keep)])[self.qrel_starts].astype(np.int64),
            subtopics=by,
            strata=None if strata is None else Strata(strata.names, strata.codes[keep]),
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Collection:
        """Read a collection that `save` wrote.

        Parameters
        ----------
        path : str or path
            The file.

        Returns
        -------
        Collection
            The collection as it was saved.
        """
        arrays, facts = load_arrays(path, "collection")
        try:
            collection = cls._from_arrays(arrays, facts)
            sound = collection._is_sound()
        except (KeyError, IndexError, TypeError, AttributeError, ValueError):
            sound = False
        if not sound:
            raise InputError(
                "is damaged: its numbers do not fit together",
                where=str(path),
                remedy="save the collection again",
            )
        return collection

    @classmethod
    def _from_arrays(cls, arrays: dict[str, Any], facts: dict[str, Any]) -> Collection:
        parts: dict[str, Any] = {
            part: kind(tuple(facts[part]), **{name: arrays.pop(f"{part}_{name}") for name in names})
            for part, (kind, names) in _PARTS.items()
            if part in facts
        }
        return cls(
            systems=tuple(facts["systems"]),
            topics=tuple(facts["topics"]),
            notes=tuple(facts["notes"]),
            conventions=Conventions(**facts.get("conventions", {})),
            **(parts | arrays),
        )

    def _is_sound(self) -> bool:
        """Tell whether every number points at something that is there: compiled code looks no further."""
        runs, topics, judged = len(self.systems) * len(self.topics), len(self.topics), len(self.qrel_docs)
        sound = (
            all(isinstance(name, str) for name in (*self.systems, *self.topics, *self.notes))
            and self.names.dtype == np.uint8
            and edges_fit(self.name_starts, self.n_docs, len(self.names))
            and edges_fit(self.starts, runs, len(self.docs))
            and edges_fit(self.qrel_starts, topics, judged)
            and codes_fit(self.docs, np.int32, self.n_docs)
            and codes_fit(self.qrel_docs, np.int32, self.n_docs)
            and self.grades.dtype == self.qrel_grades.dtype == np.int16
            and (len(self.grades), len(self.qrel_grades)) == (len(self.docs), judged)
        )
        if sound and self.subtopics is not None:
            s = self.subtopics
            of_topic = np.repeat(np.diff(s.starts), np.diff(s.edges[self.qrel_starts]))
            sound = (
                edges_fit(s.starts, topics, len(s.names))
                and edges_fit(s.edges, judged, len(s.codes))
                and len(s.grades) == len(s.codes) == len(of_topic)
                and len(s.weights) == len(s.names)
                and s.weights.dtype == np.float64
                and s.grades.dtype == np.int16
                and codes_fit(s.codes, np.int32, np.iinfo(np.int32).max)
                and bool((s.codes < of_topic).all())
            )
        if sound and self.strata is not None:
            codes = self.strata.codes
            sound = len(codes) == judged and codes_fit(codes, np.int32, len(self.strata.names))
        return sound

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the collection as one compact file, which appears only when it is complete.

        Parameters
        ----------
        path : str or path
            The file; one that is there is replaced.
        """
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        facts: dict[str, Any] = {
            "systems": self.systems,
            "topics": self.topics,
            "notes": self.notes,
            "conventions": asdict(self.conventions),
        }
        for part, (_, names) in _PARTS.items():
            held = getattr(self, part)
            if held is not None:
                arrays |= {f"{part}_{name}": getattr(held, name) for name in names}
                facts[part] = held.names
        save_arrays(path, "collection", arrays, facts)

    def __str__(self) -> str:
        lines = [
            f"{format_count(len(self.systems), 'system')}, {format_count(len(self.topics), 'topic')},"
            f" {format_count(self.n_docs, 'document')}, {len(self.docs):,} ranked, {len(self.qrel_docs):,} judged"
        ]
        return "\n".join([*lines, *(f"- {note}" for note in (*self.notes, self.conventions.sentence))])


_ARRAYS = ("names", "name_starts", "docs", "starts", "grades", "qrel_docs", "qrel_grades", "qrel_starts")
_PARTS: dict[str, tuple[type[Subtopics] | type[Strata], tuple[str, ...]]] = {
    "subtopics": (Subtopics, ("starts", "weights", "edges", "codes", "grades")),
    "strata": (Strata, ("codes",)),
}
