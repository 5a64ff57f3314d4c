"""Tables at the edge of numbers and of sizes: what comes out is right, or they are refused; no warning is shown."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import mpmath
import numpy as np
import pandas as pd
import pytest
from scipy import stats

import shardwise as sw
from shardwise.core.errors import InputError

METHODS = ["t holm", "moderated", "max-t", "MD1 hsd", "wilcoxon bh", "sign none", "randomization holm", "tukey",
           "bootstrap none", "unpaired-t bh", "dunnett"]  # fmt: skip

WHOLE = ("t holm", "moderated")
"""Methods by which tables are analysed with all that a report has; the others compare alone."""


def drawn(topics: int, systems: int, seed: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(0.5, 0.1, (topics, systems)) + rng.normal(0, 0.2, (topics, 1))


def with_cell(value: float) -> np.ndarray:
    y = drawn(20, 3)
    y[4, 1] = value
    return y


EDGES: dict[str, Callable[[], np.ndarray]] = {
    "huge": lambda: drawn(20, 3) * 1e308,
    "too large": lambda: drawn(20, 3) * 1e101,
    "too small": lambda: drawn(20, 3) * 1e-101,
    "large": lambda: drawn(20, 3) * 1e99,
    "small": lambda: drawn(20, 3) * 1e-99,
    "tiny": lambda: drawn(20, 3) * 1e-308,
    "least": lambda: np.full((20, 3), 5e-324) * np.array([0, 1, 2]),
    "one huge cell": lambda: with_cell(1e308),
    "one large cell": lambda: with_cell(1e100),
    "opposite": lambda: np.sign(drawn(20, 3) - 0.5) * 1.7e308,
    "constant": lambda: np.full((20, 3), 0.1),
    "zero": lambda: np.zeros((20, 3)),
    "constant systems": lambda: np.tile([0.1, 0.2, 0.3], (20, 1)),
    "identical": lambda: np.repeat(drawn(20, 1), 3, axis=1),
    "two identical": lambda: np.c_[drawn(20, 2), drawn(20, 2)[:, 0]],
    "shifted": lambda: drawn(20, 1) + np.array([0.0, 0.1, 0.2]),
    "far from zero": lambda: 1e15 + np.round(drawn(20, 3)),
    "one topic": lambda: drawn(1, 3),
    "two topics": lambda: drawn(2, 3),
    "more systems than topics": lambda: drawn(3, 30),
    "one system": lambda: drawn(20, 1),
}


def framed(y: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(y, columns=[f"s{k:02d}" for k in range(y.shape[1])])


@pytest.mark.parametrize("edge", EDGES)
def test_every_method_answers_or_refuses(edge: str) -> None:
    """Answers are probabilities, intervals are around the difference, and what is equal is not called different."""
    y = EDGES[edge]()
    answered = 0
    for method in METHODS:
        chosen = {"baseline": "s00"} if method == "dunnett" else {}
        try:
            if method in WHOLE:
                pairs = sw.analyze(framed(y), method=method, calibration=0).comparisons
            else:
                pairs = sw.compare(framed(y), method, n_resamples=199, **chosen)  # type: ignore[arg-type]
        except InputError:
            continue
        answered += 1
        rows = pairs.to_frame()
        assert rows["p_adjusted"].between(0, 1).all(), method
        assert (rows["p_adjusted"] >= rows["p"] - 1e-12).all() or method in ("moderated",), method
        means = framed(y).mean()
        difference = means[rows["a"]].to_numpy() - means[rows["b"]].to_numpy()
        np.testing.assert_allclose(rows["difference"], difference, rtol=1e-9, atol=1e-12 * np.abs(y).max())
        inside = rows[["lower", "upper"]].notna().all(axis=1)
        assert (rows["lower"] <= rows["difference"])[inside].all(), method
        assert (rows["difference"] <= rows["upper"])[inside].all(), method
        same = [bool((framed(y)[a] == framed(y)[b]).all()) for a, b in zip(rows["a"], rows["b"], strict=True)]
        assert (rows["p_adjusted"][same] > 0.5).all(), method
    refused = edge in (
        "huge",
        "too large",
        "too small",
        "tiny",
        "least",
        "opposite",
        "one huge cell",
        "one topic",
        "one system",
    )
    assert refused == (answered == 0), answered


@pytest.mark.parametrize("spread", [0.3, 0.1, 0.03, 0.025])
def test_p_values_to_the_end_of_the_scale(spread: float) -> None:
    """Student's p from the scores as they are, in fifty digits; the last is below 1e-300."""
    rng = np.random.default_rng(3)
    b = rng.random(200)
    a = b + 1.0 + rng.normal(0, spread, 200)
    with mpmath.workdps(50):
        d = [mpmath.mpf(float(x)) - mpmath.mpf(float(y)) for x, y in zip(a, b, strict=True)]
        mean = mpmath.fsum(d) / 200
        variance = mpmath.fsum([(one - mean) ** 2 for one in d]) / 199
        t = mean / mpmath.sqrt(variance / 200)
        p = mpmath.betainc(mpmath.mpf(199) / 2, mpmath.mpf(1) / 2, 0, 199 / (199 + t**2), regularized=True)
    (row,) = sw.compare(pd.DataFrame({"a": a, "b": b}), "t none").to_frame().itertuples()
    assert row.p == pytest.approx(float(p), rel=1e-9)
    assert spread > 0.025 or row.p < 1e-300


def test_a_p_value_below_all_numbers_is_zero_and_shown_as_less() -> None:
    rng = np.random.default_rng(3)
    b = rng.random(400)
    found = sw.analyze(
        pd.DataFrame({"a": b + 1 + rng.normal(0, 1e-4, 400), "b": b}), method="t none", calibration=0
    )
    (row,) = found.comparisons.to_frame().itertuples()
    assert row.p == 0.0
    assert math.isfinite(row.statistic)
    assert "<" in str(found) or "e-" not in str(found)


@pytest.mark.slow
def test_a_hundred_thousand_items() -> None:
    """Against scipy; the difference is small, and its p-value is tiny."""
    y = np.random.default_rng(5).normal(size=(100_000, 3))
    y[:, 1] += 0.07
    frame = framed(y)
    rows = sw.compare(frame, "t none").to_frame()
    for row in rows.itertuples():
        theirs = stats.ttest_rel(frame[row.a], frame[row.b])
        assert row.p == pytest.approx(theirs.pvalue, rel=1e-7)
        assert row.statistic == pytest.approx(theirs.statistic, rel=1e-10)
    assert rows["p"].min() < 1e-40


def test_a_system_with_one_score_is_no_reason_for_a_warning() -> None:
    frame = framed(drawn(8, 3))
    frame.iloc[1:, 2] = np.nan
    found = sw.compare(frame, "moderated").systems()["estimate"]
    assert found[list(frame)].to_numpy() == pytest.approx(frame.mean().to_numpy())


@pytest.mark.parametrize(("topics", "right_or_wrong"), [(2, False), (3, True), (4, False)])
def test_reports_of_a_handful_of_topics(tmp_path: Path, topics: int, right_or_wrong: bool) -> None:
    """Comparison intervals are infinite there: bars reach the edges of the axis."""
    y = np.array([[0.1, 0.2], [0.2, 0.2], [0.3, 0.5], [0.2, 0.6]])[:topics]
    table = pd.DataFrame((y > 0.15 if right_or_wrong else y).astype(float), columns=["a", "b"])
    analysis = sw.analyze(table.rename_axis("topic"), calibration=0)
    analysis.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "nan" not in "".join(part.split("/>")[0] for part in page.split("<rect")[1:])
    assert analysis.leaderboard().to_html()
