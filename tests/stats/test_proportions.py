"""Right and wrong answers: McNemar's test and intervals that stay where shares can be."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar

import shardwise as sw
from shardwise.methods.registry import parse_procedure
from shardwise.methods.tables import TABLE, Tables
from shardwise.stats.proportions import tango, wilson

GOLD = Path(__file__).parent.parent / "gold"


def test_mcnemar_as_in_statsmodels() -> None:
    items = pd.read_csv(GOLD / "factors_items.csv", dtype={"item": str})[["item", "a", "b", "c"]]
    found = sw.compare(items, "mcnemar none").to_frame().set_index(["b", "a"])["p"]
    for row in pd.read_csv(GOLD / "factors_mcnemar.csv").itertuples():
        assert found[row.a, row.b] == pytest.approx(row.p, rel=1e-12)


def test_real_logs(data: Path) -> None:
    """m2 - m1 of the lm-evaluation-harness logs: .14053829 by statsmodels; .1454 by 10,000 random sign flips."""
    logs = [data / "llm" / "lm-eval" / f"m{k}-samples_toyqa.jsonl" for k in (1, 2)]
    table = sw.as_scores(logs, measure="acc").drop_vars("cluster")
    row = sw.compare(table, "mcnemar none").to_frame().iloc[0]
    assert (row["a"], row["b"], row["p"]) == ("m2", "m1", pytest.approx(0.14053829, abs=5e-9))
    theirs = mcnemar(pd.crosstab(*table.values.T), exact=True).pvalue
    assert row["p"] == pytest.approx(theirs, rel=1e-12)
    assert row["lower"] < 0.0 < row["difference"] < row["upper"]
    # all sign flips are McNemar's test; draws are within 3.5 standard errors of it
    assert sw.compare(table, "randomization none").p[0] == pytest.approx(0.1454, abs=5e-5)
    drawn = sw.compare(table, "randomization none", n_resamples=100_000).p[0]
    assert drawn == pytest.approx(row["p"], abs=0.004)


def test_tango_as_in_propcis() -> None:
    """PropCIs stops halving at 1e-7."""
    gold = pd.read_csv(GOLD / "factors_tango.csv")
    ends = tango(*(gold[name].to_numpy(float) for name in ("only_a", "only_b", "n")), 0.05)
    assert ends[0] == pytest.approx(gold["lower"].to_numpy(), abs=3e-7)
    assert ends[1] == pytest.approx(gold["upper"].to_numpy(), abs=3e-7)


def test_wilson_as_in_statsmodels() -> None:
    gold = pd.read_csv(GOLD / "factors_wilson.csv")
    n = gold["n"].to_numpy(float)
    ends = wilson(gold["right"].to_numpy() / n, n, 0.05)
    assert np.stack(ends) == pytest.approx(gold[["lower", "upper"]].to_numpy().T, abs=1e-12)


@given(st.integers(0, 30), st.integers(0, 30), st.integers(0, 60), st.floats(0.001, 0.5))
def test_score_intervals_mirror_and_hold(b: int, c: int, both: int, alpha: float) -> None:
    n = np.array(float(max(b + c + both, 1)))
    low, high = tango(np.array(float(b)), np.array(float(c)), n, alpha)
    assert -1.0 <= low <= (b - c) / n + 1e-12 <= high + 2e-12 <= 1.0 + 2e-12
    other = tango(np.array(float(c)), np.array(float(b)), n, alpha)
    assert [-float(other[1]), -float(other[0])] == pytest.approx([float(low), float(high)], abs=1e-9)


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
