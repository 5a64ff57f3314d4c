"""One worker's way from sources to coded rankings and judgments."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from shardwise.core.arguments import map_parallel
from shardwise.core.arrays import Bytes, Codes, Floats, Grades, Ints, Stamps, Words
from shardwise.core.claim import format_count
from shardwise.core.errors import InputError
from shardwise.io.files import pad_text, read_bytes
from shardwise.io.run_tables import RunTable
from shardwise.io.trec import lines
from shardwise.io.trec.conventions import DEFAULT, Conventions
from shardwise.io.trec.names import (
    MAX_NAME,
    SPARE,
    copy_sorted,
    intern_texts,
    measure_names,
    merge_sorted,
    rehash,
    sort_names,
    spell_names,
)
from shardwise.io.trec.ranking import group_rows, order_groups

_BOM = (0xEF, 0xBB, 0xBF)


@dataclass(frozen=True, slots=True, eq=False)
class ParsedRun:
    """Rankings of one source in trec_eval order, documents in the codes of one worker."""

    source: str
    label: str | None  # the run tag, if one and the same throughout
    topics: tuple[str, ...]
    edges: Ints  # (len(topics) + 1,)
    docs: Codes
    worker: int
    reordered: Codes | None  # the documents in the other precision of scores, where their order differs
    comments: int  # lines passed over
    tails: int  # lines with text behind the run tag


@dataclass(frozen=True, slots=True, eq=False)
class ParsedQrels:
    """Judgments of one source, documents in the codes of one worker."""

    source: str
    topics: tuple[str, ...]
    edges: Ints
    docs: Codes
    grades: Grades
    worker: int
    repeated: int  # judgments that only repeat another
    comments: int  # lines passed over


class Worker:
    """Parses one source after another into a dictionary of its own; several work side by side."""

    def __init__(self, number: int, conventions: Conventions = DEFAULT) -> None:
        self.number = number
        self.conventions = conventions
        self.interner = Interner()
        self._serial = 0
        self._buffer: Bytes = np.empty(1 << 22, dtype=np.uint8)
        self._docs: Codes = np.empty(1 << 16, dtype=np.int32)
        self._values: Floats = np.empty(1 << 16)
        self._stamps: Stamps = np.zeros(1 << 13, dtype=np.uint16)
        # room for the names of a batch, and their hashes
        self._names: Words = np.empty((lines.BATCH + 1) * (MAX_NAME // 8 + 1), dtype=np.uint64)
        self._hashes: Words = np.empty(lines.BATCH, dtype=np.uint64)
        self._topics: dict[bytes, str] = {}  # those seen, decoded: most runs have the same

    def parse_run(self, source: Path | RunTable) -> ParsedRun:
        """Parse and order one run."""
        where = str(source) if isinstance(source, Path) else source.name
        if isinstance(source, Path):
            rows = self._parse_file(source, read_bytes(source, self._buffer), is_run=True)
        else:
            rows = self._code_table(source)
        topics, topic_of_run = _number_topics(rows.topics)
        docs = self._docs[: rows.count].copy()
        values = self._values[: rows.count]
        if rows.by_rank:
            np.negative(values, out=values)
        order = None
        edges = np.append(rows.run_rows, rows.count)
        # topics that come back: bring their lines together
        if len(topics) < len(rows.topics):
            order, edges = group_rows(topic_of_run, rows.run_rows, rows.count, len(topics))
            docs, values = docs[order], values[order]
        if len(self._stamps) < self.interner.count:
            more = np.zeros(2 * self.interner.count - len(self._stamps), dtype=np.uint16)
            self._stamps = np.concatenate([self._stamps, more])
        group, repeat = self._sort_topics(docs, values, edges)
        if repeat >= 0:
            row = repeat if order is None else int(order[repeat])
            raise InputError(
                f"document '{self._decode_name(docs[repeat])}' appears twice for topic {topics[group]}",
                where=self._locate_row(source, row),
                remedy="a run ranks a document once: remove one of the two lines",
            )
        reordered = self._order_in_single(docs, values, edges)
        if reordered is not None and self.conventions.precision == "single":
            docs, reordered = reordered, docs
        return ParsedRun(
            where, rows.label, topics, edges, docs, self.number, reordered, rows.comments, rows.tails
        )

    def _sort_topics(self, docs: Codes, values: Floats, edges: Ints) -> tuple[int, int]:
        """Sort each topic in place; return the topic and row where a document is repeated, or -1 and -1."""
        result = order_groups(
            docs,
            values,
            edges,
            self.interner.words,
            self.interner.stride,
            self._stamps,
            self._serial,
            self.conventions.order == "ascending",
        )
        self._serial += len(edges) - 1
        return result

    def _order_in_single(self, docs: Codes, values: Floats, edges: Ints) -> Codes | None:
        """Return the documents of sorted topics as single precision orders them; None where the order is the same.

        It can differ only where neighbors have different scores that are one number in single precision.
        """
        with np.errstate(over="ignore"):
            singles = values.astype(np.float32)
        merged = (singles[1:] == singles[:-1]) & (values[1:] != values[:-1])
        merged[edges[1:-1] - 1] = False
        if not merged.any():
            return None
        reordered, rounded = docs.copy(), singles.astype(np.float64)
        self._sort_topics(reordered, rounded, edges)
        return None if np.array_equal(reordered, docs) else reordered

    def parse_qrels(self, source: Path | RunTable, text: bytes = b"") -> ParsedQrels:
        """Parse one source of judgments; the text of a file was read before."""
        where = str(source) if isinstance(source, Path) else source.name
        rows = (
            self._parse_file(source, pad_text(text, self._buffer), is_run=False)
            if isinstance(source, Path)
            else self._code_table(source)
        )
        values = self._values[: rows.count]
        odd = np.flatnonzero((values != np.round(values)) | (np.abs(values) > 32767))
        if len(odd):
            raise InputError(
                f"grade {values[odd[0]]:g} is not a whole number between -32767 and 32767",
                where=self._locate_row(source, int(odd[0])),
                remedy="grades are whole numbers such as 0, 1, 2",
            )
        topics, topic_of_run = _number_topics(rows.topics)
        order, edges = group_rows(topic_of_run, rows.run_rows, rows.count, len(topics))
        group = np.repeat(np.arange(len(topics)), np.diff(edges))
        docs = self._docs[: rows.count][order]
        grades = values[order].astype(np.int16)
        keys = group.astype(np.int64) * max(self.interner.count, 1) + docs
        by_key = np.argsort(keys, kind="stable")
        same = keys[by_key][1:] == keys[by_key][:-1]
        clash = np.flatnonzero(same & (grades[by_key][1:] != grades[by_key][:-1]))
        if len(clash):
            first, second = by_key[clash[0]], by_key[clash[0] + 1]
            raise InputError(
                f"topic {topics[group[second]]}, document '{self._decode_name(docs[second])}' is judged"
                f" {grades[second]}, but {grades[first]} before",
                where=self._locate_row(source, int(order[second])),
                remedy="keep one of the two judgments",
            )
        keep = np.sort(by_key[np.concatenate([[True], ~same])])
        kept_edges = np.searchsorted(keep, edges)
        repeated = int(same.sum())
        return ParsedQrels(
            where, topics, kept_edges, docs[keep], grades[keep], self.number, repeated, rows.comments
        )

    def _decode_name(self, code: int) -> str:
        raw: bytes = self.interner.get_words()[code].astype(">u8").tobytes()
        return raw.rstrip(b"\0").decode("utf-8", "backslashreplace")

    def _more_rows(self, room: int) -> None:
        if room > len(self._docs):
            self._docs = np.concatenate([self._docs, np.empty(room - len(self._docs), dtype=np.int32)])
            self._values = np.concatenate([self._values, np.empty(room - len(self._values))])

    def _code_table(self, table: RunTable) -> _Rows:
        self._more_rows(len(table.docs))
        self._docs[: len(table.docs)] = self.interner.intern_names(table.docs)
        self._values[: len(table.docs)] = table.values
        topics: list[str] = []
        run_rows: list[int] = []
        for row, topic in enumerate(table.topics):
            if not topics or topic != topics[-1]:
                topics.append(topic)
                run_rows.append(row)
        return _Rows(topics, np.array(run_rows, dtype=np.int64), len(table.docs))

    def _parse_file(self, path: Path, text: tuple[Bytes, int], is_run: bool) -> _Rows:
        self._buffer, end = text
        buf = self._buffer
        state = np.zeros(lines.STATE_SIZE, dtype=np.int64)
        state[lines.NAMES] = self.interner.count
        state[lines.LABEL_LEN] = state[lines.TOPIC_LEN] = -1
        state[lines.ONE_LABEL] = 1
        state[lines.COMMENTS] = 0 if self.conventions.comments == "skip" else -1
        state[lines.BY_RANK] = is_run and self.conventions.order == "rank"
        if end >= 3 and tuple(buf[:3]) == _BOM:
            state[lines.POS] = 3
        run_rows: Ints = np.empty(1 << 10, dtype=np.int64)
        run_spans: Ints = np.empty(1 << 11, dtype=np.int64)
        slow: Ints = np.empty((1 << 8, 4), dtype=np.int64)
        interner = self.interner
        while True:
            status = lines.parse_lines(
                buf, end, is_run, interner.slots, interner.words, interner.stride, interner.key,
                self._docs, self._values, run_rows, run_spans, slow, self._names, self._hashes, state,
            )  # fmt: skip
            self.interner.count = int(state[lines.NAMES])
            _read_slowly(path, buf, slow[: state[lines.SLOW]], self._values, is_run)
            state[lines.SLOW] = 0
            if status == lines.DONE:
                break
            if status == lines.NO_ROOM:
                self.interner.make_room(int(state[lines.NEED]))
            elif status == lines.NO_ROWS:
                self._more_rows(2 * len(self._docs))
            elif status == lines.NO_RUNS:
                run_rows = np.concatenate([run_rows, run_rows])
                run_spans = np.concatenate([run_spans, run_spans])
            elif status != lines.NO_SLOW:
                raise _line_error(path, buf, state, status, is_run)
        if not state[lines.ROWS]:
            raise InputError(
                "the file is empty", where=str(path), remedy="remove it, or run the system again"
            )
        view, known = buf.data, self._topics
        raw = [bytes(view[a:b]) for a, b in run_spans[: 2 * state[lines.RUNS]].reshape(-1, 2).tolist()]
        for topic in raw:
            if topic not in known:
                known[topic] = _decode_text(topic, f"{path}", "topic")
        topics = [known[topic] for topic in raw]
        label = None
        if is_run and state[lines.ONE_LABEL]:
            start = int(state[lines.LABEL])
            label = _decode_text(
                buf[start : start + int(state[lines.LABEL_LEN])].tobytes(), f"{path}", "run tag"
            )
        return _Rows(
            topics,
            run_rows[: state[lines.RUNS]].copy(),
            int(state[lines.ROWS]),
            label,
            max(0, int(state[lines.COMMENTS])),
            int(state[lines.TAILS]),
            bool(state[lines.BY_RANK]),
        )

    def _locate_row(self, source: Path | RunTable, row: int) -> str:
        """Return the place of a row in words: file and line, or table and row."""
        if isinstance(source, Path):
            skipped = b"#" if self.conventions.comments == "skip" else b"\n"
            filled = 0
            for number, line in enumerate(bytes(self._buffer).split(b"\n"), start=1):
                filled += bool(line.strip()) and not line.lstrip().startswith(skipped)
                if filled == row + 1:
                    return f"{source}:{number}"
        return f"{source.name}, row {row + 1}"


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """Rows just read into the worker's arrays: where the topic changes, and to what."""

    topics: list[str]
    run_rows: Ints
    count: int
    label: str | None = None  # the run tag, if one and the same throughout
    comments: int = 0
    tails: int = 0
    by_rank: bool = False  # the values are ranks


