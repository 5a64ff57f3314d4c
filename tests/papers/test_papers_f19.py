"""Ferro & Sanderson 2019 on real runs: against plain numpy, against print, and what the page holds."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import papers_by_hand as by_hand
import shardwise as sw
from command_line import shardwise
from shardwise.core.errors import InputError
from shardwise.papers.exhibit import read_printed
from shardwise.papers.f19_shards import MODELS, compute_changes

pytestmark = pytest.mark.slow

SHARDS = (3, 25)


@pytest.fixture(scope="module")
def found(runs: sw.Collection) -> sw.papers.Replication:
    return sw.papers.f19(
        runs, measures=["AP", "P@10"], shards=SHARDS, samples=3, claim_resamples=5, claim_splits=4, seed=4
    )


@pytest.fixture(scope="module")
def cells(runs: sw.Collection) -> dict[int, np.ndarray]:
    """(split, topic, system, shard) scores with zero where they are undefined."""
    made = {s: sw.score(runs, "AP", sw.split(runs, s, n_splits=3, seed=4))["AP"] for s in SHARDS}
    assert int(np.isnan(made[25].isel(system=0)).sum()) > 0  # 25 shards leave cells undefined
    return {
        s: np.nan_to_num(x.transpose("split", "topic", "system", "shard").values) for s, x in made.items()
    }


def rows(found: sw.papers.Replication, label: str, shards: int) -> pd.DataFrame:
    table = found[label].data
    return table[(table["measure"] == "AP") & (table["shards"] == shards)].set_index("model")


@pytest.mark.parametrize("shards", SHARDS)
@pytest.mark.parametrize("model", MODELS)
def test_tables_are_those_of_plain_numpy(
    found: sw.papers.Replication, cells: dict[int, np.ndarray], shards: int, model: str
) -> None:
    each = cells[shards]
    first = rows(found, "Table 1", shards).loc[model]
    assert first["omega_sq"] == pytest.approx(max(by_hand.omega_squared(each[0], model), 0.0), abs=1e-12)
    differ = [by_hand.hsd(y, model) for y in each]
    assert first["significant"] == differ[0].sum()
    assert first["not_significant"] == (~differ[0]).sum()
    order, _ = by_hand.pairs(each[0])
    best = each[0].mean(axis=(0, 2)).argmax()
    alike = sum(not told for (a, b), told in zip(order, differ[0], strict=True) if best in (a, b))
    assert first["top_group"] == alike + 1
    steady = rows(found, "Table 2", shards).loc[model]
    assert steady["significant"] == np.mean([one.sum() for one in differ])
    signs = np.array(
        [np.where(one, np.sign(by_hand.pairs(y)[1]), 0) for one, y in zip(differ, each, strict=True)]
    )
    assert steady["common"] == (np.abs(signs.sum(axis=0)) == len(each)).sum()
    assert steady["share"] == steady["significant"] / len(order)


def test_the_pattern_of_the_paper_holds_on_other_runs(found: sw.papers.Replication) -> None:
    few, many = (rows(found, "Table 1", s) for s in SHARDS)
    for table in (few, many):  # richer models find more; the topic:shard interaction matters, shard hardly
        assert (
            table.loc["MD2", "significant"]
            < table.loc["MD3", "significant"]
            < table.loc["MD6", "significant"]
        )
        assert abs(table.loc["MD4", "significant"] / table.loc["MD3", "significant"] - 1) < 0.02
        assert table.loc["MD2", "omega_sq"] < table.loc["MD3", "omega_sq"] < table.loc["MD6", "omega_sq"]
    assert few.loc["MD6", "omega_sq"] > many.loc["MD6", "omega_sq"]
    steady = [rows(found, "Table 2", s) for s in SHARDS]
    assert steady[0].loc["MD6", "tau"] > steady[1].loc["MD6", "tau"] > 0.85
    for table in steady:
        assert table.loc["MD6", "width"] < table.loc["MD3", "width"] < table.loc["MD2", "width"]
        assert (table["share_common"] > 0.85).all()  # F19 §9: samples agree on nearly all that they find


def test_intervals_are_those_of_plain_numpy(
    found: sw.papers.Replication, cells: dict[int, np.ndarray], runs: sw.Collection
) -> None:
    """Figures 3 to 5: F19 eq. 3 (Tukey), 4 (SEM) and 5 (ANOVA), with scipy's distributions."""
    whole = sw.score(runs, "AP")["AP"].values[:, :, None]
    for panel, y, model in (("whole", whole, "MD1"), ("3 shards", cells[3][0], "MD6")):
        left, df = by_hand.residuals(y, model)
        n, systems = y.shape[0] * y.shape[2], y.shape[1]
        spread = np.sqrt((left**2).sum() / df / n)
        half = {
            "tukey": by_hand.critical_range(systems, df) * spread / 2,
            "anova": stats.t.isf(0.025, df) * spread,
            "sem": stats.t.isf(0.025, n - 1) * y.std(axis=(0, 2), ddof=1) / np.sqrt(n),
        }
        three = found["Figure 3"].data
        own = three[three["panel"].str.startswith(panel)]
        best_first = np.argsort(-y.mean(axis=(0, 2)), kind="stable")
        for kind, expected in half.items():
            drawn = own[own["kind"] == kind]
            wanted = np.broadcast_to(expected, systems)[best_first]
            assert (drawn["upper"] - drawn["lower"]).to_numpy() / 2 == pytest.approx(wanted, abs=1e-6)
        assert half["anova"] < half["tukey"] < half["sem"].mean()  # F19 Fig. 3
    five = found["Figure 5"].data
    five = five[five["panel"].str.startswith("3 shards, τ = 0.")].groupby("model")
    width = five["upper"].mean() - five["lower"].mean()
    assert width["MD6"] < width["MD1"]


