"""Experiments of papers use what every user can: public names, and the rooms below that hold no method."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pandas as pd
import pytest

import shardwise
from shardwise.papers import EXPERIMENTS
from shardwise.papers.claims import make_claims
from shardwise.papers.exhibit import Form, Shape, make_exhibit, read_layouts, read_printed

PAPERS = Path(shardwise.__file__).parent / "papers"
BELOW = ("shardwise.core.", "shardwise.io.", "shardwise.stats", "shardwise.papers.")
"""Errors, arguments, random numbers, files, distributions; and the room itself."""


def list_imports(source: str) -> Iterator[str]:
    """Yield every module of the package that a source imports from, but for the package itself."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = (
                [str(node.module)]
                if node.module != "shardwise"
                else [f"shardwise.{a.name}" for a in node.names]
            )
        else:
            continue
        yield from (name for name in names if name.startswith("shardwise."))


def list_private(source: str) -> list[str]:
    """Return the imports that are neither of the public package nor of the rooms below."""
    return [name for name in list_imports(source) if not f"{name}.".startswith(BELOW)]


@pytest.mark.parametrize("path", sorted(PAPERS.glob("*.py")), ids=lambda path: path.stem)
def test_a_paper_imports_public_names_only(path: Path) -> None:
    assert not list_private(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("line", "private"),
    [
        ("import shardwise as sw", []),
        ("from shardwise.core.errors import InputError", []),
        ("from shardwise.methods.tables import Tables", ["shardwise.methods.tables"]),
        ("import shardwise.comparing.compare", ["shardwise.comparing.compare"]),
        ("from shardwise import lab", ["shardwise.lab"]),
        ("def f():\n    from shardwise.planning.pools import _cut_pool", ["shardwise.planning.pools"]),
    ],
)
def test_a_private_import_is_told(line: str, private: list[str]) -> None:
    assert list_private(line) == private


def test_every_claim_has_a_check_and_every_check_a_claim() -> None:
    rows = read_printed("claims")
    for experiment in EXPERIMENTS.values():
        assert [claim.name for claim in experiment.claims] == rows.loc[
            rows["paper"] == experiment.tag, "claim"
        ].tolist()
    with pytest.raises(KeyError):
        make_claims("F19", {})


def test_layouts_are_those_of_tables_and_figures() -> None:
    layouts = read_layouts()
    assert layouts.keys() == {experiment.tag for experiment in EXPERIMENTS.values()}
    common = {"title", "notes", "printed", "keys"}
    for entries in layouts.values():
        for label, entry in entries.items():
            kind = Form if "x" in entry else Shape
            assert entry.keys() <= {field.name for field in fields(kind)} | common, label
            if "printed" in entry:
                assert set(entry["keys"]) <= set(read_printed(entry["printed"]).columns) | {"shards"}, label


def test_a_layout_takes_words_and_changes() -> None:
    rows = pd.DataFrame({"shards": [5], "measure": ["AP"], "model": ["MD6"], "tau": [0.9], "width": [0.03]})
    words = {"samples": 7, "measure": "AP"}
    table = make_exhibit(
        "F19", "Table 2", rows, ("more",), words=words, like={"collection": "T08"}, values=("tau",)
    )
    assert table.title == "steadiness over 7 splits of each number of shards, AP"
    assert table.notes[-1] == "more"
    assert len(table.notes) == 2
    halves = {"significant": "significant_half"}
    assert table.shape == Shape(
        rows=("shards",), columns=("model",), values=("tau",), halves=halves, counts=("significant",)
    )
    printed = read_printed("f19-table-2", collection="T08").query("shards == 5 and model == 'MD6'")
    assert table.data["tau_F19"].tolist() == printed["tau"].tolist()
    figure = make_exhibit("J15", "Figure 2", pd.DataFrame(), rules=(0.1,))
    assert figure.form is not None
    assert (figure.form.ordered, figure.form.rules) == (True, (0.1,))


def test_a_panel_draws_its_own_rows_and_shades_follow_the_order() -> None:
    """Layers that hold data of their own would draw the rows of all panels in each."""
    rows = pd.DataFrame(
        {
            "rank": [1, 2] * 4,
            "other": [3, 4] * 4,
            "splits": ["1:3", "2:2"] * 4,
            "measure": ["AP"] * 4 + ["P@10"] * 4,
        }
    )
    drawn = make_exhibit("V17", "Figure 6", rows).plot().to_dict()
    assert drawn["facet"]["field"] == "measure"
    assert all("data" not in layer for layer in drawn["spec"]["layer"])
    colour = drawn["spec"]["layer"][0]["encoding"]["color"]["scale"]
    assert colour == {"domain": ["1:3", "2:2"], "range": ["hsl(0, 0%, 80%)", "hsl(0, 0%, 0%)"]}
    encoding = drawn["spec"]["layer"][0]["encoding"]
    assert [encoding[side]["axis"]["tickMinStep"] for side in "xy"] == [1, 1]


def test_no_seed_turned_a_verdict_round() -> None:
    """Rows of ``python -m bench.verdict_seeds``: seeds 0 to 9 on every claim and set of data."""
    rows = pd.read_csv(Path(__file__).parents[2] / "docs" / "bench" / "verdict-seeds.csv")
    assert len(rows) == 4440
    for kind in ("verdict", "here"):
        words = rows.groupby(["paper", "claim", "data"])[kind].agg(set)
        assert not [key for key, some in words.items() if {"holds", "fails"} <= some]
