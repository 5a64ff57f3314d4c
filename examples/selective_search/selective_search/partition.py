"""Topical shards: k-means on a random sample of documents, from random seeds (Kulkarni and Callan 2010)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.cluster import KMeans  # type: ignore[import-untyped]
from sklearn.feature_extraction.text import TfidfVectorizer  # type: ignore[import-untyped]

from shardwise.core.arrays import Codes


def tf_idf(tokens: Sequence[Sequence[str]]) -> Any:
    """(documents, words) sparse matrix of logarithmic tf-idf weights, each document of length one."""
    return TfidfVectorizer(analyzer=list, sublinear_tf=True, min_df=2, dtype=np.float32).fit_transform(tokens)


def partition(vectors: Any, shards: int, share: float, rng: np.random.Generator) -> Codes:
    """Shard of every document: the centre most like it, centres found on a random share of the documents.

    >>> two = np.repeat(np.eye(2, dtype=np.float32), 5, axis=0)
    >>> found = partition(two, 2, 1.0, np.random.default_rng(3))
    >>> sorted(np.bincount(found).tolist())
    [5, 5]
    """
    n_docs = vectors.shape[0]
    sample = rng.choice(n_docs, max(shards, round(share * n_docs)), replace=False)
    start = int(rng.integers(2**31))
    means = KMeans(shards, init="random", n_init=1, max_iter=30, random_state=start).fit(vectors[sample])
    centres = means.cluster_centers_
    # by the cosine: by distance, a broad centre near zero would draw all documents that fit nowhere
    centres = centres / np.maximum(np.linalg.norm(centres, axis=1, keepdims=True), 1e-12)
    return np.asarray(np.argmax(vectors @ centres.T, axis=1), np.int32)
