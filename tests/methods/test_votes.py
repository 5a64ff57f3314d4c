"""Strengths fitted to votes, against R, evalica, choix and statsmodels, and the joint distribution of differences."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import shardwise as sw
from shardwise.core.arrays import Floats
from shardwise.core.errors import InputError
from shardwise.io.votes import Votes, Way, join_votes
from shardwise.methods.votes.davidson import Ballots, VoteFit, find_parts, fit_ballots, tells_position
from shardwise.methods.votes.method import measure_pairs
from shardwise.methods.votes.scores import group_units, score_votes

GOLD = Path(__file__).parents[1] / "gold"
OUTCOME = {"model_a": 1.0, "tie": 0.0, "model_b": -1.0}


def gold_votes() -> tuple[pd.DataFrame, Ballots]:
    """The votes that R was run on."""
    frame = pd.read_csv(GOLD / "votes.csv")
    first, second = (frame[name].str[1:].astype(int).to_numpy() for name in ("model_a", "model_b"))
    return frame, Ballots(first, second, frame["winner"].map(OUTCOME).to_numpy(), 6)


def without_ties(ballots: Ballots) -> Ballots:
    kept = ballots.outcome != 0.0
    return replace(
        ballots, first=ballots.first[kept], second=ballots.second[kept], outcome=ballots.outcome[kept]
    )


def gold_of(model: str) -> dict[str, float]:
    frame = pd.read_csv(GOLD / "votes_strengths.csv")
    return dict(frame[frame["model"] == model][["name", "value"]].to_numpy().tolist())


@pytest.mark.parametrize("position", [False, True])
@pytest.mark.parametrize("ties", [False, True])
def test_strengths_agree_with_r(ties: bool, position: bool) -> None:
    _, ballots = gold_votes()
    fit = fit_ballots(ballots if ties else without_ties(ballots), position=position)
    gold = gold_of(("davidson" if ties else "bradley-terry") + " position" * position)
    np.testing.assert_allclose(fit.strengths, [gold[f"m{k}"] for k in range(6)], atol=1e-8)
    if position and not ties:
        assert fit.position == pytest.approx(gold["position"], abs=1e-8)
    if ties:
        win, tie, _ = chances(fit, fit.strengths[5] - fit.strengths[4] + fit.position)
        assert win == pytest.approx(gold["win of vote 1"], abs=1e-8)
        assert tie == pytest.approx(gold["tie of vote 1"], abs=1e-8)


def chances(fit: VoteFit, eta: float) -> Floats:
    weights = np.exp(np.array([eta / 2.0, fit.tie, -eta / 2.0]))
    return np.asarray(weights / weights.sum())


def test_strengths_agree_with_evalica_choix_and_statsmodels() -> None:
    evalica = pytest.importorskip("evalica")
    choix = pytest.importorskip("choix")
    smf = pytest.importorskip("statsmodels.api")
    frame, ballots = gold_votes()
    ballots = without_ties(ballots)
    frame = frame[frame["winner"] != "tie"]
    fit = fit_ballots(ballots, position=False)
    won = ballots.outcome > 0.0
    pairs = [
        (int(a), int(b)) if w else (int(b), int(a))
        for a, b, w in zip(ballots.first, ballots.second, won, strict=True)
    ]
    other = choix.opt_pairwise(6, pairs, method="Newton-CG", tol=1e-12)
    np.testing.assert_allclose(fit.strengths, other - other.mean(), atol=1e-6)
    winners = [evalica.Winner.X if w else evalica.Winner.Y for w in won]
    scores = np.log(
        evalica.bradley_terry(frame["model_a"], frame["model_b"], winners, tolerance=1e-12).scores
    )
    np.testing.assert_allclose(
        fit.strengths, (scores - scores.mean())[[f"m{k}" for k in range(6)]].to_numpy(), atol=1e-6
    )
    design = np.zeros((len(ballots), 6))
    rows = np.arange(len(ballots))
    design[rows, ballots.first], design[rows, ballots.second] = 1.0, -1.0
    voters = frame["voter"].astype("category").cat.codes.to_numpy().astype(np.int64)
    model = smf.GLM(won.astype(float), design[:, 1:], family=smf.families.Binomial())
    by_glm = model.fit(cov_type="cluster", cov_kwds={"groups": voters, "use_correction": False}, tol=1e-14)
    np.testing.assert_allclose(fit.strengths[1:] - fit.strengths[0], by_glm.params, atol=1e-8)
    influence = fit.sum_scores(ballots, voters, 25) @ fit.inverse[:, :6]
    contrast = influence[:, 1:] - influence[:, [0]]
    np.testing.assert_allclose(contrast.T @ contrast, by_glm.cov_params(), rtol=1e-6)
    squares = fit.sum_squares(ballots, voters, 25)
    np.testing.assert_allclose(squares, influence.T @ influence, atol=1e-12)


def test_two_ways_of_clusters_agree_with_statsmodels() -> None:
    smf = pytest.importorskip("statsmodels.api")
    frame, ballots = gold_votes()
    kept = ballots.outcome != 0.0
    ballots, frame = without_ties(ballots), frame[kept]
    fit = fit_ballots(ballots, position=False)
    groups = np.stack(
        [
            frame[name].astype("category").cat.codes.to_numpy().astype(np.int64)
            for name in ("question", "voter")
        ],
        axis=1,
    )
    design = np.zeros((len(ballots), 6))
    rows = np.arange(len(ballots))
    design[rows, ballots.first], design[rows, ballots.second] = 1.0, -1.0
    model = smf.GLM((ballots.outcome > 0.0).astype(float), design[:, 1:], family=smf.families.Binomial())
    by_glm = model.fit(cov_type="cluster", cov_kwds={"groups": groups, "use_correction": False}, tol=1e-14)
    cell = np.unique(groups[:, 0] * 25 + groups[:, 1], return_inverse=True)[1]
    parts = [
        fit.sum_squares(ballots, unit, int(unit.max()) + 1) for unit in (groups[:, 0], groups[:, 1], cell)
    ]
    total = parts[0] + parts[1] - parts[2]
    turn = np.eye(6)[1:] - np.eye(6)[0]
    np.testing.assert_allclose(turn @ total @ turn.T, by_glm.cov_params(), rtol=1e-6, atol=1e-9)


def test_graded_votes_are_least_squares() -> None:
    rng = np.random.default_rng(2)
    first = rng.integers(0, 4, 200)
    second = (first + rng.integers(1, 4, 200)) % 4
    grade = 0.5 * (first - second) + 0.2 + rng.normal(size=200)
    fit = fit_ballots(Ballots(first, second, grade, 4, graded=True))
    design = np.zeros((200, 5))
    design[np.arange(200), first], design[np.arange(200), second], design[:, 4] = 1.0, -1.0, 1.0
    by_hand = np.linalg.lstsq(design, grade, rcond=None)[0]
    np.testing.assert_allclose(fit.strengths, by_hand[:4] - by_hand[:4].mean(), atol=1e-10)
    assert fit.position == pytest.approx(by_hand[4])


def read_gold() -> sw.Comparisons:
    return sw.compare(GOLD / "votes.csv", n_resamples=999)


def test_a_file_of_votes_is_compared() -> None:
    pairs = read_gold()
    gold = gold_of("davidson position")
    assert dict(zip(pairs.names, pairs.means, strict=True)) == pytest.approx(
        {name: value for name, value in gold.items() if name in pairs.names}, abs=1e-8
    )
    assert pairs.claim == "new voters like these 25 and questions like these 60"
    ranks = pairs.ranks()
    assert pairs.best() == tuple(ranks.index[ranks["rank_best"] == 1])
    intervals = pairs.intervals()
    assert (intervals["lower"] < intervals["estimate"]).all()


def test_measures_are_functions_of_the_strengths() -> None:
    scores = sw.read_scores(GOLD / "votes.csv")
    strength, elo = (sw.compare(scores[name], n_resamples=99) for name in ("strength", "elo"))
    np.testing.assert_allclose(elo.difference, strength.difference * 400.0 / np.log(10.0), rtol=1e-9)
    np.testing.assert_allclose(elo.p_adjusted, strength.p_adjusted)
    shares = sw.compare(scores["win_rate"], n_resamples=99)
    assert np.mean(shares.means) == pytest.approx(0.5)
    share = strength.estimates.win_share
    assert share is not None
    lead = strength.means[0] - strength.means[-1]
    win, tie, _ = chances(scores["strength"].attrs["votes"].fit, lead)
    assert float(share.of_difference(lead)) == pytest.approx(win + tie / 2.0)
    assert float(share.of_difference(-lead)) == pytest.approx(1.0 - win - tie / 2.0)


def test_turning_every_vote_round_turns_nothing_but_the_position() -> None:
    frame, ballots = gold_votes()
    turned = replace(ballots, first=ballots.second, second=ballots.first, outcome=-ballots.outcome)
    fit, other = fit_ballots(ballots), fit_ballots(turned)
    np.testing.assert_allclose(fit.strengths, other.strengths, atol=1e-9)
    assert fit.position == pytest.approx(-other.position, abs=1e-9)
    doubled = Ballots(*(np.tile(x, 2) for x in (ballots.first, ballots.second, ballots.outcome)), 6)
    np.testing.assert_allclose(fit_ballots(doubled).strengths, fit.strengths, atol=1e-9)
    # twice the votes of the same voters say nothing more of other voters
    voter = Way.of_labels(frame["voter"], "voter")
    votes = Votes(
        "v", tuple(f"m{k}" for k in range(6)), ballots.first, ballots.second, ballots.outcome, voter=voter
    )
    once, twice = (score_votes(v)["strength"].votes.units for v in (votes, join_votes([votes, votes])))
    np.testing.assert_allclose(once.lead, twice.lead, atol=1e-9)


def make_votes(rows: list[tuple[str, str, float]]) -> Votes:
    names = {name: k for k, name in enumerate(dict.fromkeys(name for row in rows for name in row[:2]))}
    first, second = (np.array([names[row[k]] for row in rows]) for k in (0, 1))
    return Votes("votes.csv", tuple(names), first, second, np.array([float(row[2]) for row in rows]))


def test_parts_that_no_vote_connects_are_named() -> None:
    rows = [("a", "b", 1.0), ("b", "a", 1.0), ("c", "d", 1.0), ("d", "c", 1.0)] * 3
    with pytest.raises(InputError, match="fall into 2 parts that no vote connects: a and b against c and d"):
        score_votes(make_votes(rows))


def test_a_system_that_always_wins_is_named_and_a_ridge_takes_it() -> None:
    rows = [("a", "b", 1.0), ("b", "c", 1.0), ("c", "b", 1.0), ("b", "c", 1.0), ("c", "a", -1.0)] * 3
    with pytest.raises(InputError, match="a won every vote against b and c"):
        score_votes(make_votes(rows))
    strength = score_votes(make_votes(rows), ridge=0.5)["strength"].mean("topic").values
    assert strength[0] > strength[1]


def test_too_few_units_are_refused_or_held_fixed() -> None:
    rng = np.random.default_rng(1)
    rows = [
        (f"m{a}", f"m{(a + 1 + rng.integers(0, 2)) % 3}", float(rng.choice([-1, 0, 1])))
        for a in rng.integers(0, 3, 90)
    ]
    votes = make_votes(rows)
    few = Way.of_labels((f"q{k % 3}" for k in range(90)), "prompt")
    many = Way.of_labels((f"v{k % 11}" for k in range(90)), "voter")
    with pytest.raises(InputError, match="3 prompts, too few"):
        score_votes(replace(votes, prompt=few))
    fixed = score_votes(replace(votes, prompt=few, voter=many))["strength"]
    assert sw.compare(fixed, n_resamples=99).claim == "new voters like these 11, exactly these 3 prompts"
    nested = Way.of_labels((f"q{k}" for k in range(90)), "prompt")
    inside = score_votes(replace(votes, prompt=nested, voter=many))["strength"]
    assert sw.compare(inside, n_resamples=99).claim == "new voters like these 11 and their 90 prompts"


def test_position_is_left_out_where_strengths_explain_it() -> None:
    always = Ballots(np.zeros(6, dtype=int), np.ones(6, dtype=int), np.array([1.0, -1, 1, 0, 1, -1]), 2)
    assert not tells_position(always)
    assert not fit_ballots(always).has_position
    both = replace(always, first=np.array([0, 1, 0, 1, 0, 1]), second=np.array([1, 0, 1, 0, 1, 0]))
    assert tells_position(both)


def test_other_methods_refuse_votes_and_this_one_scores() -> None:
    scores = sw.read_scores(GOLD / "votes.csv", measure="strength")
    with pytest.raises(InputError, match="needs scores of items"):
        sw.compare(scores, "t holm")
    table = pd.DataFrame({"x": [0.1, 0.2, 0.3], "y": [0.2, 0.2, 0.4]})
    with pytest.raises(InputError, match="needs votes"):
        sw.compare(table, "bradley-terry")


def test_many_units_become_groups() -> None:
    codes, groups = group_units(np.arange(50_000), 50_000, 1)
    assert groups == 2_000
    assert np.bincount(codes).tolist() == [25] * 2_000


def test_false_alarms_stay_at_the_level_where_arenas_bootstrap_errs() -> None:
    """40 tables of equal systems with few voters; the figures of docs/bench rest on many more."""
    wrong = wrong_rows = 0
    for seed in range(40):
        rng = np.random.default_rng([seed, 36])
        n, r = 500, 4
        first = rng.integers(0, r, n)
        second = (first + rng.integers(1, r, n)) % r
        prompt, voter = rng.permutation(n) % 50, rng.integers(0, 10, n)
        taste = rng.normal(0.0, 0.6, (10, r))
        eta = taste[voter, first] - taste[voter, second] + rng.logistic(size=n)
        outcome = np.where(np.abs(eta) < 0.4, 0.0, np.sign(eta))
        names = tuple(f"m{k}" for k in range(r))
        prompts, voters = Way.of_labels(map(str, prompt), "prompt"), Way.of_labels(map(str, voter), "voter")
        votes = Votes("v", names, first, second, outcome, prompts, voters)
        scores = score_votes(votes)["strength"]
        wrong += bool(sw.compare(scores, n_resamples=199).reject().any())
        rows = score_votes(replace(votes, prompt=None, voter=None))["strength"].votes
        ia, ib = np.triu_indices(r, 1)
        single = measure_pairs(rows.fit.strengths, rows.units, ia, ib)
        wrong_rows += bool((np.abs(single.t) > 1.96).any())
    assert wrong <= 6
    assert wrong_rows >= 20


def test_parts_are_listed_from_the_top() -> None:
    votes = make_votes([(a, b, 1.0) for a, b in pairwise("abcd")])
    ballots = Ballots(votes.first, votes.second, votes.outcome, 4)
    connected, separated = find_parts(ballots)
    assert len(connected) == 1
    assert [int(part[0]) for part in separated] == [0, 1, 2, 3]


@pytest.mark.parametrize("outcomes", [[0.0], [0.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
def test_a_tie_compares_both_ways(outcomes: list[float]) -> None:
    """Whoever is shown first: after a tie, neither system can be infinitely strong."""
    n = len(outcomes)
    for first, second in ((0, 1), (1, 0)):
        ballots = Ballots(np.full(n, first), np.full(n, second), np.array(outcomes), 2)
        connected, separated = find_parts(ballots)
        assert [part.tolist() for part in connected] == [part.tolist() for part in separated] == [[0, 1]]
    won = Ballots(np.zeros(1, int), np.ones(1, int), np.ones(1), 2)
    assert [part.tolist() for part in find_parts(won)[1]] == [[0], [1]]


def test_a_system_that_only_ties_is_fitted_as_equal() -> None:
    both = [(a, b, outcome) for a, b in ("ab", "ba") for outcome in (1.0, -1.0)]
    votes = make_votes([*both, ("b", "c", 0.0), ("c", "b", 0.0)])
    assert np.abs(score_votes(votes)["strength"].votes.fit.strengths).max() < 1e-6


@pytest.mark.parametrize("size", [1, 3])
def test_squares_of_many_units_are_those_of_their_table(size: int) -> None:
    """Votes that are units of their own are summed by pairs of systems, without a table of units."""
    _, ballots = gold_votes()
    fit = fit_ballots(ballots, position=True)
    assert fit.has_position
    assert fit.has_ties
    unit = np.arange(len(ballots)) // size
    scores = fit.sum_scores(ballots, unit, int(unit[-1]) + 1)
    gain = fit.inverse[: ballots.systems]
    expected = gain @ scores.T @ scores @ gain.T
    np.testing.assert_allclose(fit.sum_squares(ballots, unit, len(scores)), expected, rtol=1e-9, atol=1e-12)
