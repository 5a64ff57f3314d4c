"""Friedman's test, Nemenyi's and Conover's comparisons, and standardised scores, against scipy and by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy

import shardwise as sw
from command_line import shardwise
from gold import ranks_posthocs
from shardwise.writing.methods import format_bibliography, methods_latex, methods_text
from shardwise.writing.remarks import explain_choice

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


def read_gold(name: str) -> pd.DataFrame:
    return pd.read_csv(GOLD / f"{name}.csv", comment="#")


@pytest.mark.parametrize("table", ["demsar", "plain", "ties", "many"])
@pytest.mark.parametrize(
    ("column", "method"),
    [
        ("nemenyi", "friedman nemenyi"),
        ("conover", "friedman conover none"),
        ("conover_holm", "friedman conover holm"),
    ],
)
def test_p_values_are_those_of_scikit_posthocs(table: str, column: str, method: str) -> None:
    gold = read_gold("ranks_posthocs").query("table == @table")
    y = (
        read_gold("ranks_demsar").set_index("data set").to_numpy()
        if table == "demsar"
        else ranks_posthocs.draw_table(*ranks_posthocs.TABLES[table])
    )
    frame = sw.compare(y, method).to_frame()
    found = {frozenset(map(int, pair)): p for *pair, p in frame[["a", "b", "p_adjusted"]].to_numpy()}
    ours = [found[frozenset((a, b))] for a, b in zip(gold["a"], gold["b"], strict=True)]
    # scipy's studentized range of infinite degrees of freedom is good to about 1e-7
    np.testing.assert_allclose(ours, gold[column], rtol=1e-6, atol=1e-6)


def test_demsars_example_is_as_printed() -> None:
    table = read_gold("ranks_demsar").set_index("data set")
    pairs = sw.compare(table, "friedman nemenyi")
    means = dict(zip(pairs.estimates.labels, pairs.means, strict=True))
    printed = {"C4.5": 3.143, "C4.5+m": 2.0, "C4.5+cf": 2.893, "C4.5+m+cf": 1.964}
    assert {name: round(mean, 3) for name, mean in means.items()} == printed
    assert pairs.critical_difference() == pytest.approx(1.25, abs=0.005)
    assert pairs.critical_difference(0.10) == pytest.approx(1.12, abs=0.005)
    # his statistic is not corrected for ties
    squares = sum(mean**2 for mean in means.values())
    statistic = 12 * 14 / (4 * 5) * (squares - 4 * 5**2 / 4)
    assert statistic == pytest.approx(9.28, abs=0.005)
    tested = sw.rankings.friedman_test(table)
    assert tested["statistic"] == pytest.approx(scipy.stats.friedmanchisquare(*table.to_numpy().T).statistic)
    assert tested["statistic"] > statistic


def test_the_example_of_r() -> None:
    table = read_gold("ranks_rounding").set_index("player")
    tested = sw.rankings.friedman_test(table)
    assert tested["statistic"] == pytest.approx(11.143, abs=5e-4)
    assert scipy.stats.chi2.sf(tested["statistic"], 2) == pytest.approx(0.003805, abs=5e-7)


def test_data_sets_have_a_paragraph_on_friedman(tmp_path: Path) -> None:
    """The paragraph and the box for reviewers say what Friedman's test would find, and why it does not decide."""
    path = tmp_path / "scores.csv"
    table = read_gold("ranks_demsar").rename(columns={"data set": "dataset"})
    table.to_csv(path, index=False)
    found = sw.analyze(str(path), n_resamples=999)
    ranked = sw.analyze(str(path), method="friedman")
    text = methods_text(found)
    assert "We prefer this test to Friedman's" in text
    test = sw.rankings.friedman_test(table.set_index("dataset"))
    figures = f"χ² = {test['statistic']:.2f} on 3 degrees of freedom"
    assert figures in text
    assert figures in methods_text(ranked)
    assert "We prefer" not in methods_text(ranked)
    assert f"finds {ranked.lead.n_significant} of 6 pairs by Nemenyi's comparisons" in text
    assert r"$\chi^2$" in methods_latex(found)
    assert "Benavoli" in format_bibliography(found)
    box = explain_choice(found)
    assert box is not None
    assert box["title"].endswith("or Friedman’s test?")
    assert [row["significant"] for row in box["rows"]][-1] == ranked.lead.n_significant
    # elsewhere nobody asks
    table.rename(columns={"dataset": "question"}).to_csv(path, index=False)
    assert "Friedman" not in methods_text(sw.analyze(str(path), n_resamples=999))


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
    assert pairs.lower_is_better
    # 1 is the best score of a data set
    ranks = scipy.stats.rankdata(y if lower_is_better else -y, axis=1).mean(axis=0)
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