def test_the_row_of_the_whole_collection_is_the_printed_one(data: Path) -> None:
    found = sw.papers.f19(sw.read_scores(data / "trec8" / "adhoc8_ap.csv").rename("AP"))
    (row,) = found["Table 1"].data.to_dict("records")
    assert round(row["omega_sq"], 4) == row["omega_sq_F19"] == 0.3991
    for name in ("significant", "not_significant", "top_group"):
        assert row[name] == row[f"{name}_F19"]
    assert found["Table 1"].lay_out("F19").iloc[0].tolist()[1:] == ["3423 (3423)", "4833 (4833)", "7 (7)"]
    assert "no documents" in found.facts["not made"]
    assert found.labels == ("Table 1", "Figure 1", "Figure 3")


@pytest.mark.parametrize(
    ("shards", "model", "versus", "printed"),
    [
        (2, "MD2", "MD1", (-12.29, 18.81, -13.33, -42.86)),
        (5, "MD3", "MD2", (36.74, 11.42, -14.41, -50.00)),
        (10, "MD6", "MD4", (104.20, 23.05, -32.54, 0.0)),
    ],
)
def test_percentages_are_those_printed(
    shards: int, model: str, versus: str, printed: tuple[float, ...]
) -> None:
    table = compute_changes(read_printed("f19-table-1")).set_index(["shards", "model", "versus"])
    ours = table.loc[(shards, model, versus)].drop("measure").to_numpy(float)
    # the effect sizes that the printed ratio was made of are known to four digits
    sizes = {
        (row["shards"], row["model"]): row["omega_sq"]
        for row in read_printed("f19-table-1").to_dict("records")
    }
    large, small = sizes[shards, model], sizes.get((shards, versus), sizes[1, "MD1"])
    assert ours[0] == pytest.approx(printed[0], abs=100 * large / small * 5e-5 * (1 / large + 1 / small))
    assert ours[1:] == pytest.approx(printed[1:], abs=0.005)


def test_two_printed_percentages_do_not_follow_from_the_printed_counts() -> None:
    table = compute_changes(read_printed("f19-table-1")).set_index(["shards", "model", "versus"])[
        "% significant"
    ]
    assert [round(table.loc[(s, "MD6", "MD5")], 2) for s in (2, 10)] == [13.84, 23.43]  # print: 15.84, 25.43


def test_table_2_of_the_paper_is_not_of_md6() -> None:
    full = {
        (row["shards"], row["model"]): row["significant"]
        for row in read_printed("f19-table-1").to_dict("records")
    }
    steady = {row["shards"]: row for row in read_printed("f19-table-2", collection="T08").to_dict("records")}
    for shards in (2, 5, 10):
        nearest = min(MODELS, key=lambda m, s=shards: abs(full[s, m] - steady[s]["significant"]))  # type: ignore[misc]
        assert nearest in {"MD3", "MD4", "MD5"}
        assert steady[shards]["share"] == pytest.approx(steady[shards]["significant"] / 8256, abs=5e-5)


