"""Judgments that say more than a grade: by subtopic (ndeval's qrels), or by stratum of a sampled pool."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from shardwise.core.arrays import Floats, Grades, Ints
from shardwise.core.claim import format_count
from shardwise.core.errors import InputError
from shardwise.io.collection import Collection, Strata, Subtopics
from shardwise.io.files import read_text
from shardwise.io.natural_order import natural_key
from shardwise.io.run_tables import RunTable, labelled_table
from shardwise.io.trec.names import MAX_NAME

Kind = Literal["subtopics", "strata"]
_COLUMNS = {
    "subtopics": "topic subtopic document grade",
    "strata": "topic iteration document stratum grade",
}
_LABEL_NAMES = {
    "subtopics": ("subtopic", "subtopic_id", "intent", "iteration"),
    "strata": ("stratum",),
}


@dataclass(frozen=True, slots=True, eq=False)
class Labelled:
    """Judgments in file order, each with its subtopic or stratum."""

    kind: Kind
    source: str
    topics: list[str]
    docs: list[bytes]
    labels: list[str]
    grades: Grades
    repeated: int  # rows that only repeat another, left out here

    def make_table(self) -> RunTable:
        """Return one grade a document, its highest over the subtopics, as plain judgments have it."""
        best: dict[tuple[str, bytes], int] = {}
        for topic, doc, grade in zip(self.topics, self.docs, self.grades.tolist(), strict=True):
            best[topic, doc] = max(grade, best.get((topic, doc), grade))
        topics, docs = [topic for topic, _ in best], [doc for _, doc in best]
        return RunTable(self.source, topics, docs, np.array(list(best.values()), dtype=np.float64))


def parse_labels(sources: Mapping[Path, bytes] | Any, subtopics: bool) -> Labelled | None:
    """Take judgments that have subtopics or strata, from files with their text or from memory; None for plain ones.

    A second column that is a subtopic looks like any other, so the caller must say so; a file of five columns
    has strata, and so has a data frame with a column ``stratum``.
    """
    if isinstance(sources, Mapping) and all(isinstance(source, Path) for source in sources):
        strata = [_count_columns(text) == 5 for text in sources.values()]
        if not subtopics and not any(strata):
            return None
        if any(strata) if subtopics else not all(strata):
            odd = list(sources)[strata.index(subtopics)]
            raise InputError(
                f"has {5 if subtopics else 4} columns, which does not go with the other judgments asked for",
                where=str(odd),
                remedy="judgments have subtopics (4 columns), strata (5 columns), or neither, but throughout",
            )
        kind: Kind = "subtopics" if subtopics else "strata"
        rows = [row for path, text in sources.items() for row in _parse_rows(path, text, kind)]
        return _collect_rows(kind, " and ".join(map(str, sources)), rows)
    frame = sources if isinstance(sources, pd.DataFrame) else None
    if frame is None and subtopics:
        if isinstance(sources, Mapping):
            raise InputError(
                "a dictionary of judgments has no place for subtopics",
                remedy="give a file, or a data frame with a column subtopic",
            )
        frame = pd.DataFrame(list(sources))
    if frame is None or not (subtopics or "stratum" in frame.columns):
        return None
    kind = "subtopics" if subtopics else "strata"
    table, labels = labelled_table(frame, _LABEL_NAMES[kind])
    return _collect_rows(
        kind,
        "qrels",
        [
            (f"qrels, row {row + 1}", topic, doc, label, _parse_grade(f"qrels, row {row + 1}", value))
            for row, (topic, doc, label, value) in enumerate(
                zip(table.topics, table.docs, labels, table.values.tolist(), strict=True)
            )
        ],
    )


def attach_labels(collection: Collection, judged: Labelled, intents: Any = None) -> Collection:
    """Give a collection the subtopics or strata of its judgments."""
    number = {topic: t for t, topic in enumerate(collection.topics)}
    row_of = _judged_rows(collection)
    n_docs = collection.n_docs
    text, edges = collection.names.tobytes(), collection.name_starts.tolist()
    code = {text[edges[d] : edges[d + 1]]: d for d in np.unique(collection.qrel_docs).tolist()}
    rows = [
        (row_of[number[topic] * n_docs + code[doc]], label, grade)
        for topic, doc, label, grade in zip(
            judged.topics, judged.docs, judged.labels, judged.grades.tolist(), strict=True
        )
        if topic in number
    ]
    if judged.kind == "strata":
        names = tuple(sorted({label for _, label, _ in rows}, key=natural_key))
        stratum = {name: c for c, name in enumerate(names)}
        codes = np.empty(len(collection.qrel_docs), dtype=np.int32)
        for row, label, _ in rows:
            codes[row] = stratum[label]
        note = f"judgments from {len(names)} {'stratum' if len(names) == 1 else 'strata'}: {', '.join(names)}"
        return replace(collection, strata=Strata(names, codes), notes=(*collection.notes, note))
    topic_of = np.repeat(np.arange(len(collection.topics)), np.diff(collection.qrel_starts))
    held: list[set[str]] = [set() for _ in collection.topics]
    for row, label, _ in rows:
        held[topic_of[row]].add(label)
    named = [sorted(labels, key=natural_key) for labels in held]
    within = [{label: c for c, label in enumerate(labels)} for labels in named]
    rows.sort(key=lambda row: (row[0], within[topic_of[row[0]]][row[1]]))
    judged_rows = np.array([row for row, _, _ in rows], dtype=np.int64)
    by_topic = Subtopics(
        names=tuple(label for labels in named for label in labels),
        starts=np.concatenate([[0], np.cumsum([len(labels) for labels in named])]).astype(np.int64),
        weights=_weight_subtopics(collection.topics, named, intents),
        edges=np.searchsorted(judged_rows, np.arange(len(collection.qrel_docs) + 1)).astype(np.int64),
        codes=np.array([within[topic_of[row]][label] for row, label, _ in rows], dtype=np.int32),
        grades=np.array([grade for _, _, grade in rows], dtype=np.int16),
    )
    note = f"judgments by {format_count(len(by_topic.names), 'subtopic')}; a document's grade is its highest over them"
    return replace(collection, subtopics=by_topic, notes=(*collection.notes, note))


def _count_columns(text: bytes) -> int:
    """Return number of columns of the first line that has any."""
    start = text[: 1 << 16].lstrip()
    return len(start.split(b"\n", 1)[0].split())


_Row = tuple[str, str, bytes, str, int]  # where, topic, document, label, grade


def _parse_rows(path: Path, text: bytes, kind: Kind) -> Iterable[_Row]:
    width = 4 if kind == "subtopics" else 5
    for number, line in enumerate(text.split(b"\n"), start=1):
        words = line.split()
        if not words:
            continue
        where = f"{path}:{number}"
        if len(words) != width:
            raise InputError(
                f"{format_count(len(words), 'column')} where qrels ({_COLUMNS[kind]}) have {width}",
                where=where,
                remedy="mend the line, or check that the file is complete",
            )
        try:
            topic, label = words[0].decode("utf-8"), words[1 if kind == "subtopics" else 3].decode("utf-8")
        except UnicodeDecodeError:
            raise InputError(
                "the line is not valid UTF-8", where=where, remedy="save the file as UTF-8"
            ) from None
        if len(words[2]) > MAX_NAME or b"\0" in words[2]:
            raise InputError(
                f"document name of more than {MAX_NAME} bytes, or with a zero byte",
                where=where,
                remedy="the file may be damaged: fetch it again",
            )
        yield where, topic, words[2], label, _parse_grade(where, words[-1])


def _parse_grade(where: str, value: bytes | float) -> int:
    try:
        number = float(value)
    except ValueError:
        number = float("nan")
    if not math.isfinite(number) or number != round(number) or abs(number) > 32767:
        shown = value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else f"{value:g}"
        raise InputError(
            f"grade '{shown}' is not a whole number between -32767 and 32767",
            where=where,
            remedy="grades are whole numbers such as 0, 1, 2",
        )
    return int(number)


def _collect_rows(kind: Kind, source: str, rows: Iterable[_Row]) -> Labelled:
    """Return rows without repetitions; contradictions are refused."""
    seen: dict[tuple[str, bytes, str], tuple[str, int]] = {}
    repeated = 0
    for where, topic, doc, label, grade in rows:
        key = (topic, doc, label if kind == "subtopics" else "")
        before = seen.setdefault(key, (label, grade))
        if before != (label, grade):
            shown = doc.decode("utf-8", "backslashreplace")
            now, then = (
                (f"judged {grade}", f"{before[1]} before")
                if before[0] == label
                else (f"in stratum {label}", f"in {before[0]} before")
            )
            about = f"topic {topic}, document '{shown}'" + (f", subtopic {label}" if key[2] else "")
            raise InputError(f"{about} is {now}, but {then}", where=where, remedy="keep one of the two lines")
        repeated += 1
    if not seen:
        raise InputError("there are no judgments", where=source, remedy="check that the file is complete")
    return Labelled(
        kind,
        source,
        [topic for topic, _, _ in seen],
        [doc for _, doc, _ in seen],
        [label for label, _ in seen.values()],
        np.array([grade for _, grade in seen.values()], dtype=np.int16),
        repeated - len(seen),
    )


def _judged_rows(collection: Collection) -> dict[int, int]:
    """Return place of each judged document among the judgments, by topic and document in one number."""
    topic_of = np.repeat(np.arange(len(collection.topics)), np.diff(collection.qrel_starts))
    keys: Ints = topic_of * collection.n_docs + collection.qrel_docs
    return {key: row for row, key in enumerate(keys.tolist())}


def _weight_subtopics(topics: Sequence[str], named: list[list[str]], intents: Any) -> Floats:
    """Return probability of each subtopic, up to a factor; 1 throughout where none is given."""
    if intents is None:
        return np.ones(sum(map(len, named)))
    given = _read_intent_file(Path(intents)) if isinstance(intents, str | os.PathLike) else intents
    weights = []
    for topic, labels in zip(topics, named, strict=True):
        given_weights = {str(label): weight for label, weight in given.get(topic, {}).items()}
        for label in labels:
            weight = given_weights.get(label)
            if weight is None:
                raise InputError(
                    f"no probability for subtopic {label} of topic {topic}",
                    remedy="intents must name every judged subtopic; give 0 to leave one out",
                )
            if not (np.isfinite(weight) and weight >= 0):
                raise InputError(
                    f"probability {weight:g} of subtopic {label} of topic {topic}",
                    remedy="give 0 or more; they need not sum to 1",
                )
            weights.append(float(weight))
        if labels and not any(weights[-len(labels) :]):
            raise InputError(f"all intents of topic {topic} have probability 0", remedy="give one at least")
    return np.array(weights)


def _read_intent_file(path: Path) -> dict[str, dict[str, float]]:
    """Return lines of topic, subtopic and probability, as NTCIR's files of intent probabilities have them."""
    by_topic: dict[str, dict[str, float]] = {}
    for number, line in enumerate(read_text(path).decode("utf-8", "backslashreplace").split("\n"), start=1):
        words = line.split()
        if not words:
            continue
        try:
            topic, label, weight = words
            by_topic.setdefault(topic, {})[label] = float(weight)
        except ValueError:
            raise InputError(
                "the line is not a topic, a subtopic and a probability",
                where=f"{path}:{number}",
                remedy="write for instance: 101 1 0.25",
            ) from None
    return by_topic
