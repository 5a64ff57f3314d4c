"""How documents fall into shards: the kinds of splits and the draws behind them.

Topical shards hold documents about the same: k-means on a sample from random seeds (Kulkarni & Callan 2010, J15).
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
from scipy import sparse

from shardwise.core.arguments import validate_choice, validate_count
from shardwise.core.arrays import Floats, Ints, make_generator
from shardwise.core.claim import format_count
from shardwise.core.errors import Either, InputError, Option, Part
from shardwise.io.collection import Collection
from shardwise.io.files import PathLike, read_bytes
from shardwise.sharding.splits import Splits

Kind = Literal["even", "die", "covered", "uneven", "attribute", "topical"]
Unlisted = Literal["refuse", "add"]
Draw = Literal["even", "die"]
Corpus = int | PathLike | Iterable[str]
Attribute = Callable[[str], str] | Mapping[str, str] | str
Shards = npt.NDArray[np.int16]
_MOST_SHARDS = 32767
_LEAVE: tuple[Part, ...] = (
    *("ask for fewer shards, leave these topics out, or use ", Option("kind", "even")),
    " and leave cells undefined",
)


def split(
    collection: Collection,
    n_shards: int | None = None,
    *,
    kind: Kind = "even",
    n_splits: int = 1,
    seed: int = 0,
    corpus: Corpus | None = None,
    unlisted: Unlisted = "refuse",
    proportions: Sequence[float] | None = None,
    by: Attribute | None = None,
    texts: Contents | None = None,
    sample: float = 1.0,
    draw: Draw = "even",
    rel: int = 1,
    max_tries: int = 1000,
) -> Splits:
    """Divide the documents of a collection into shards, ``n_splits`` times independently.

    Split i depends on (seed, i) and the documents only, never on the order of files.

    Parameters
    ----------
    collection : Collection
        Runs and judgments, as `read_collection` returns them.
    n_shards : int, optional
        Number of shards; left out where ``proportions`` or ``by`` say it.
    kind : str
        ``"even"``: a random permutation cut into parts whose sizes differ by at most one (F19). ``"die"``: every
        document rolls a die of its own (V17). ``"covered"``: the whole split is drawn again until every topic has a
        relevant document in every shard (V17; "NEMP" in FF21). ``"uneven"``: as ``"even"``, with shards of the
        stated ``proportions``. ``"attribute"``: by a property of the document name. ``"topical"``: documents about the
        same together, by k-means (J15 §5).
    n_splits : int
        Number of splits, drawn independently.
    seed : int
        Seed of the random numbers.
    corpus : int, path or iterable of str, optional
        Size of the whole corpus, or its documents (a list, or a file with a name a line). Documents that no run
        retrieved and nobody judged cannot influence a score, so with a size alone the seen documents' shard sizes are
        drawn from the multivariate hypergeometric distribution: the same distribution, without a list. With a list, a
        document's shard depends on the list alone, so that adding a run does not move it. None splits the seen
        documents.
    unlisted : {"refuse", "add"}
        What becomes of seen documents that the list lacks: ``"refuse"``, or ``"add"`` to take them in; of those whose
        text is not known, ``"add"`` puts each into a shard by chance.
    proportions : sequence of float, optional
        Relative sizes of the shards, for ``"uneven"``.
    by : callable, mapping of str to str or str, optional
        For ``"attribute"``: a function of the name, a mapping, or a regular expression whose first group (or whole
        match) is the shard's name.
    texts : mapping or path, optional
        For ``"topical"``: the text or the vector of every document by name, or a file of texts: JSON lines, TREC's
        <DOC> records, or lines of name, tabulator and text.
    sample : float
        For ``"topical"``: share of the documents, drawn for each split, on which the centres are found.
    draw : {"even", "die"}
        How ``"covered"`` splits are drawn: ``"even"`` or ``"die"``.
    rel : int
        Lowest grade of a relevant document, for ``"covered"``.
    max_tries : int
        How often a ``"covered"`` split is drawn at most.

    Returns
    -------
    Splits
        The shard of every document in every split.
    """
    n_splits = validate_count(n_splits, "n_splits", what="splits")
    max_tries = validate_count(max_tries, "max_tries", what="draws")
    validate_choice(kind, "kind", get_args(Kind), what="kind of split")
    validate_choice(unlisted, "unlisted", get_args(Unlisted), what="policy for unlisted documents")
    validate_choice(draw, "draw", get_args(Draw), what="way of drawing")
    if texts is not None and kind != "topical":
        raise InputError(
            ("texts have no effect with ", Option("kind", kind)), remedy=("use ", Option("kind", "topical"))
        )
    if kind == "attribute":
        return _split_by_attribute(collection, by, n_shards, n_splits)
    if kind == "topical":
        validate_count(seed, "seed", least=0)
        return _split_by_topic(collection, n_shards, texts, sample, unlisted, n_splits, seed)
    n, shares = _count_shards(kind, n_shards, proportions)
    notes: list[str] = []
    universe, columns = collection.n_docs, None
    if corpus is None:
        total = universe
    elif isinstance(corpus, int | np.integer):
        total = int(corpus)
        if total < universe:
            raise InputError(
                f"a corpus of {format_count(total, 'document')} is smaller than the {universe:,} that were retrieved or"
                " judged",
                remedy="give the size of the whole corpus",
            )
    else:
        universe, columns = _locate_documents(collection, corpus, unlisted, notes)
        total = universe
    if n > total:
        raise InputError(
            f"{format_count(n, 'shard')} for {format_count(total, 'document')}", remedy="ask for fewer shards"
        )
    sizes = _divide_documents(total, n, shares)
    how = draw if kind == "covered" else kind
    covering = _find_relevant(collection, rel, n) if kind == "covered" else None
    shards = np.empty((n_splits, collection.n_docs), dtype=np.int16)
    all_sizes = np.empty((n_splits, n), dtype=np.int64)
    for i in range(n_splits):
        uncovered: Counter[int] = Counter()
        for attempt in range(max_tries if covering else 1):
            path = (i, attempt) if covering else (i,)
            row, all_sizes[i] = _draw_split(make_generator(seed, *path), how, sizes, universe, total)
            shards[i] = row if columns is None else row[columns]
            if covering is None:
                break
            # topics without a relevant document in some shard
            topic_of, docs, n_topics = covering
            covered = np.zeros((n_topics, n), dtype=bool)
            covered[topic_of, shards[i][docs]] = True
            if covered.all():
                break
            uncovered.update(int(t) for t in np.flatnonzero(~covered.all(axis=1)))
        else:
            worst = ", ".join(collection.topics[t] for t, _ in uncovered.most_common(5))
            raise InputError(
                f"no split with a relevant document of every topic in all {format_count(n, 'shard')} came up in"
                f" {format_count(max_tries, 'draw')}; topics that lacked one most often: {worst}",
                remedy=_LEAVE,
            )
        if covering and attempt:
            notes.append(f"split {i} was drawn {attempt + 1} times until every shard had relevant documents")
    named = (tuple(map(str, range(n))), collection.names, collection.name_starts)
    return Splits(shards, n, kind, seed, all_sizes, *named, tuple(notes))


def _count_shards(
    kind: str, n_shards: int | None, proportions: Sequence[float] | None
) -> tuple[int, Floats | None]:
    """Return the number of shards, and their relative sizes where these are not equal."""
    if kind != "uneven" and proportions is not None:
        raise InputError(
            ("proportions have no effect with ", Option("kind", kind)),
            remedy=("use ", Option("kind", "uneven")),
        )
    if kind == "uneven":
        try:
            shares = np.asarray(() if proportions is None else proportions, dtype=np.float64)
        except (TypeError, ValueError):
            shares = np.empty(0)
        if shares.ndim != 1 or len(shares) < 2 or not (np.isfinite(shares) & (shares > 0)).all():
            raise InputError(
                (Option("kind", "uneven"), " needs two or more positive proportions"),
                remedy=("give them, as in ", Option("proportions", [5, 3, 2])),
                argument="proportions",
                value=proportions,
            )
        if n_shards is not None and validate_count(n_shards, "n_shards", what="shards") != len(shares):
            raise InputError(
                f"{format_count(n_shards, 'shard')}, but {format_count(len(shares), 'proportion')}",
                remedy="leave out the number of shards",
            )
        return len(shares), shares
    if n_shards is None:
        raise InputError(
            "the number of shards is missing", remedy=("give ", Option("n_shards")), argument="n_shards"
        )
    n = validate_count(n_shards, "n_shards", what="shards")
    if n > _MOST_SHARDS:
        raise InputError(
            f"{format_count(n, 'shard')} cannot be made", remedy=f"give a number from 1 to {_MOST_SHARDS}"
        )
    return n, None


def _divide_documents(total: int, n: int, shares: Floats | None) -> Ints:
    """Whole numbers of documents that add up to the total: nearly equal, or nearest to the exact shares."""
    if shares is None:
        return np.asarray(total // n + (np.arange(n) < total % n), dtype=np.int64)
    exact = total * shares / shares.sum()
    sizes: Ints = np.floor(exact).astype(np.int64)
    sizes[np.argsort(-(exact - sizes), kind="stable")[: total - int(sizes.sum())]] += 1
    if not sizes.all():
        k = int(np.argmin(sizes))
        raise InputError(
            f"shard {k} would be empty: proportion {shares[k]:g} of {format_count(total, 'document')} makes"
            f" {exact[k]:.2g}",
            remedy="give it a larger proportion, or leave it out",
            argument="proportions",
            value=tuple(shares.tolist()),
        )
    return sizes


def _draw_split(
    rng: np.random.Generator, how: str, sizes: Ints, seen: int, total: int
) -> tuple[Shards, Ints]:
    """Draw one split: the shard of each seen document, and the sizes of the shards."""
    n = len(sizes)
    if how == "die":
        shards = rng.integers(0, n, size=seen, dtype=np.int16)
        counts = np.bincount(shards, minlength=n).astype(np.int64)
        if total > seen:
            counts += rng.multinomial(total - seen, np.full(n, 1 / n))
        return shards, counts
    counts = sizes if total == seen else rng.multivariate_hypergeometric(sizes, seen, method="marginals")
    return rng.permutation(np.repeat(np.arange(n, dtype=np.int16), counts)), sizes


def _locate_documents(
    collection: Collection, corpus: PathLike | Iterable[str], unlisted: str, notes: list[str]
) -> tuple[int, Ints]:
    """Return the number of documents in a list, and the index in its sorted order of every seen document."""
    if isinstance(corpus, str | os.PathLike):
        buffer, size = read_bytes(Path(corpus), np.empty(1 << 20, dtype=np.uint8))
        listed = [name for line in buffer[:size].tobytes().split(b"\n") if (name := line.strip())]
        if not listed:
            remedy = "give a file with a name a line"
            raise InputError("the document list is empty", where=str(corpus), remedy=remedy)
    else:
        listed = [str(name).encode("utf-8", "surrogateescape") for name in corpus]
    distinct = set(listed)
    if len(distinct) < len(listed):
        again = format_count(len(listed) - len(distinct), "name")
        notes.append(f"{again} in the document list more than once")
    seen = [name.encode("utf-8", "surrogateescape") for name in collection.docnos()]
    missing = [name for name in seen if name not in distinct]
    if missing:
        some = ", ".join(name.decode("utf-8", "backslashreplace") for name in missing[:3])
        if unlisted != "add":
            raise InputError(
                f"{format_count(len(missing), 'document')} retrieved or judged, but not in the document list: {some}",
                remedy=("complete the list, or use ", Option("unlisted", "add"), " to take them in"),
            )
        notes.append(f"{format_count(len(missing), 'seen document')} added to the document list: {some}")
        distinct.update(missing)
    position_of = {name: i for i, name in enumerate(sorted(distinct))}
    return len(distinct), np.array([position_of[name] for name in seen], dtype=np.int64)


def _find_relevant(collection: Collection, rel: int, n_shards: int) -> tuple[Ints, Ints, int]:
    """Return topic and document of every relevant judgment; refuse topics that have fewer of them than shards."""
    n_topics = len(collection.topics)
    topic_of = np.repeat(np.arange(n_topics), np.diff(collection.qrel_starts))
    keep = collection.qrel_grades >= rel
    counts = np.bincount(topic_of[keep], minlength=n_topics)
    hopeless = [collection.topics[t] for t in np.flatnonzero(counts < n_shards)]
    if hopeless:
        some = ", ".join(hopeless[:8]) + (", ..." if len(hopeless) > 8 else "")
        raise InputError(
            f"{format_count(len(hopeless), 'topic')} {'has' if len(hopeless) == 1 else 'have'} fewer relevant documents"
            f" than the {n_shards} shards: {some}",
            remedy=_LEAVE,
        )
    return topic_of[keep].astype(np.int64), collection.qrel_docs[keep].astype(np.int64), n_topics


def _split_by_attribute(
    collection: Collection, by: Attribute | None, n_shards: int | None, n_splits: int
) -> Splits:
    if by is None:
        raise InputError(
            (Option("kind", "attribute"), " needs ", Either("by=", "an expression")),
            remedy=(
                Either(
                    "give a function, a mapping or a regular expression",
                    "write for instance --kind 'attribute:^[A-Z]+'",
                ),
            ),
        )
    if n_splits != 1:
        raise InputError(
            "an attribute gives one split, not several", remedy=("leave ", Option("n_splits"), " at 1")
        )
    names = collection.docnos()
    values = []
    for name in names:
        if isinstance(by, str):
            match = re.search(by, name)
            if match is None:
                raise InputError(
                    f"document '{name}' does not match {by!r}",
                    remedy="use an expression that matches every name",
                )
            values.append(match.group(1) if match.re.groups else match.group(0))
        elif not isinstance(by, Mapping):
            values.append(str(by(name)))
        elif name in by:
            values.append(str(by[name]))
        else:
            raise InputError(f"document '{name}' is not in the mapping", remedy="give every document a value")
    labels = sorted(set(values))
    if n_shards is not None and validate_count(n_shards, "n_shards", what="shards") != len(labels):
        raise InputError(
            f"the attribute has {format_count(len(labels), 'value')}, not {n_shards}: {', '.join(labels[:8])}",
            remedy=("leave out the number of shards, or change ", Option("by")),
        )
    if len(labels) > _MOST_SHARDS:
        raise InputError(
            f"the attribute has {format_count(len(labels), 'value')}",
            remedy=f"use one with {_MOST_SHARDS} at most",
        )
    number = {label: k for k, label in enumerate(labels)}
    row = np.array([number[value] for value in values], dtype=np.int16)
    sizes = np.bincount(row, minlength=len(labels)).astype(np.int64)
    named = (tuple(labels), collection.names, collection.name_starts)
    return Splits(row[None, :], len(labels), "attribute", 0, sizes[None, :], *named)


def _split_by_topic(
    collection: Collection,
    n_shards: int | None,
    texts: Contents | None,
    sample: float,
    unlisted: str,
    n_splits: int,
    seed: int,
) -> Splits:
    if not 0.0 < sample <= 1.0:
        remedy = ("give a share of the documents, as in ", Option("sample", 0.1))
        raise InputError(f"a sample of {sample:g}", remedy=remedy, argument="sample", value=sample)
    if texts is None:
        raise InputError(
            (Option("kind", "topical"), " needs to know what documents are about"),
            remedy=(
                "give ",
                Option("texts"),
                Either(": a mapping of names to texts or vectors, or a file", ""),
            ),
        )
    n, _ = _count_shards("topical", n_shards, None)
    names, vectors = vectorize_documents(texts)
    if n > len(names):
        raise InputError(
            f"{format_count(n, 'shard')} for {format_count(len(names), 'document')}",
            remedy="ask for fewer shards",
        )
    position_of = {name: k for k, name in enumerate(names)}
    positions = np.array([position_of.get(name, -1) for name in collection.docnos()], dtype=np.int64)
    unknown = np.flatnonzero(positions < 0)
    if unknown.size and unlisted != "add":
        some = ", ".join(collection.docnos()[k] for k in unknown[:3])
        raise InputError(
            f"the texts of {format_count(unknown.size, 'document')} retrieved or judged are not there: {some}",
            remedy=("give them, or use ", Option("unlisted", "add"), " to assign them at random"),
        )
    shards = np.empty((n_splits, collection.n_docs), dtype=np.int16)
    sizes = np.empty((n_splits, n), dtype=np.int64)
    for i in range(n_splits):
        rng = make_generator(seed, i)
        clusters_of = cluster_rows(vectors, n, sample, rng)
        shards[i] = clusters_of[positions]
        shards[i, unknown] = rng.integers(n, size=unknown.size)
        sizes[i] = np.bincount(clusters_of, minlength=n) + np.bincount(shards[i, unknown], minlength=n)
    note = f"{format_count(unknown.size, 'document')} without a text fell into shards by chance"
    named = (tuple(map(str, range(n))), collection.names, collection.name_starts)
    return Splits(shards, n, "topical", seed, sizes, *named, (note,) * bool(unknown.size))


Contents = Mapping[str, str] | Mapping[str, Sequence[float]] | Mapping[str, Floats] | PathLike
ITERATIONS = 30
WORD = re.compile(r"[^\W_]+")
RECORD = re.compile(r"<DOC>(.*?)</DOC>", re.DOTALL | re.IGNORECASE)
NAME = re.compile(r"<DOCNO>\s*(.*?)\s*</DOCNO>", re.DOTALL | re.IGNORECASE)
TAG = re.compile(r"<[^>]*>")
NAMES, TEXTS = ("docno", "_id", "id", "doc_id", "docid"), ("title", "text", "contents", "body", "abstract")


def vectorize_documents(contents: Contents) -> tuple[list[str], Any]:
    """Return names of documents in order, and a row of length 1 for each: vectors, or tf-idf weights of their words.

    Weights are (1 + log tf) · (1 + log((1 + n)/(1 + df))), of words that two documents have.

    >>> names, x = vectorize_documents({"b": "red red apple", "a": "red pear", "c": "green pear"})
    >>> names, x.shape, float(x[2].sum().round(3))
    (['a', 'b', 'c'], (3, 2), 1.0)
    """
    documents: Mapping[str, Any] = (
        read_texts(contents) if isinstance(contents, str | os.PathLike) else contents
    )
    names = sorted(map(str, documents))
    if not names:
        raise InputError("there are no documents to cluster", remedy="give their texts or vectors")
    values = {str(name): value for name, value in documents.items()}
    if isinstance(values[names[0]], str):
        return names, _tf_idf([values[name] for name in names])
    try:
        x = np.array([values[name] for name in names], dtype=np.float64)
    except (TypeError, ValueError):
        x = np.empty(0)
    if x.ndim != 2 or not np.isfinite(x).all():
        raise InputError(
            "the vectors of the documents are not numbers, or not equally many",
            remedy="give vectors of one length",
        )
    return names, _normalize_rows(sparse.csr_array(x))


def _tf_idf(texts: Sequence[str]) -> Any:
    counts = [Counter(WORD.findall(text.lower())) for text in texts]
    frequency: Counter[str] = Counter(word for words in counts for word in words)
    column_of = {word: k for k, word in enumerate(sorted(w for w, n in frequency.items() if n > 1))}
    if not column_of:
        raise InputError("no word is in two documents", remedy="give the texts of more documents")
    idf = 1.0 + np.log((1.0 + len(texts)) / (1.0 + np.array([frequency[word] for word in column_of])))
    kept = [[(column_of[word], n) for word, n in words.items() if word in column_of] for words in counts]
    starts = np.cumsum([0, *map(len, kept)])
    columns = np.array([k for words in kept for k, _ in words], dtype=np.int64)
    weights = 1.0 + np.log(np.array([n for words in kept for _, n in words], dtype=np.float64))
    return _normalize_rows(
        sparse.csr_array((weights * idf[columns], columns, starts), shape=(len(texts), len(column_of)))
    )


def _normalize_rows(x: Any) -> Any:
    """Scale rows to length 1; those of length 0 stay."""
    length = np.sqrt(np.asarray((x * x).sum(axis=1)).ravel())
    return sparse.csr_array(sparse.diags_array(1.0 / np.where(length > 0.0, length, 1.0)) @ x)


def read_texts(path: PathLike) -> dict[str, str]:
    """Read texts by document: JSON lines with a name and a text, TREC's <DOC> records, or lines name, tab, text."""
    buffer, size = read_bytes(Path(path), np.empty(1 << 20, dtype=np.uint8))
    text = buffer[:size].tobytes().decode("utf-8", "replace")
    if RECORD.search(text):
        texts = {}
        for record in RECORD.findall(text):
            name = NAME.search(record)
            if name is None:
                raise InputError("a <DOC> has no <DOCNO>", where=str(path), remedy="name every document")
            texts[name.group(1)] = TAG.sub(" ", record[: name.start()] + record[name.end() :])
        return texts
    lines = [(number, line) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]
    return dict(_parse_line(line, f"{path}:{number}") for number, line in lines)