def test_a_stopped_replication_goes_on_where_it_was(runs: sw.Collection, tmp_path: Path) -> None:
    choices = {"measures": ["AP"], "shards": (2, 3), "samples": 2, "folder": tmp_path}

    class StoppedError(Exception):
        pass

    def stop(done: int, _: int) -> None:
        if done == 2:
            raise StoppedError

    with pytest.raises(StoppedError):
        sw.papers.f19(runs, progress=stop, **choices)
    (kept,) = (tmp_path / "steps").iterdir()
    assert {step.name for step in kept.iterdir()} == {"whole", "2-shards"}
    marked = kept / "2-shards" / "table_2.parquet"
    pd.read_parquet(marked).assign(tau=2.0).to_parquet(marked)  # so that it shows whether it is made again
    again = sw.papers.f19(runs, **choices)
    fresh = sw.papers.f19(runs, **{**choices, "folder": None})
    assert (again["Table 2"].data.query("shards == 2")["tau"] == 2.0).all()
    pd.testing.assert_frame_equal(again["Table 1"].data, fresh["Table 1"].data)
    pd.testing.assert_frame_equal(again["Figure 5"].data, fresh["Figure 5"].data)
    sw.papers.f19(runs, **{**choices, "samples": 3})  # other choices are kept apart
    assert len(list((tmp_path / "steps").iterdir())) == 2


def test_steps_that_others_make_are_the_same(runs: sw.Collection) -> None:
    choices: dict[str, Any] = {"measures": ["AP"], "shards": (2, 3), "samples": 2}
    here = sw.papers.f19(runs, **choices)
    with ProcessPoolExecutor(2, mp_context=get_context("fork")) as pool:
        there = sw.papers.f19(runs, **choices, executor=pool)
    for name in ("Table 1", "Table 2", "Figure 5"):
        pd.testing.assert_frame_equal(there[name].data, here[name].data, check_exact=True)


def test_the_page_holds_every_table_and_figure(found: sw.papers.Replication, tmp_path: Path) -> None:
    found.write(tmp_path)
    page, text = (tmp_path / "f19.html").read_text(), (tmp_path / "f19.md").read_text()
    for one in found.exhibits:
        assert f"{one.label}: " in page
        assert f"## {one.label}: " in text
        back = pd.read_csv(tmp_path / f"{one.slug}.csv")
        pd.testing.assert_frame_equal(back, one.data.reset_index(drop=True), check_dtype=False)
        assert (tmp_path / f"{one.slug}.svg").exists() == (one.form is not None)
    assert page.count("<svg") == 4
    assert page.index("claims hold") < page.index("Table 1") < page.index("Figure 5")
    assert page.count("<tr>") < 80, "each table fits on a screen"
    # counts of another collection say nothing beside ours: 4833 of 8256 pairs
    assert "(0.5854)" in text
    assert "in print." in text
    assert "4833" not in text.replace("4818 to 4833", "")
    assert r"\toprule" in (tmp_path / "f19.tex").read_text()
    assert (
        pd.read_csv(tmp_path / "claims.csv")["verdict"]
        .isin(["holds", "fails", "undecided", "cannot be said"])
        .all()
    )
    with pytest.raises(InputError, match="Table 9"):
        found["Table 9"]


def test_the_command_writes_what_the_library_makes(tmp_path: Path) -> None:
    made = sw.simulate.collection(
        topics=12, systems=5, depth=60, corpus=3000, relevant=20, pool_depth=30, seed=3
    )
    made.write(tmp_path)
    where = tmp_path / "out"
    options = ("--shards", 2, "--shards", 3, "--splits", 2, "-m", "AP", "--seed", 5, "--out", where)
    done = shardwise("replicate", "f19", tmp_path / "qrels.txt", tmp_path / "runs", *options)
    assert done.returncode == 0, done.stderr
    assert "Table 2" in done.stdout
    runs = sw.read_collection(tmp_path / "runs", tmp_path / "qrels.txt")
    expected = sw.papers.f19(
        runs, measures=["AP"], shards=(2, 3), samples=2, claim_resamples=5, claim_splits=4, seed=5
    )["Table 1"].data
    pd.testing.assert_frame_equal(pd.read_csv(where / "table-1.csv"), expected, check_dtype=False)


def test_options_that_do_nothing_with_a_table_are_refused(trec3: Path, tmp_path: Path) -> None:
    done = shardwise("replicate", "f19", trec3, "--splits", 3, "--out", tmp_path)
    assert done.returncode == 2
    assert "--splits has no effect with a table of scores" in done.stderr
    assert shardwise("replicate", "f19", trec3, "--out", tmp_path).returncode == 0
    assert (tmp_path / "f19.html").exists()
