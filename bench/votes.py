"""False alarms, coverage and speed for votes, beside the bootstrap of single votes that Arena boards use.

``python -m bench.votes calibrate [tables]`` writes docs/bench/votes.csv; ``python -m bench.votes speed`` prints seconds
for 10⁶ votes of 150 models beside evalica in one run.
"""

from __future__ import annotations

import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

import shardwise as sw
from shardwise.core.arrays import Floats
from shardwise.io.votes import Votes, Way
from shardwise.methods.votes.method import measure_pairs
from shardwise.methods.votes.scores import score_votes

OUT = Path(__file__).parents[1] / "docs" / "bench" / "votes.csv"
DRAWS = 399


@dataclass(frozen=True)
class Scenario:
    """Votes of equal systems: numbers, spreads of tastes of prompts and voters, ties, how pairs are chosen."""

    systems: int = 6
    prompts: int = 100
    voters: int = 30
    votes: int = 1500
    prompt_sd: float = 0.5
    voter_sd: float = 0.5
    tie: float = -0.3
    popular: bool = False
    own_prompts: bool = False
    few_vote_much: bool = False


SCENARIOS = {
    "independent votes": Scenario(prompt_sd=0.0, voter_sd=0.0),
    "prompts and voters": Scenario(),
    "5 voters": Scenario(voters=5),
    "8 voters": Scenario(voters=8),
    "12 voters": Scenario(voters=12),
    "10 prompts, 10 voters": Scenario(prompts=10, voters=10, votes=1000),
    "popular pairs": Scenario(systems=10, voters=40, popular=True),
    "mostly ties": Scenario(tie=1.5),
    "Arena: own prompts, few vote much": Scenario(
        systems=10, voters=200, votes=3000, own_prompts=True, few_vote_much=True
    ),
    "two models, 8 voters": Scenario(systems=2, prompts=60, voters=8, votes=300),
}


def simulate_votes(case: Scenario, rng: np.random.Generator, strengths: Floats | None = None) -> Votes:
    """Simulate votes of one table."""
    r, n = case.systems, case.votes
    theta = np.zeros(r) if strengths is None else strengths
    weight = rng.permutation(1.0 / np.arange(1, r + 1)) if case.popular else np.ones(r)
    first = rng.choice(r, n, p=weight / weight.sum())
    second = rng.choice(r, n, p=weight / weight.sum())
    while (same := first == second).any():
        second[same] = rng.choice(r, int(same.sum()), p=weight / weight.sum())
    prompt = np.arange(n) if case.own_prompts else rng.permutation(n) % case.prompts
    share = 1.0 / np.arange(1, case.voters + 1) if case.few_vote_much else np.ones(case.voters)
    voter = rng.choice(case.voters, n, p=share / share.sum())
    of_prompt = rng.normal(0.0, case.prompt_sd, (int(prompt.max()) + 1, r))
    of_voter = rng.normal(0.0, case.voter_sd, (case.voters, r))
    eta = (theta + of_prompt[prompt] + of_voter[voter])[np.arange(n), first]
    eta = eta - (theta + of_prompt[prompt] + of_voter[voter])[np.arange(n), second] + 0.2
    weights = np.exp(np.stack([eta / 2.0, np.full(n, case.tie), -eta / 2.0]))
    cut = np.cumsum(weights / weights.sum(axis=0), axis=0)
    draw = rng.random(n)
    outcome = np.where(draw < cut[0], 1.0, np.where(draw < cut[1], 0.0, -1.0))
    names = tuple(f"m{k}" for k in range(r))
    ways = [Way.of_labels(map(str, codes), noun) for codes, noun in ((prompt, "prompt"), (voter, "voter"))]
    return Votes("simulated", names, first, second, outcome, *ways)


