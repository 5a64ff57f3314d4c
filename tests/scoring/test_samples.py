"""pass@k and pass^k: equal to enumeration of all samples, and used like any other measure."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from bench.pass_at_k import SHAPES, draw_figures, true_value

import shardwise as sw
from command_line import shardwise
from shardwise.core.errors import InputError
from shardwise.methods.names import parse_procedure
from shardwise.methods.tables import Tables
from shardwise.scoring.samples import estimate_all, estimate_any, measure_samples


@pytest.mark.parametrize("n", [1, 4, 7])
def test_both_equal_the_enumeration_of_all_subsets(n: int) -> None:
    for c in range(n + 1):
        answers = [1] * c + [0] * (n - c)
        for k in range(1, n + 1):
            subsets = list(combinations(answers, k))
            counts = np.array([c]), np.array([n])
            assert estimate_any(*counts, k)[0] == pytest.approx(np.mean([max(s) for s in subsets]))
            assert estimate_all(*counts, k)[0] == pytest.approx(np.mean([min(s) for s in subsets]))


def test_both_are_unbiased() -> None:
    """The expectation over the binomial distribution of right answers is the probability itself."""
    from scipy.stats import binom

    n, k = 10, 4
    for p in (0.03, 0.4, 0.95):
        c = np.arange(n + 1)
        weights = binom.pmf(c, n, p)
        assert weights @ estimate_any(c, np.full(n + 1, n), k) == pytest.approx(1 - (1 - p) ** k)
        assert weights @ estimate_all(c, np.full(n + 1, n), k) == pytest.approx(p**k)


def test_many_samples_do_not_overflow() -> None:
    assert estimate_any(np.array([1]), np.array([5000]), 2500)[0] == pytest.approx(0.5)


def table(rng: np.random.Generator, samples: int = 6) -> xr.DataArray:
    y = (rng.random((30, 3, samples)) < rng.random((30, 1, 1))).astype(float)
    return xr.DataArray(y, dims=("question", "model", "sample"), coords={"model": ["a", "b", "c"]})


def test_items_are_the_units_of_the_test() -> None:
    y = table(np.random.default_rng(1))
    made = sw.analyze(y, measure="pass@3", n_resamples=999)
    by_hand = estimate_any(y.sum("sample").to_numpy().astype(int), np.full((30, 3), 6), 3)
    plain = xr.DataArray(by_hand, dims=("question", "model"), coords={"model": ["a", "b", "c"]})
    other = sw.analyze(plain, n_resamples=999)
    pd.testing.assert_frame_equal(made.comparisons.to_frame(), other.comparisons.to_frame())
    assert made.measure == "pass@3"
    assert "new questions like these 30" in made.comparisons.claim


def test_pass_at_one_is_the_mean() -> None:
    y = table(np.random.default_rng(2))
    means = sw.as_scores(y).mean("instance").values
    for name in ("pass@1", "pass^1"):
        assert measure_samples(y, name).to_numpy() == pytest.approx(means)


def test_numbers_of_samples_may_differ_and_items_may_be_missing() -> None:
    y = table(np.random.default_rng(3))
    values = y.to_numpy().copy()
    values[0, 0, 4:] = np.nan
    values[1, 1] = np.nan
    made = measure_samples(y.copy(data=values), "pass@4").to_numpy()
    right = int(np.nansum(values[0, 0]))
    assert made[0, 0] == estimate_any(np.array([right]), np.array([4]), 4)[0]
    assert np.isnan(made[1, 1])


@pytest.mark.parametrize(
    ("change", "name", "message"),
    [
        (lambda y: y, "pass@7", r"pass@7 needs 7 samples, and a has 6 on question 0; choose a smaller k"),
        (lambda y: y * 0.5, "pass@2", r"counts right answers, and a score is 0.5; give scores of 0 and 1"),
        (lambda y: y.isel(sample=0, drop=True), "pass@2", r"needs several samples of each question"),
        (lambda y: y, "pass@x", r"'pass@x' is not a measure of samples; write pass@5"),
    ],
)
def test_what_cannot_be_estimated_is_refused(change, name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        sw.as_scores(change(table(np.random.default_rng(4))), measure=name)


def test_commands_take_it_like_any_measure(tmp_path: Path) -> None:
    y = table(np.random.default_rng(5))
    frame = y.to_dataframe(name="correct").reset_index().astype({"question": str})
    path = tmp_path / "samples.csv"
    frame.assign(question="q" + frame["question"]).to_csv(path, index=False)
    done = shardwise("leaderboard", str(path), "-m", "pass@3", "-f", "json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    expected = measure_samples(y, "pass@3").mean("topic")
    assert {row["system"]: row["mean"] for row in result["rows"]} == pytest.approx(
        {name: expected.sel(system=name).item() for name in "abc"}
    )
    assert any("unbiased estimate from 6 samples of each question" in note for note in result["notes"])
    two = shardwise("compare", str(path), "-m", "pass@3", "-m", "pass^3", "-f", "csv", "-q")
    assert two.stdout.count("pass^3") == 3
    gate = shardwise("gate", str(path), "-m", "pass@3", "--baseline", "a", "--new", "b", "-q")
    assert gate.returncode in (0, 3), gate.stderr
    refused = shardwise("compare", str(path), "-m", "pass@9")
    assert refused.returncode == 2
    assert len(refused.stderr.splitlines()) == 1


@pytest.mark.calibration
def test_equal_systems_are_seldom_different() -> None:
    """A small part of bench/pass_at_k.py: 200 tables, 5% plus three standard errors at most."""
    y = draw_figures(np.random.default_rng(0), SHAPES["hard"], 10, 5, 200, 50, 3)
    decided = parse_procedure("moderated").decide(Tables(y, ("topic", "system"), 0, n_resamples=199))
    assert (decided.p_adjusted <= 0.05).any(axis=-1).mean() <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 200)
    assert y.mean() == pytest.approx(true_value(SHAPES["hard"], 5), abs=0.02)
