"""Friedman's test, Nemenyi's and Conover's comparisons, and standardised scores, against scipy and by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy

import shardwise as sw
from command_line import shardwise

GOLD = Path(__file__).parent.parent / "gold"


def make_scores(ties: bool = False) -> np.ndarray:
    y = np.random.default_rng(4).normal(size=(14, 5)) + np.linspace(0.0, 1.5, 5)
    return y.round(0 if ties else 6)


@pytest.mark.parametrize("ties", [False, True])
def test_friedman_agrees_with_scipy(ties: bool) -> None:
    y = make_scores(ties)
    tested = sw.rankings.friedman_test(y)
    expected = scipy.stats.friedmanchisquare(*y.T)
    assert tested["statistic"] == pytest.approx(expected.statistic, abs=1e-10)
    # Iman and Davenport's F is what the analysis of variance of ranks has
    f = 13 * expected.statistic / (14 * 4 - expected.statistic)
    assert tested["p"] == pytest.approx(scipy.stats.f.sf(f, 4, 52))


def test_nemenyi_is_the_studentized_range_of_mean_ranks() -> None:
    pairs = sw.compare(make_scores(), "friedman nemenyi")
    q = np.abs(pairs.difference) / np.sqrt(5 * 6 / (12 * 14))
    np.testing.assert_allclose(pairs.p_adjusted, scipy.stats.studentized_range.sf(q, 5, np.inf), atol=1e-6)
    # Demšar's table: q at 0.05 of five systems is 2.728
    assert pairs.critical_difference() == pytest.approx(2.728 * np.sqrt(5 * 6 / (6 * 14)), rel=1e-3)
    assert pairs.plot("cd") is not None


def test_conover_by_hand() -> None:
    y = make_scores(ties=True)
    pairs = sw.compare(y, "friedman conover none")
    ranks = scipy.stats.rankdata(-y, axis=1)
    sums, n, k = ranks.sum(axis=0), 14, 5
    squares = (ranks**2).sum()
    # Conover (1999), eq. 5.8.6 in terms of sums of ranks
    error = 2 * (n * squares - (sums**2).sum()) / ((n - 1) * (k - 1))
    np.testing.assert_allclose(pairs.se, np.full(10, np.sqrt(error) / n), rtol=1e-9)
    assert set(pairs.df) == {52.0}


def test_nemenyis_critical_values_are_those_of_the_published_table() -> None:
    gold = pd.read_csv(GOLD / "ranks_nemenyi.csv", comment="#").set_index("systems")
    for systems, row in gold.iterrows():
        y = np.random.default_rng(int(str(systems))).normal(size=(14, int(str(systems))))
        pairs = sw.compare(y, "friedman nemenyi")
        for level, q in row.items():
            unit = np.sqrt(int(str(systems)) * (int(str(systems)) + 1) / (6 * 14))
            assert pairs.critical_difference(float(str(level))) == pytest.approx(q * unit, abs=1e-3 * unit)


@pytest.mark.parametrize("lower_is_better", [False, True])
def test_friedman_is_a_method_at_every_door(lower_is_better: bool, tmp_path: Path) -> None:
    y = make_scores(ties=True)
    pairs = sw.compare(y, "friedman", lower_is_better=lower_is_better)
    assert pairs.procedure == "friedman nemenyi"
    assert pairs.names[0] == ("0" if lower_is_better else "4")
    assert (pairs.gain >= 0).all()
    ranks = scipy.stats.rankdata(y, axis=1).mean(axis=0)
    np.testing.assert_allclose(sorted(pairs.means), sorted(ranks))
    # PMCMRplus::frdAllPairsNemenyiTest: ptukey(|R_i - R_j| / sqrt(k(k + 1) / (6n)) · sqrt(2), k, Inf)
    q = np.abs(pairs.difference) / np.sqrt(5 * 6 / (6 * 14)) * np.sqrt(2)
    np.testing.assert_allclose(pairs.p_adjusted, scipy.stats.studentized_range.sf(q, 5, np.inf), atol=1e-6)
    assert sw.compare(y, "friedman conover").procedure == "friedman conover holm"
    path = tmp_path / "scores.csv"
    pd.DataFrame(y, columns=list("abcde")).rename_axis("data set").to_csv(path)
    assert sw.analyze(str(path), method="friedman").lead.procedure.name == "friedman nemenyi"
    done = shardwise("compare", path, "--method", "friedman")
    assert done.returncode == 0, done.stderr
    assert "Nemenyi" in done.stdout
    assert "(mean rank of " in done.stdout.splitlines()[0]
    assert "power" not in done.stdout


def test_a_margin_of_scores_is_none_of_ranks(tmp_path: Path) -> None:
    pairs = sw.compare(make_scores(ties=True), "friedman")
    for ask in (lambda: sw.equivalence(pairs, 0.1), lambda: pairs.probabilities(0.1)):
        with pytest.raises(sw.InputError, match="compare mean ranks"):
            ask()
    path = tmp_path / "scores.csv"
    pd.DataFrame(make_scores(ties=True), columns=list("abcde")).rename_axis("item").to_csv(path)
    done = shardwise("gate", path, "--baseline", "a", "--new", "b", "--method", "friedman")
    assert done.returncode == 2
    assert "compare mean ranks" in done.stderr
