"""A method, a correction, a chart and a scenario of one's own, each in one place, appear everywhere by themselves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import altair as alt
import numpy as np
import pandas as pd
import pytest

import shardwise as sw
from command_line import shardwise
from shardwise.core.claim import Claim
from shardwise.lab import trial
from shardwise.lab.trial import SimulationSource
from shardwise.methods import names
from shardwise.methods.method import Method
from shardwise.methods.paired.method import estimate_means
from shardwise.methods.pairs import Pairs, student_pairs
from shardwise.methods.tables import TABLE, Tables
from shardwise.plot import dispatch
from shardwise.stats import corrections
from shardwise.writing.methods import methods_text


def trim_pairs(tables: Tables, claim: Claim, ia: np.ndarray, ib: np.ndarray) -> Pairs:
    d = np.sort(tables.y[..., ia] - tables.y[..., ib], axis=1)
    topics, cut = d.shape[1], d.shape[1] // 10
    kept, n = d[:, cut : topics - cut], topics - 2 * cut
    se = np.clip(d, kept[:, :1], kept[:, -1:]).std(axis=1, ddof=1) * np.sqrt((topics - 1) / (n * (n - 1)))
    return student_pairs(kept.mean(axis=1), se, np.full((len(d), 1), n - 1.0))


TRIMMED = Method(
    name="trimmed-t",
    title="trimmed paired t-test",
    means=estimate_means,
    pairs=trim_pairs,
    text="paired t-tests on {topics} trimmed by a tenth on either side",
    citations=("Yuen1974",),
    bibliography="@article{Yuen1974,\n  author    = {Karen K. Yuen},\n  year      = {1974}\n}",
)


@pytest.fixture
def toy() -> Iterator[None]:
    before = list(names._ADDED)
    names.register_method(TRIMMED)
    yield
    names._ADDED[:] = before


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rng = np.random.default_rng(5)
    y = rng.normal(0.4, 0.2, (40, 1)) + rng.normal([0.0, 0.05, 0.1], 0.05, (40, 3))
    path = tmp_path / "scores.csv"
    pd.DataFrame(y, columns=["a", "b", "c"]).rename_axis("question").to_csv(path)
    return path


@pytest.mark.usefixtures("toy")
def test_a_method_of_ones_own_is_everywhere(table: Path, tmp_path: Path) -> None:
    pairs = sw.compare(str(table), "trimmed-t holm")
    assert pairs.procedure == "trimmed-t holm"
    assert pairs.names[0] == "c"
    analysis = sw.analyze(str(table), method="trimmed-t holm")
    text = methods_text(analysis)
    assert "paired t-tests on questions trimmed by a tenth on either side" in text
    assert "Yuen, 1974" in text
    found = sw.calibrate(sw.read_scores(str(table)), ["trimmed-t holm"], repetitions=20, nulls=["flip"])
    assert set(found.table["method"]) == {"trimmed-t holm"}
    assert "trimmed-t bh" in sw.methods.list_procedures()
    report = tmp_path / "report.html"
    done = shardwise("compare", table, "--method", "trimmed-t holm", "--report", report, "--calibration", 0)
    assert done.returncode == 0, done.stderr
    assert "Trimmed paired t-test" in done.stdout
    assert "trimmed by a tenth" in report.read_text()


def test_a_correction_of_ones_own_is_offered_by_every_method(table: Path) -> None:
    sidak = corrections.Stepwise(
        "Šidák",
        "family",
        lambda p: 1.0 - (1.0 - p) ** p.shape[-1],
        lambda n, k: 1.0 / n,
        "Šidák's correction",
        ("Holm1979",),
    )
    corrections.register_correction("sidak", sidak)
    try:
        pairs = sw.compare(str(table), "t sidak")
        np.testing.assert_allclose(pairs.p_adjusted, 1.0 - (1.0 - pairs.p) ** 3)
        assert "MD1 sidak topic" in sw.methods.list_procedures()
        assert "Šidák's correction" in methods_text(sw.analyze(str(table), method="t sidak"))
    finally:
        corrections.STEPWISE.pop("sidak")
        corrections.CORRECTIONS.pop("sidak")
    assert "t sidak" not in sw.methods.list_procedures()


def test_a_chart_of_ones_own_is_offered_by_its_results(table: Path) -> None:
    pairs = sw.compare(str(table))

    def draw_bars(result: sw.Comparisons, *, measure: str = "score") -> alt.Chart:
        means = pd.DataFrame({"system": result.names, measure: result.means})
        return alt.Chart(means).mark_bar().encode(x="system", y=measure)

    sw.plot.register_chart(sw.Comparisons, "bars", draw_bars)
    try:
        assert pairs.plot("bars").to_dict()["mark"]["type"] == "bar"
        with pytest.raises(sw.InputError, match="p-values or bars"):
            pairs.plot("unknown")
        with pytest.raises(sw.InputError, match="has a chart 'cd' already"):
            sw.plot.register_chart(sw.Comparisons, "cd", draw_bars)
    finally:
        dispatch._ADDED.clear()
    with pytest.raises(sw.InputError, match="unknown chart 'bars'"):
        pairs.plot("bars")


def draw_heavy_tails(scenario: sw.simulate.Scenario, first: int, count: int, seed: int) -> np.ndarray:
    """Student's t with three degrees of freedom about the true means."""
    tables = [np.random.default_rng([seed, first + k]).standard_t(3, scenario.shape) for k in range(count)]
    return np.stack(tables) + scenario.truth


def test_a_scenario_of_ones_own_is_tried_by_its_name(table: Path) -> None:
    def build(source: SimulationSource, claim: Claim, effects: np.ndarray, seed: int) -> sw.simulate.Scenario:
        return sw.simulate.Scenario(
            "heavy tails", source.dims, source.shape, claim, effects, draw_heavy_tails
        )

    kind = sw.simulate.ScenarioKind(
        build, lambda dims, claim: dims == TABLE and claim == Claim("topic"), any_size=True
    )
    sw.simulate.register_scenario("heavy-tails", kind)
    try:
        scores = sw.read_scores(str(table))
        errors = sw.calibrate(scores, ["t holm"], repetitions=20, nulls=["heavy-tails"]).table
        assert {null.partition(",")[0] for null in errors["null"]} == {"heavy-tails"}
        with pytest.raises(sw.InputError, match=r"choose one of normal, margins, .*heavy-tails"):
            sw.calibrate(scores, ["t holm"], nulls=["unknown"])
        with pytest.raises(sw.InputError, match="already"):
            sw.simulate.register_scenario("flip", kind)
    finally:
        trial.SCENARIOS.pop("heavy-tails")
