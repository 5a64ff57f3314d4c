"""A name means the same at every door: compare, analyze, gate, calibrate, the command line and the page."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import shardwise as sw
from command_line import shardwise
from shardwise.analysis.analyze import AnalysisOptions, choose_procedures
from shardwise.comparing.compare import choose_procedure
from shardwise.core.errors import Either
from shardwise.core.scores import as_scores
from shardwise.lab.calibrate import parse_methods
from shardwise.methods.names import DEFAULTS, complete_name, list_methods, list_procedures, parse_procedure
from shardwise.methods.tables import INSTANCES, LAYOUTS, SHARDS, SPLITS, TABLE, Dims
from shardwise.stats.corrections import CORRECTIONS

SIZES = {"split": 2, "topic": 12, "system": 3, "shard": 3, "instance": 3}


def table_of(dims: Dims) -> xr.DataArray:
    shape = [SIZES[d] for d in dims]
    coords = {d: [f"{d}{k}" for k in range(SIZES[d])] for d in dims}
    return as_scores(xr.DataArray(np.random.default_rng(4).normal(size=shape), dims=dims, coords=coords))


def names_of(dims: Dims) -> list[str]:
    """Every plain name, every correction alone, and a full name of every method that takes the layout."""
    suited = [
        method
        for method in list_methods()
        if not method.uses_people
        and not method.uses_votes
        and not method.takes_single_items
        and dims in parse_procedure(method.name).layouts
    ]
    full = [f"{method.name} {method.corrections[-1]}".strip() for method in suited]
    return [*(method.name for method in suited), *full, *CORRECTIONS]


@pytest.mark.parametrize("dims", LAYOUTS, ids="-".join)
def test_every_door_agrees(dims: Dims) -> None:
    table = table_of(dims)
    example = Either("", "")
    for name in names_of(dims):
        procedure = choose_procedure(table, name)
        assert dims in procedure.layouts, name
        analysed, _ = choose_procedures(table, AnalysisOptions(method=name))
        assert procedure in analysed, name
        tried = parse_methods([name], dims, "", example)
        assert list(tried.values()) == [procedure], name
        # what the output says is a full name of the same procedure
        assert choose_procedure(table, procedure.name) == procedure


@pytest.mark.parametrize(
    ("dims", "meant"),
    [
        (TABLE, {"t": "t holm", "wilcoxon": "wilcoxon holm", "MD1": "MD1 hsd", "hsd": "MD1 hsd",
                 "holm": "moderated holm", "bh": "moderated bh", "max-t": "max-t",
                 "banova MD1 difference": "banova MD1 difference bh"}),
        (SHARDS, {"hsd": "MD6 hsd", "holm": "moderated holm", "moderated these": "moderated holm these",
                  "holm topic+shard": "moderated holm topic+shard", "dunnett": "MD6 dunnett"}),
        (INSTANCES, {"holm": "moderated holm topic+instance", "hsd": "MD1 hsd", "joint mixed": "joint mixed hsd"}),
        (SPLITS, {"hsd": "mean MD6 hsd", "MD6": "mean MD6 hsd", "unanimous MD6": "unanimous MD6 hsd"}),
    ],
)  # fmt: skip
def test_plain_names_and_corrections_alone(dims: Dims, meant: dict[str, str]) -> None:
    table = table_of(dims)
    assert {name: choose_procedure(table, name).name for name in meant} == meant


def test_a_full_name_is_read_back_and_the_default_is_one() -> None:
    for name, procedure in list_procedures().items():
        assert parse_procedure(name) == procedure
    for default in DEFAULTS.values():
        assert parse_procedure(default.procedure).name == default.procedure


def test_unpaired_scores_have_corrections_of_their_own() -> None:
    y = np.full((40, 3), np.nan)
    y[np.arange(40), np.arange(40) % 3] = np.random.default_rng(1).normal(size=40)
    table = as_scores(y)
    assert choose_procedure(table, "hsd").name == "games-howell"
    assert choose_procedure(table, "holm").name == "welch holm"
    with pytest.raises(sw.InputError, match="welch cannot take scheffe"):
        choose_procedure(table, "scheffe")


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("t hsd", "t cannot take hsd; use none, bonferroni, holm, bh, by"),
        ("max-t holm", "max-t cannot take holm; name it without a correction"),
        ("t shard", "t cannot support the claim 'shard'; use topic"),
        ("mean t holm", "t holm cannot take the rule 'mean'; leave the rule out"),
        ("", "unknown method ''"),
    ],
)
def test_words_that_do_not_go_together_are_refused(name: str, problem: str) -> None:
    with pytest.raises(sw.InputError, match=problem.replace("(", r"\(")):
        choose_procedure(table_of(TABLE), name)


def test_a_correction_alone_needs_scores() -> None:
    with pytest.raises(
        sw.InputError, match="holm is a correction; name a test with it, such as 'moderated holm'"
    ):
        parse_procedure("holm")


def test_suggestions_run_on_the_table_and_nobody_is_warned_of_them() -> None:
    table = table_of(TABLE)
    for name in ("MD6 hsdd", "wilcoxn", "t-singel", "banova MD1 marginal"):
        with pytest.raises(sw.InputError) as refusal:
            sw.compare(table, name)
        for near in refusal.value.choices or ():
            assert len(sw.compare(table, near, n_resamples=49)) == 3
            assert not parse_procedure(near).method.warned
    with pytest.raises(sw.InputError, match="did you mean 'wilcoxon'"):
        sw.compare(table, "wilcoxn")


def test_completion_offers_methods_then_words() -> None:
    assert complete_name("wil") == ["wilcoxon"]
    assert complete_name("md6 h") == ["MD6 hsd", "MD6 holm"]
    assert complete_name("MD6 holm topic+") == ["MD6 holm topic+shard"]
    assert not [name for name in complete_name("") if parse_procedure(name).method.warned]
    assert len(complete_name("")) < 60


@pytest.mark.parametrize(("name", "meant"), [("hsd", "MD1 hsd"), ("t", "t holm"), ("holm", "moderated holm")])
def test_the_command_line_says_which(name: str, meant: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    path = tmp_path / "scores.csv"
    pd.DataFrame(rng.normal([0.5, 0.4, 0.1], 0.1, (30, 3)), columns=list("abc")).rename_axis("q").to_csv(path)
    done = shardwise("compare", path, "--method", name, "--format", "json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["procedure"].startswith(meant)
    pairs = sw.compare(path, name)
    assert pairs.procedure == meant
