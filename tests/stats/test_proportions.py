"""Right and wrong answers: McNemar's test and intervals that stay where shares can be."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar

import shardwise as sw
from shardwise.methods.names import parse_procedure
from shardwise.methods.tables import TABLE, Tables

GOLD = Path(__file__).parent.parent / "gold"


def test_mcnemar_as_in_statsmodels() -> None:
    items = pd.read_csv(GOLD / "factors_items.csv", dtype={"item": str})[["item", "a", "b", "c"]]
    found = sw.compare(items, "mcnemar none").to_frame().set_index(["b", "a"])["p"]
    for row in pd.read_csv(GOLD / "factors_mcnemar.csv").itertuples():
        assert found[row.a, row.b] == pytest.approx(row.p, rel=1e-12)


def test_real_logs(data: Path) -> None:
    """m2 - m1 of the lm-evaluation-harness logs: .14053829 by statsmodels; .1454 by 10,000 random sign flips."""
    logs = [data / "llm" / "lm-eval" / f"m{k}-samples_toyqa.jsonl" for k in (1, 2)]
    table = replace(sw.as_scores(logs, measure="acc"), clusters=None)
    row = sw.compare(table, "mcnemar none").to_frame().iloc[0]
    assert (row["a"], row["b"], row["p"]) == ("m2", "m1", pytest.approx(0.14053829, abs=5e-9))
    theirs = mcnemar(pd.crosstab(*table.values.T), exact=True).pvalue
    assert row["p"] == pytest.approx(theirs, rel=1e-12)
    assert row["lower"] < 0.0 < row["difference"] < row["upper"]
    # all sign flips are McNemar's test; draws are within 3.5 standard errors of it
    assert sw.compare(table, "randomization none").p[0] == pytest.approx(0.1454, abs=5e-5)
    drawn = sw.compare(table, "randomization none", n_resamples=100_000).p[0]
    assert drawn == pytest.approx(row["p"], abs=0.004)


def test_mcnemars_intervals_as_in_propcis() -> None:
    """PropCIs stops halving at 1e-7; where the exact test is not significant the interval holds 0."""
    for row in pd.read_csv(GOLD / "factors_tango.csv").itertuples():
        y = np.zeros((int(row.n), 2))
        y[: int(row.only_a), 0] = 1.0
        y[int(row.only_a) : int(row.only_a + row.only_b), 1] = 1.0
        pairs = sw.compare(pd.DataFrame(y, columns=["a", "b"]), "mcnemar none", only=[("a", "b")])
        turn = 1.0 if pairs.to_frame()["a"][0] == "a" else -1.0
        lower, upper = sorted(turn * float(end[0]) for end in pairs.limits())
        if pairs.p[0] > 0.05:
            assert lower <= 0.0 <= upper
        if row.lower <= 0.0 <= row.upper or pairs.p[0] <= 0.05:
            assert [lower, upper] == pytest.approx([row.lower, row.upper], abs=3e-7)


def test_intervals_of_means_stay_within_0_and_1() -> None:
    y = np.ones((20, 2))
    y[:7, 1] = 0.0
    found = sw.compare(pd.DataFrame(y, columns=["a", "b"]), "mcnemar holm")
    ends = found.intervals()
    assert ends.loc["a", "upper"] == 1.0
    # Wilson's with Student's t: c²/(20 + c²) below 1
    assert ends.loc["a", "lower"] == pytest.approx(20 / (20 + stats.t.isf(0.025, 19) ** 2), abs=1e-9)
    assert found.intervals(kind="difference")["upper"].iloc[0] < 1.0
    assert sw.analyze(pd.DataFrame(y, columns=["a", "b"]), method="mcnemar holm").lead.half_widths[0] > 0.0


def test_other_scores_are_refused() -> None:
    with pytest.raises(sw.InputError, match="neither 0 nor 1"):
        sw.compare(pd.DataFrame({"a": [0.5, 1.0], "b": [0.0, 1.0]}), "mcnemar holm")


@pytest.mark.calibration
@pytest.mark.parametrize("share", [0.7, 0.95])
def test_near_the_ceiling(share: float, repetitions: float) -> None:
    """Equal models right in 70 or 95 % of 200 questions; 5 % family-wise at most, and Tango covers in 95 %."""
    n = int(1000 * repetitions)
    rng = np.random.default_rng(3)
    hard = rng.normal(size=(n, 200, 1))
    y = (0.7 * hard + np.sqrt(0.51) * rng.normal(size=(n, 200, 3)) < stats.norm.ppf(share)).astype(float)
    error = 3.5 * np.sqrt(0.05 * 0.95 / n)
    tables = Tables(y, TABLE, n_resamples=239)
    rates = {
        method: (parse_procedure(method).decide(tables).p_adjusted <= 0.05).any(axis=1).mean()
        for method in ("moderated", "mcnemar holm", "t holm")
    }
    assert 0.05 - error < rates["moderated"] < 0.05 + error
    assert rates["mcnemar holm"] < 0.05
    lower, upper = parse_procedure("mcnemar none").decide(tables).limits(0.05)
    missed = 1.0 - ((lower <= 0.0) & (upper >= 0.0)).mean()
    assert missed < 0.05 + error
