"""Which shards to search: ReDDE on a central sample index (Si and Callan 2003)."""

from __future__ import annotations

import numpy as np

from shardwise.core.arrays import Bools, Codes, Floats


def central_sample(n_docs: int, rate: float, rng: np.random.Generator) -> Codes:
    """Documents of the central index: a simple random sample of the collection."""
    return np.sort(rng.choice(n_docs, max(1, round(rate * n_docs)), replace=False)).astype(np.int32)


def select_shards(scores: Floats, sample: Codes, shard: Codes, shards: int, hits: int, most: int) -> Bools:
    """(topics, shards) the up to `most` shards with the largest estimated number of good documents.

    Each of the best `hits` sampled documents of a query stands for |shard| / |sample of the shard| documents of its
    shard. A shard without a hit is never searched, so fewer than `most` may be, as in J15 §5.1.

    >>> scores = np.array([[3.0, 2.0, 0.0, 1.0]], np.float32)
    >>> select_shards(scores, np.array([0, 2, 3]), np.array([0, 0, 1, 2]), 3, hits=2, most=1)
    array([[ True, False, False]])
    """
    size = np.bincount(shard, minlength=shards)
    home = shard[sample]
    stands_for = size[home] / np.bincount(home, minlength=shards)[home]
    seen = scores[:, sample]
    best = np.argsort(-seen, axis=1, kind="stable")[:, :hits]
    weight = np.where(np.take_along_axis(seen, best, axis=1) > 0, stands_for[best], 0.0)
    expected = np.zeros((len(scores), shards))
    np.add.at(expected, (np.arange(len(scores))[:, None], home[best]), weight)
    ranked = np.argsort(-expected, axis=1, kind="stable")[:, :most]
    chosen = np.zeros(expected.shape, bool)
    np.put_along_axis(chosen, ranked, True, axis=1)
    return chosen & (expected > 0)