def _parse_line(line: str, where: str) -> tuple[str, str]:
    if not line.lstrip().startswith("{"):
        name, tab, text = line.partition("\t")
        if not tab:
            raise InputError("has no tab", where=where, remedy="write name, tab, text")
        return name.strip(), text
    try:
        record = json.loads(line)
    except ValueError as error:
        raise InputError("is not JSON", where=where, remedy="write one record a line") from error
    named = [str(record[key]) for key in NAMES if key in record]
    if not named:
        raise InputError(
            "does not name a document", where=where, remedy=f"call it by one of {', '.join(NAMES)}"
        )
    return named[0], " ".join(str(record[key]) for key in TEXTS if key in record)


def cluster_rows(x: Any, k: int, share: float, rng: np.random.Generator) -> npt.NDArray[np.int16]:
    """Cluster rows: each goes to the centre most like it by the cosine; centres come from a random share of the rows.

    A centre that loses all its documents starts anew from a random one (J15 §5). Rows of length 0 are like no centre
    and go anywhere.

    >>> two = sparse.csr_array(np.repeat(np.eye(2), 5, axis=0))
    >>> sorted(np.bincount(cluster_rows(two, 2, 1.0, np.random.default_rng(3))).tolist())
    [5, 5]
    """
    n = x.shape[0]
    sample = x[np.sort(rng.choice(n, min(n, max(k, round(share * n))), replace=False))]
    centres = sample[rng.choice(sample.shape[0], k, replace=False)].toarray()
    before: Ints = np.full(sample.shape[0], -1)
    for _ in range(ITERATIONS):
        nearest = np.asarray((sample @ centres.T).argmax(axis=1))
        if np.array_equal(nearest, before):
            break
        before = nearest
        members = sparse.csr_array(
            (np.ones(nearest.size), (nearest, np.arange(nearest.size))), shape=(k, nearest.size)
        )
        centres = (members @ sample).toarray()
        empty = np.flatnonzero(np.bincount(nearest, minlength=k) == 0)
        centres[empty] = sample[rng.choice(sample.shape[0], empty.size)].toarray()
        centres /= np.maximum(np.linalg.norm(centres, axis=1, keepdims=True), 1e-300)
    likeness = x @ centres.T
    cluster_of = likeness.argmax(axis=1)
    nowhere = np.flatnonzero(likeness.max(axis=1) <= 0.0)
    cluster_of[nowhere] = rng.integers(k, size=nowhere.size)
    return np.asarray(cluster_of, np.int16)