def _decode_text(raw: bytes, where: str, what: str) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        shown = raw.decode("utf-8", "backslashreplace")
        raise InputError(
            f"{what} '{shown}' is not valid UTF-8",
            where=where,
            remedy="the file may be damaged, or save it as UTF-8",
        ) from None


def _number_topics(topics: list[str]) -> tuple[tuple[str, ...], Codes]:
    """Return distinct topics in order of appearance, and the number of each item's topic."""
    number: dict[str, int] = {}
    codes = np.array([number.setdefault(topic, len(number)) for topic in topics], dtype=np.int32)
    return tuple(number), codes


def _read_slowly(path: Path, buf: Bytes, slow: Ints, values: Floats, is_run: bool) -> None:
    """Read the numbers that the kernel left over: infinities, very long ones, and what is no number at all."""
    what = "score" if is_run else "grade"
    for row, start, stop, line in slow.tolist():
        raw = buf[start:stop].tobytes()
        try:
            if b"_" in raw:
                raise ValueError
            values[row] = float(raw)
        except ValueError:
            shown = raw.decode("utf-8", "backslashreplace")
            remedy = "write a number such as 12.5"
            if raw.count(b",") == 1 and raw.replace(b",", b"").replace(b"-", b"").isdigit():
                remedy = f"write it with a point, as in {shown.replace(',', '.')}"
            raise InputError(
                f"{what} '{shown}' is not a number", where=f"{path}:{line}", remedy=remedy
            ) from None
        if np.isnan(values[row]):
            raise InputError(
                f"{what} is NaN, which has no place in an order",
                where=f"{path}:{line}",
                remedy="remove the line or give the document a number",
            )


