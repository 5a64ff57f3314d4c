"""How documents fall into shards: the kinds of splits and the draws behind them."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from shardwise.core.arrays import Ints
from shardwise.core.errors import InputError
from shardwise.core.rng import generator
from shardwise.io.collection import Collection
from shardwise.io.files import PathLike, read_bytes
from shardwise.sharding.splits import Splits

Kind = Literal["even", "die", "covered", "uneven", "attribute"]
Corpus = int | PathLike | Iterable[str]
Attribute = Callable[[str], str] | Mapping[str, str] | str
Shards = npt.NDArray[np.int16]
_MOST_SHARDS = 32767


def split(
    collection: Collection,
    n_shards: int | None = None,
    *,
    kind: Kind = "even",
    n_splits: int = 1,
    seed: int = 0,
    corpus: Corpus | None = None,
    unlisted: Literal["refuse", "add"] = "refuse",
    proportions: Sequence[float] | None = None,
    by: Attribute | None = None,
    draw: Literal["even", "die"] = "even",
    rel: int = 1,
    max_tries: int = 1000,
) -> Splits:
    """Divide the documents of a collection into shards, ``n_splits`` times independently.

    - ``even``: a random permutation cut into parts whose sizes differ by at most one (F19).
    - ``die``: every document rolls a die of its own (V17).
    - ``covered``: the whole split is drawn again (by ``draw``) until every topic has a document of grade
      ``rel`` or more in every shard (V17; "NEMP" in FF21), at most ``max_tries`` times.
    - ``uneven``: as ``even``, with shards of the stated ``proportions``.
    - ``attribute``: by a property of the document name: ``by`` is a function, a mapping, or a regular expression whose
      first group (or whole match) is the shard's name.

    ``corpus`` is the size of the whole corpus, or its documents (a list, or a file with a name a line). Documents that
    no run retrieved and nobody judged cannot influence a score, so with a size alone the seen documents' shard sizes
    are drawn from the multivariate hypergeometric law: the same distribution, without a list. With a list, a
    document's shard depends on the list alone, so that adding a run does not move it; ``unlisted="add"`` takes in seen
    documents that the list lacks. Split i depends on (seed, i) and the documents only, never on the order of files.
    """
    if n_splits < 1:
        raise InputError(f"n_splits={n_splits} asks for no split", remedy="ask for at least one")
    if kind == "attribute":
        return _by_attribute(collection, by, n_shards, n_splits)
    sizes_of, n = _shard_sizes(kind, n_shards, proportions)
    notes: list[str] = []
    universe, columns = collection.n_docs, None
    if corpus is None:
        total = universe
    elif isinstance(corpus, int | np.integer):
        total = int(corpus)
        if total < universe:
            raise InputError(
                f"a corpus of {total} documents is smaller than the {universe} that were retrieved or judged",
                remedy="give the size of the whole corpus",
            )
    else:
        universe, columns = _listed(collection, corpus, unlisted, notes)
        total = universe
    if n > total:
        raise InputError(f"{n} shards for {total} documents", remedy="ask for fewer shards")
    sizes = sizes_of(total)
    how = draw if kind == "covered" else kind
    covering = _relevant(collection, rel, n) if kind == "covered" else None
    shards = np.empty((n_splits, collection.n_docs), dtype=np.int16)
    all_sizes = np.empty((n_splits, n), dtype=np.int64)
    for i in range(n_splits):
        uncovered: Counter[int] = Counter()
        for attempt in range(max_tries if covering else 1):
            path = (i, attempt) if covering else (i,)
            row, all_sizes[i] = _draw(generator(seed, *path), how, sizes, universe, total)
            shards[i] = row if columns is None else row[columns]
            bare = _bare_topics(shards[i], *covering, n) if covering else np.empty(0, dtype=np.int64)
            if not len(bare):
                break
            uncovered.update(int(t) for t in bare)
        else:
            worst = ", ".join(collection.topics[t] for t, _ in uncovered.most_common(5))
            raise InputError(
                f"no split with a relevant document of every topic in all {n} shards came up in {max_tries} draws;"
                f" topics that lacked one most often: {worst}",
                remedy="ask for fewer shards, leave these topics out, or use kind='even' and leave cells undefined",
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
        if proportions is None or len(proportions) < 2 or min(proportions) <= 0:
            raise InputError(
                "kind='uneven' needs two or more positive proportions", remedy="such as proportions=[5, 3, 2]"
            )
        if n_shards is not None and n_shards != len(proportions):
            raise InputError(
                f"{n_shards} shards, but {len(proportions)} proportions",
                remedy="leave out the number of shards",
            )
        shares = np.asarray(proportions, dtype=np.float64)
        return lambda total: _largest_remainders(total * shares / shares.sum(), total), len(proportions)
    if kind not in ("even", "die", "covered"):
        raise InputError(f"kind={kind!r} is unknown", remedy="choose even, die, covered, uneven or attribute")
    if proportions is not None:
        raise InputError(f"proportions make no sense for kind={kind!r}", remedy="use kind='uneven'")
    if n_shards is None or not 1 <= n_shards <= _MOST_SHARDS:
        raise InputError(
            f"{n_shards} shards cannot be made", remedy=f"give a number from 1 to {_MOST_SHARDS}"
        )
    n = int(n_shards)
    return lambda total: total // n + (np.arange(n) < total % n).astype(np.int64), n


def _largest_remainders(exact: npt.NDArray[np.float64], total: int) -> Ints:
    """Whole numbers that add up to the total and lie nearest to the exact shares."""
    sizes = np.floor(exact).astype(np.int64)
    order = np.argsort(-(exact - sizes), kind="stable")
    sizes[order[: total - int(sizes.sum())]] += 1
    return sizes


def _draw(rng: np.random.Generator, how: str, sizes: Ints, seen: int, total: int) -> tuple[Shards, Ints]:
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


def _listed(
    collection: Collection, corpus: PathLike | Iterable[str], unlisted: str, notes: list[str]
) -> tuple[int, Ints]:
    """Number of documents in a list, and the place in its sorted order of every seen document."""
    if isinstance(corpus, str | os.PathLike):
        listed = _document_list(corpus)
    else:
        listed = [str(name).encode("utf-8", "surrogateescape") for name in corpus]
    distinct = set(listed)
    if len(distinct) < len(listed):
        notes.append(f"{len(listed) - len(distinct)} names stand more than once in the document list")
    seen = [name.encode("utf-8", "surrogateescape") for name in collection.docnos()]
    missing = [name for name in seen if name not in distinct]
    if missing:
        some = ", ".join(name.decode("utf-8", "backslashreplace") for name in missing[:3])
        if unlisted != "add":
            raise InputError(
                f"{len(missing)} documents were retrieved or judged but are not in the document list: {some}",
                remedy="complete the list, or use unlisted='add' to take them in",
            )
        notes.append(f"{len(missing)} seen documents were added to the document list: {some}")
        distinct.update(missing)
    place = {name: i for i, name in enumerate(sorted(distinct))}
    return len(distinct), np.array([place[name] for name in seen], dtype=np.int64)


def _document_list(path: PathLike) -> list[bytes]:
    buffer, size = read_bytes(Path(path), np.empty(1 << 20, dtype=np.uint8))
    names = [name for line in buffer[:size].tobytes().split(b"\n") if (name := line.strip())]
    if not names:
        raise InputError(
            "the document list is empty", where=str(path), remedy="give a file with a name a line"
        )
    return names


def _relevant(collection: Collection, rel: int, n_shards: int) -> tuple[Ints, Ints, int]:
    """Topic and document of every relevant judgment; refuse topics that have fewer of them than shards."""
    n_topics = len(collection.topics)
    topic_of = np.repeat(np.arange(n_topics), np.diff(collection.qrel_starts))
    keep = collection.qrel_grades >= rel
    counts = np.bincount(topic_of[keep], minlength=n_topics)
    hopeless = [collection.topics[t] for t in np.flatnonzero(counts < n_shards)]
    if hopeless:
        some = ", ".join(hopeless[:8]) + (", ..." if len(hopeless) > 8 else "")
        raise InputError(
            f"{len(hopeless)} topics have fewer relevant documents than the {n_shards} shards: {some}",
            remedy="ask for fewer shards, leave these topics out, or use kind='even' and leave cells undefined",
        )
    return topic_of[keep].astype(np.int64), collection.qrel_docs[keep].astype(np.int64), n_topics


def _bare_topics(shards: Shards, topic_of: Ints, docs: Ints, n_topics: int, n_shards: int) -> Ints:
    """Topics without a relevant document in some shard."""
    covered = np.zeros((n_topics, n_shards), dtype=bool)
    covered[topic_of, shards[docs]] = True
    return np.flatnonzero(~covered.all(axis=1)).astype(np.int64)


def _by_attribute(
    collection: Collection, by: Attribute | None, n_shards: int | None, n_splits: int
) -> Splits:
    if by is None:
        raise InputError(
            "kind='attribute' needs by=", remedy="give a function, a mapping or a regular expression"
        )
    if n_splits != 1:
        raise InputError("an attribute gives one split, not several", remedy="leave n_splits at 1")
    names = collection.docnos()
    values = [_attribute(by, name) for name in names]
    labels = sorted(set(values))
    if n_shards is not None and n_shards != len(labels):
        raise InputError(
            f"the attribute has {len(labels)} values, not {n_shards}: {', '.join(labels[:8])}",
            remedy="leave out the number of shards, or change by=",
        )
    if len(labels) > _MOST_SHARDS:
        raise InputError(f"the attribute has {len(labels)} values", remedy="use one with fewer")
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


def _attribute(by: Attribute, name: str) -> str:
    if isinstance(by, str):
        found = re.search(by, name)
        if found is None:
            raise InputError(
                f"document '{name}' does not match {by!r}", remedy="use an expression that matches every name"
            )
        return found.group(1) if found.re.groups else found.group(0)
    if isinstance(by, Mapping):
        if name not in by:
            raise InputError(f"document '{name}' is not in the mapping", remedy="give every document a value")
        return str(by[name])
    return str(by(name))
