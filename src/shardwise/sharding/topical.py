"""Shards of documents about the same: k-means on a random sample from random seeds (Kulkarni & Callan 2010, J15)."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from shardwise.core.arrays import Floats, Ints
from shardwise.core.errors import InputError, Option
from shardwise.io.files import PathLike, read_bytes

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


def validate_sample(sample: float) -> float:
    """Return a share of the documents above 0 and at most 1, or refuse it."""
    if not 0.0 < sample <= 1.0:
        remedy = ("give a share of the documents, as in ", Option("sample", 0.1))
        raise InputError(f"a sample of {sample:g}", remedy=remedy, argument="sample", value=sample)
    return float(sample)