def _line_error(path: Path, buf: Bytes, state: Ints, status: int, is_run: bool) -> InputError:
    where = f"{path}:{int(state[lines.LINE]) + 1}"
    if status == lines.BAD_BYTE:
        byte = int(buf[state[lines.ERROR_AT]])
        return InputError(
            f"byte 0x{byte:02x} does not belong in a text file",
            where=where,
            remedy="the file may be damaged: fetch it again",
        )
    if status == lines.LONG_NAME:
        return InputError(
            f"document name of more than {MAX_NAME} bytes",
            where=where,
            remedy="the file may be damaged: fetch it again",
        )
    columns = int(state[lines.COLUMNS])
    want, other = (6, 4) if is_run else (4, 6)
    kind = "run (topic Q0 document rank score tag)" if is_run else "qrels (topic iteration document grade)"
    problem = (
        f"{format_count(columns, 'column')} where a {kind} has {want}"
        if is_run
        else f"{format_count(columns, 'column')} where {kind} have {want}"
    )
    if columns == other:
        remedy = (
            "this looks like a qrels file given as a run"
            if is_run
            else "this looks like a run given as qrels"
        )
    else:
        remedy = "mend the line, or check that the file is complete"
    return InputError(problem, where=where, remedy=remedy)


SECRET = np.uint64(secrets.randbits(64))


