"""The simulated campaign looks like one, and its truth shows in its scores."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from shardwise.core.errors import InputError
from shardwise.io.reader import read_collection
from shardwise.lab.simulate_collection import SimulatedCollection, simulate_collection
from shardwise.scoring.scoring import score


@pytest.fixture(scope="module")
def made() -> SimulatedCollection:
    return simulate_collection(
        topics=30, systems=25, depth=200, corpus=20_000, relevant=40, pool_depth=50, seed=4
    )


def test_files_and_memory_hold_the_same(made: SimulatedCollection, tmp_path: Path) -> None:
    runs, qrels = made.write(tmp_path)
    written, kept = read_collection(runs, qrels), made.collection()
    assert written.systems == kept.systems == made.systems
    for name in ("docs", "starts", "grades", "names", "qrel_docs", "qrel_grades", "qrel_starts"):
        assert np.array_equal(getattr(written, name), getattr(kept, name)), name


def test_better_systems_score_better(made: SimulatedCollection) -> None:
    means = score(made.collection(), "AP")["AP"].mean("topic").values
    assert stats.kendalltau(means, made.quality).statistic > 0.6


def test_harder_topics_score_lower(made: SimulatedCollection) -> None:
    means = score(made.collection(), "AP")["AP"].mean("system").values
    assert stats.spearmanr(means, made.difficulty).statistic < -0.5


def test_interactions_show(made: SimulatedCollection) -> None:
    values = score(made.collection(), "AP")["AP"].values
    rest = values - values.mean(0) - values.mean(1, keepdims=True) + values.mean()
    assert np.corrcoef(rest.ravel(), made.interaction.ravel())[0, 1] > 0.5


def test_numbers_of_relevant_documents_are_skewed_and_rankings_overlap(made: SimulatedCollection) -> None:
    relevant = np.array([(grades > 0).sum() for grades in made.qrel_grades])
    assert relevant.min() >= 1
    assert relevant.mean() > np.median(relevant)
    first, second = (set(made.docs[r, 0].tolist()) for r in (0, 1))
    assert 0.2 < len(first & second) / len(first) < 0.95


def test_a_seed_is_a_collection(made: SimulatedCollection) -> None:
    again = simulate_collection(
        topics=30, systems=25, depth=200, corpus=20_000, relevant=40, pool_depth=50, seed=4
    )
    other = simulate_collection(
        topics=30, systems=25, depth=200, corpus=20_000, relevant=40, pool_depth=50, seed=5
    )
    assert np.array_equal(made.docs, again.docs)
    assert not np.array_equal(made.docs, other.docs)


def test_impossible_sizes_are_refused() -> None:
    with pytest.raises(InputError, match="0 topics: give a whole number, 1 or more"):
        simulate_collection(topics=0)
    with pytest.raises(InputError, match="too small for depth 1000"):
        simulate_collection(corpus=1500)
