"""The answer by slices: families, surfaces that say the same, and refusals."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import shardwise as sw
from command_line import shardwise
from shardwise.analysis.slices import compare_slices
from shardwise.core.scores import as_scores, slices_of
from shardwise.writing.slices import write_slices

SIZES = {"code": 40, "math": 30, "qa": 50, "odd": 3}


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(11)
    category = np.repeat(list(SIZES), list(SIZES.values()))
    level = rng.normal(size=len(category))
    rows = []
    for model, shift in (("alpha", 0.3), ("beta", 0.2), ("gamma", 0.0)):
        for i, c in enumerate(category):
            gain = shift - 2.5 * (model == "beta" and c == "code")
            right = int(level[i] + gain + rng.normal() > 0)
            rows.append((f"q{i}", c, "de" if i % 2 else "en", model, right))
    return pd.DataFrame(rows, columns=["question", "category", "lang", "model", "correct"])


@pytest.fixture(scope="module")
def table(frame: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("slices") / "evals.csv"
    frame.to_csv(path, index=False)
    return path


def test_labels_come_from_columns_logs_and_coordinates(frame: pd.DataFrame, table: Path) -> None:
    read = sw.read_scores(table)
    slices = slices_of(as_scores(read))
    assert {name: len(set(labels)) for name, labels in slices.items()} == {"category": 4, "lang": 2}
    assert "in 4 categories in 2 langs" in read.attrs["read_as"]
    by_frame = sw.analyze(frame, by="category").slices
    by_array = sw.analyze(read, by="CATEGORY").slices
    assert by_frame is not None
    assert by_array is not None
    pd.testing.assert_frame_equal(by_frame.pairs, by_array.pairs)


def test_any_column_can_be_one_of_slices_and_a_split_is_one(frame: pd.DataFrame) -> None:
    # numbers, and a name that a dimension has
    level = frame["question"].str[1:].astype(int) % 3 + 1
    found = sw.analyze(frame.assign(level=level, split=frame["lang"]), by="level").slices
    assert found is not None
    assert found.labels == ("1", "2", "3")
    found = sw.analyze(frame.assign(split=frame["lang"]), by=["split"]).slices
    assert found is not None
    assert found.labels == ("de", "en")


def test_a_label_that_differs_within_an_item_is_left_out(frame: pd.DataFrame) -> None:
    read = sw.read_scores(frame.assign(domain=np.where(frame.index % 2, "a", "b")))
    assert "domain" not in slices_of(as_scores(read))
    assert "left out: domain (differs within question)" in read.attrs["read_as"]


def test_each_slice_is_its_own_comparison_and_all_are_one_family(frame: pd.DataFrame) -> None:
    analysis = sw.analyze(frame, by="category")
    found = analysis.slices
    assert found is not None
    alone = sw.compare(frame[frame["category"] == "code"].drop(columns=["category", "lang"]))
    here = found.pairs[found.pairs["slice"] == "code"]
    theirs = {frozenset((r.a, r.b)): r for r in alone.to_frame().itertuples()}
    for row in here.itertuples():
        other = theirs[frozenset((row.a, row.b))]
        assert abs(row.difference) == pytest.approx(abs(other.difference))
        assert row.p == pytest.approx(other.p_adjusted)
        assert row.p_adjusted >= row.p
    assert here.set_index(["a", "b"]).loc[("alpha", "beta"), "verdict"] == "better"
    # too few items: shown, not tested
    odd = found.pairs[found.pairs["slice"] == "odd"]
    assert odd["p_adjusted"].isna().all()
    assert odd["difference"].notna().all()
    assert set(found.means.loc[found.means["slice"] == "odd", "verdict"]) == {""}
    # intervals hold 0 where the test does not reject, and only there
    tested = found.pairs[found.pairs["p_adjusted"].notna()]
    significant = tested["p_adjusted"] <= 0.05
    assert ((tested["lower"] >= 0) | (tested["upper"] <= 0)).equals(significant)
    interaction = found.interactions.set_index(["a", "b"])["p"]
    assert interaction[("alpha", "beta")] <= 0.05 < interaction[("alpha", "gamma")]


def test_two_columns_are_crossed_and_a_baseline_is_kept(frame: pd.DataFrame) -> None:
    found = sw.analyze(frame, by=["category", "lang"], baseline="alpha").slices
    assert found is not None
    assert found.labels[:2] == ("code × de", "code × en")
    assert set(found.pairs["b"]) == {"alpha"}
    assert "beta is significantly worse than alpha on code" in " ".join(write_slices(found))
    marks = found.means[found.means["system"] == "alpha"]["verdict"]
    assert set(marks) == {""}


def test_the_sentence_names_the_slice_that_differs(frame: pd.DataFrame) -> None:
    found = sw.analyze(frame[frame["model"] != "gamma"], by="category").slices
    first, interaction, untested = write_slices(found)
    assert first.startswith("alpha is significantly better than beta on code (+0.")
    assert first.endswith("no other category differs significantly.")
    assert interaction.startswith("The difference depends on the category (p ")
    assert untested == "Shown, not tested (too few questions): odd."


def test_lower_is_better_turns_the_marks(frame: pd.DataFrame) -> None:
    found = sw.analyze(frame[frame["model"] != "gamma"], by="category", lower_is_better=True).slices
    assert found is not None
    row = found.means.set_index(["slice", "system"])["verdict"]
    assert (row[("code", "beta")], row[("code", "alpha")]) == ("better", "worse")


@pytest.mark.parametrize(
    ("by", "problem"),
    [
        (["nope"], "nope"),
        (["question"], "question"),
        (["category", "lang", "model"], "model|crossed"),
    ],
)
def test_columns_that_are_no_slices_are_refused(frame: pd.DataFrame, by: list[str], problem: str) -> None:
    with pytest.raises(sw.InputError, match=problem):
        sw.analyze(frame, by=by)


def test_arrays_without_labels_are_refused() -> None:
    y = xr.DataArray(np.random.default_rng(1).random((20, 2)), dims=("topic", "system"))
    with pytest.raises(sw.InputError, match="no labels called 'category'"):
        sw.analyze(y, by="category")


def test_tasks_of_logs_and_unpaired_groups_are_slices() -> None:
    rng = np.random.default_rng(3)
    users = pd.DataFrame(
        {"user_id": range(600), "variant": ["a", "b"] * 300, "country": ["de", "fr", "uk"] * 200}
    )
    users["revenue"] = rng.exponential(size=600) + (users["variant"] == "b") * (users["country"] == "fr")
    found = sw.analyze(users, by="country").slices
    assert found is not None
    assert list(found.pairs["verdict"] != "tied") == [False, True, False]
    rows = [
        (t, f"{t}{i}", s, rng.random() + (t == "b" and s == "x"))
        for t in "abc"
        for i in range(20)
        for s in "xy"
    ]
    tasks = sw.analyze(pd.DataFrame(rows, columns=["task", "item", "system", "score"]), by="task").slices
    assert tasks is not None
    assert list(tasks.pairs["verdict"]) == ["tied", "better", "tied"]


def test_surfaces_have_the_numbers_of_the_library(table: Path, tmp_path: Path) -> None:
    analysis = sw.analyze(sw.read_scores(table), by="category")
    found = analysis.slices
    assert found is not None

    def printed(*more: str) -> str:
        done = shardwise("compare", table, "--by", "category", *more)
        assert done.returncode == 0
        return done.stdout

    first = write_slices(found)[0]
    content = json.loads(printed("-f", "json"))
    assert content["by_slice"] == write_slices(found)
    numbers = found.pairs[["difference", "p_adjusted"]].to_numpy()
    got = [[row["difference"], row["p_adjusted"]] for row in content["slice_pairs"]]
    assert np.array_equal(np.array(got, dtype=float), numbers, equal_nan=True)
    rows = [row for row in csv.DictReader(io.StringIO(printed("-f", "csv"))) if row["slice"] != "(all)"]
    got = [[float(row[name] or "nan") for name in ("difference", "p_adjusted")] for row in rows]
    assert np.array_equal(np.array(got), numbers, equal_nan=True)
    text = printed()
    assert first in text
    shown = [line.split() for line in text.splitlines() if line.startswith("code ")]
    code = found.means[found.means["slice"] == "code"].set_index("system")
    means, beta = code["mean"], code["mean"]["beta"]
    assert code["verdict"]["beta"] == "worse"
    assert shown[0][1:2] + [cell for cell in shown[0][2:] if cell not in "▲▼"] == [
        "40",
        *(f"{m:.3f}" for m in means),
    ]
    assert r"code & 40 &" in printed("-f", "latex")
    assert "| code | 40 |" in printed("-f", "markdown")
    report = tmp_path / "report.html"
    analysis.report(report)
    analysis.leaderboard().save(tmp_path / "board.html")
    analysis.paper(tmp_path / "paper")
    page, board = report.read_text("utf-8"), (tmp_path / "board.html").read_text("utf-8")
    for surface in (page, board, analysis._repr_html_()):
        assert first in surface
        assert f"<td>{beta:.3f} ▼</td>" in surface
    assert "code & 40 &" in (tmp_path / "paper" / "slices.tex").read_text("utf-8")


def test_figures_are_those_of_any_method_and_repeat(frame: pd.DataFrame) -> None:
    scores = sw.read_scores(frame)
    analysis = sw.analyze(scores, by="category", method="t holm", seed=3)
    found = analysis.slices
    assert found is not None
    again = compare_slices(
        analysis.item_scores,
        analysis.comparisons,
        analysis.procedure,
        "category",
        alpha=0.05,
        run={"seed": 3, "n_resamples": None},
    )
    pd.testing.assert_frame_equal(found.pairs, again.pairs)
    pd.testing.assert_frame_equal(found.interactions, again.interactions)