class Interner:
    """A growing dictionary of names, filled by one worker.

    Hashes begin with a secret of this process, so that nobody can choose names that all fall into one slot; codes do
    not depend on it.
    """

    def __init__(self) -> None:
        self.key = SECRET
        self.clear_names()

    def clear_names(self) -> None:
        """Forget all names, and give their memory back."""
        self.count = 0
        self.stride = 2
        self.slots: Words = np.zeros(1 << 14, dtype=np.uint64)
        self.words: Words = np.zeros((self.stride << 13) + SPARE, dtype=np.uint64)

    def make_room(self, n_words: int) -> None:
        """Make room for one more name of that many words, and for as many again as there are."""
        if n_words > self.stride:
            wide = np.zeros(len(self.words) // self.stride * n_words + SPARE, dtype=np.uint64)
            wide[: self.count * n_words].reshape(-1, n_words)[:, : self.stride] = self.get_words()
            self.words, self.stride = wide, n_words
        if (self.count + 1) * 2 >= len(self.slots):
            self.slots = np.zeros(len(self.slots) * 2, dtype=np.uint64)
            rehash(self.slots, self.words, self.stride, self.key, self.count)
        if (self.count + 1) * self.stride + SPARE > len(self.words):
            self.words = np.concatenate([self.words, np.zeros(len(self.words), dtype=np.uint64)])

    def get_words(self) -> Words:
        """Return (count, stride) words of the names so far, by code."""
        return self.words[: self.count * self.stride].reshape(self.count, self.stride)

    def intern_names(self, names: list[bytes]) -> Codes:
        """Return codes of some names, new ones included."""
        codes = np.empty(len(names), dtype=np.int32)
        edges = np.concatenate([[0], np.cumsum([len(name) for name in names])]).astype(np.int64)
        text = np.frombuffer(b"".join(names), dtype=np.uint8)
        scratch = np.empty(-(-max(map(len, names), default=1) // 8), dtype=np.uint64)
        done = 0
        while done < len(names):
            self.make_room(-(-len(names[done]) // 8))
            done, self.count = intern_texts(
                text, edges, codes, done, self.slots, self.words, self.stride, self.key, self.count, scratch
            )
        return codes


@dataclass(frozen=True, slots=True, eq=False)
class Merged:
    """The names of several interners in byte order, and what became of each one's codes."""

    names: Bytes
    name_starts: Ints
    codes: tuple[Codes, ...]  # of each interner: old code -> new code


@dataclass(frozen=True, slots=True, eq=False)
class _Ordered:
    """Names in byte order, and where those of each interner are among them."""

    rows: Words
    codes: tuple[Codes, ...]


def merge_interners(interners: list[Interner]) -> Merged:
    """Number the names of all interners in byte order, so that codes depend on nothing but the names.

    The interners are empty afterwards: with what is made of them, they would take twice the memory.
    """
    jobs = len(interners)
    stride = max(interner.stride for interner in interners)
    parts = list(map_parallel(lambda interner: _sort_interner(interner, stride), interners, jobs=jobs))
    while len(parts) > 1:
        pairs = [parts[i : i + 2] for i in range(0, len(parts), 2)]
        parts = list(map_parallel(_unite_parts, pairs, jobs=jobs))
        del pairs
    rows = parts[0].rows
    starts = np.zeros(len(rows) + 1, dtype=np.int64)
    measure_names(rows, starts)
    names = np.empty(int(starts[-1]), dtype=np.uint8)
    spell_names(rows, starts, names)
    return Merged(names=names, name_starts=starts, codes=parts[0].codes)


def _sort_interner(interner: Interner, stride: int) -> _Ordered:
    """Return the names of one interner, in as many words each as asked."""
    order = np.arange(interner.count, dtype=np.int32)
    sort_names(interner.words, interner.stride, order, np.empty(interner.count, dtype=np.uint64))
    rows = np.empty((interner.count, stride), dtype=np.uint64)
    codes = np.empty(interner.count, dtype=np.int32)
    copy_sorted(interner.words, interner.stride, order, rows, codes)
    interner.clear_names()
    return _Ordered(rows, (codes,))


def _unite_parts(parts: list[_Ordered]) -> _Ordered:
    """Return the names of one part or two, each once."""
    if len(parts) == 1:
        return parts[0]
    a, b = parts
    rows = np.empty((len(a.rows) + len(b.rows), a.rows.shape[1]), dtype=np.uint64)
    code_of_a, code_of_b = np.empty(len(a.rows), dtype=np.int32), np.empty(len(b.rows), dtype=np.int32)
    count = merge_sorted(a.rows, b.rows, rows, code_of_a, code_of_b)
    return _Ordered(
        rows[:count], (*(code_of_a[codes] for codes in a.codes), *(code_of_b[codes] for codes in b.codes))
    )