def calibrate(tables: int) -> pd.DataFrame:
    """Count tables of equal systems in which some pair is called different, and power at a true difference."""
    rows = []
    for name, case in SCENARIOS.items():
        wrong = {"bradley-terry": 0, "single votes": 0, "single votes, overlap": 0}
        covered = 0
        found = 0.0
        for seed in range(tables):
            rng = np.random.default_rng([seed, 36])
            votes = simulate_votes(case, rng)
            pairs = sw.compare(score_votes(votes)["strength"], n_resamples=DRAWS, seed=seed)
            wrong["bradley-terry"] += bool(pairs.reject().any())
            lower, upper = pairs.limits()
            covered += bool(((lower <= 0.0) & (upper >= 0.0)).all())
            # Arena boards resample single votes: each pair by itself, and models whose intervals do not overlap
            plain = score_votes(Votes(votes.source, votes.systems, votes.first, votes.second, votes.outcome))
            rest = plain["strength"].attrs["votes"]
            ia, ib = np.triu_indices(case.systems, 1)
            measured = measure_pairs(rest.fit.strengths, rest.units, ia, ib)
            gap = np.abs(measured.difference)
            wrong["single votes"] += bool((gap > 1.96 * np.sqrt(measured.own)).any())
            se = np.sqrt(np.diag(rest.units.lead.T @ rest.units.lead))
            wrong["single votes, overlap"] += bool((gap > 1.96 * (se[ia] + se[ib])).any())
            if seed % 4:
                continue
            # power on every fourth table
            strengths = np.zeros(case.systems)
            strengths[0] = 1.0
            true = sw.compare(
                score_votes(simulate_votes(case, rng, strengths))["strength"], n_resamples=DRAWS
            )
            frame = true.to_frame()
            with_first = (frame["a"] == "m0") | (frame["b"] == "m0")
            found += float(true.reject()[with_first.to_numpy()].mean())
        rows.append(
            {
                "scenario": name,
                "tables": tables,
                **{f"false alarms, {key}": count / tables for key, count in wrong.items()},
                "all intervals cover": covered / tables,
                "power at a strength of 1": found / -(-tables // 4),
            }
        )
        print(rows[-1], flush=True)
        pd.DataFrame(rows).to_csv(OUT, index=False, float_format="%.3f")
    return pd.DataFrame(rows)


def measure_speed(votes: int = 1_000_000, systems: int = 150) -> None:
    """Time reading, fitting and comparing beside evalica, from the same file."""
    import evalica
    import pyarrow.csv

    rng = np.random.default_rng(1)
    strength = rng.normal(0.0, 0.5, systems)
    first = rng.integers(0, systems, votes)
    second = (first + rng.integers(1, systems, votes)) % systems
    eta = strength[first] - strength[second] + rng.logistic(size=votes)
    names = np.array([f"model-{k}" for k in range(systems)])
    frame = pd.DataFrame(
        {
            "question_id": [f"{k:07x}" for k in rng.permutation(votes)],
            "model_a": names[first],
            "model_b": names[second],
            "winner": np.where(np.abs(eta) < 0.3, "tie", np.where(eta > 0, "model_a", "model_b")),
            "judge": [f"user_{k}" for k in rng.zipf(1.5, votes) % 50_000],
        }
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "votes.csv"
        frame.to_csv(path, index=False)
        start = time.perf_counter()
        table = pyarrow.csv.read_csv(path)
        read = time.perf_counter() - start
        start = time.perf_counter()
        scores = sw.read_scores(path, measure="strength")
        fitted = time.perf_counter() - start
        pairs = sw.compare(scores)
        found = int(pairs.reject().sum())
        whole = time.perf_counter() - start
        start = time.perf_counter()
        other = table.to_pandas()
        winner = other["winner"].map(
            {"model_a": evalica.Winner.X, "model_b": evalica.Winner.Y, "tie": evalica.Winner.Draw}
        )
        evalica.bradley_terry(other["model_a"], other["model_b"], winner)
        beside = time.perf_counter() - start
    print(
        f"{votes:,} votes of {systems} models: reading by Arrow {read:.2f} s; read and fitted {fitted:.2f} s; compared,"
        f" all {len(pairs):,} pairs with ranks {whole:.2f} s ({whole / read:.1f} × reading; {found:,} significant);"
        f" evalica, strengths alone {beside:.2f} s"
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["speed"]:
        measure_speed()
    else:
        calibrate(int(sys.argv[2]) if len(sys.argv) > 2 else 1000).to_csv(
            OUT, index=False, float_format="%.3f"
        )
