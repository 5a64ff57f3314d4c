"""How documents fall into shards: the kinds of splits and the draws behind them."""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from shardwise.core.arguments import validate_choice, validate_count
from shardwise.core.arrays import Ints, make_generator
from shardwise.core.claim import format_count
from shardwise.core.errors import Either, InputError, Option, Part
from shardwise.io.collection import Collection
from shardwise.io.files import PathLike, read_bytes
from shardwise.sharding.splits import Splits
from shardwise.sharding.topical import Contents, cluster_rows, validate_sample, vectorize_documents

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
        shares = validate_sample(sample)
        return _split_by_topic(
            collection, n_shards, texts, shares, unlisted, n_splits, validate_count(seed, "seed", least=0)
        )
    sizes_of, n = _shard_sizes(kind, n_shards, proportions)
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
    sizes = sizes_of(total)
    if not sizes.all():
        assert proportions is not None, "shards of equal size have a document each"
        k = int(np.argmin(sizes))
        expected = total * proportions[k] / math.fsum(proportions)
        raise InputError(
            f"shard {k} would be empty: proportion {proportions[k]:g} of {format_count(total, 'document')} makes"
            f" {expected:.2g}",
            remedy="give it a larger proportion, or leave it out",
            argument="proportions",
            value=tuple(proportions),
        )
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
            bare = _bare_topics(shards[i], *covering, n) if covering else np.empty(0, dtype=np.int64)
            if not len(bare):
                break
            uncovered.update(int(t) for t in bare)
        else:
            worst = ", ".join(collection.topics[t] for t, _ in uncovered.most_common(5))
            raise InputError(
                f"no split with a relevant document of every topic in all {format_count(n, 'shard')} came up in"
                f" {format_count(max_tries, 'draw')}; topics that lacked one most often: {worst}",
                remedy=_LEAVE,
            )
        if covering and attempt:
            notes.append(f"split {i} was drawn {attempt + 1} times until every shard had relevant documents")
    return Splits(
        shards=shards,
        n_shards=n,
        kind=kind,
        seed=seed,
        sizes=all_sizes,
        labels=tuple(str(k) for k in range(n)),
        names=collection.names,
        name_starts=collection.name_starts,
        notes=tuple(notes),
    )


def _shard_sizes(
    kind: str, n_shards: int | None, proportions: Sequence[float] | None
) -> tuple[Callable[[int], Ints], int]:
    """How many documents each shard gets of a corpus of a given size, and the number of shards."""
    if kind == "uneven":
        shares = _validate_proportions(proportions)
        if n_shards is not None and validate_count(n_shards, "n_shards", what="shards") != len(shares):
            raise InputError(
                f"{format_count(n_shards, 'shard')}, but {format_count(len(shares), 'proportion')}",
                remedy="leave out the number of shards",
            )
        return lambda total: _largest_remainders(total * shares / shares.sum(), total), len(shares)
    if proportions is not None:
        raise InputError(
            ("proportions have no effect with ", Option("kind", kind)),
            remedy=("use ", Option("kind", "uneven")),
        )
    if n_shards is None:
        raise InputError(
            "the number of shards is missing", remedy=("give ", Option("n_shards")), argument="n_shards"
        )
    n = validate_count(n_shards, "n_shards", what="shards")
    if n > _MOST_SHARDS:
        raise InputError(
            f"{format_count(n, 'shard')} cannot be made", remedy=f"give a number from 1 to {_MOST_SHARDS}"
        )
    return lambda total: total // n + (np.arange(n) < total % n).astype(np.int64), n


def _validate_proportions(proportions: Sequence[float] | None) -> npt.NDArray[np.float64]:
    """Return proportions as numbers, or refuse those that are not above 0 and finite."""
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
    return shares


def _largest_remainders(exact: npt.NDArray[np.float64], total: int) -> Ints:
    """Whole numbers that add up to the total and lie nearest to the exact shares."""
    sizes = np.floor(exact).astype(np.int64)
    order = np.argsort(-(exact - sizes), kind="stable")
    sizes[order[: total - int(sizes.sum())]] += 1
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
        listed = _read_document_list(corpus)
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


def _read_document_list(path: PathLike) -> list[bytes]:
    buffer, size = read_bytes(Path(path), np.empty(1 << 20, dtype=np.uint8))
    names = [name for line in buffer[:size].tobytes().split(b"\n") if (name := line.strip())]
    if not names:
        raise InputError(
            "the document list is empty", where=str(path), remedy="give a file with a name a line"
        )
    return names


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


def _bare_topics(shards: Shards, topic_of: Ints, docs: Ints, n_topics: int, n_shards: int) -> Ints:
    """Topics without a relevant document in some shard."""
    covered = np.zeros((n_topics, n_shards), dtype=bool)
    covered[topic_of, shards[docs]] = True
    return np.flatnonzero(~covered.all(axis=1)).astype(np.int64)


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
    values = [_read_attribute(by, name) for name in names]
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
    return Splits(
        shards=row[None, :],
        n_shards=len(labels),
        kind="attribute",
        seed=0,
        sizes=np.bincount(row, minlength=len(labels)).astype(np.int64)[None, :],
        labels=tuple(labels),
        names=collection.names,
        name_starts=collection.name_starts,
    )


def _split_by_topic(
    collection: Collection,
    n_shards: int | None,
    texts: Contents | None,
    sample: float,
    unlisted: str,
    n_splits: int,
    seed: int,
) -> Splits:
    if texts is None:
        raise InputError(
            (Option("kind", "topical"), " needs to know what documents are about"),
            remedy=(
                "give ",
                Option("texts"),
                Either(": a mapping of names to texts or vectors, or a file", ""),
            ),
        )
    _, n = _shard_sizes("topical", n_shards, None)
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
    return Splits(
        shards=shards,
        n_shards=n,
        kind="topical",
        seed=seed,
        sizes=sizes,
        labels=tuple(str(k) for k in range(n)),
        names=collection.names,
        name_starts=collection.name_starts,
        notes=(note,) if unknown.size else (),
    )


def _read_attribute(by: Attribute, name: str) -> str:
    if isinstance(by, str):
        match = re.search(by, name)
        if match is None:
            raise InputError(
                f"document '{name}' does not match {by!r}", remedy="use an expression that matches every name"
            )
        return match.group(1) if match.re.groups else match.group(0)
    if isinstance(by, Mapping):
        if name not in by:
            raise InputError(f"document '{name}' is not in the mapping", remedy="give every document a value")
        return str(by[name])
    return str(by(name))
