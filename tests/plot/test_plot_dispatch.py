"""A result finds its charts by its type; what is listed is there, and what is not is refused in one line."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import shardwise as sw
from report_pages import simulated
from shardwise.core.errors import InputError
from shardwise.methods.pairs import Means
from shardwise.plot.dispatch import CHARTS, TOGETHER, chart, find_function
from shardwise.plot.fits import residual_chart, variance_share_chart
from shardwise.plot.matrix import matrix_chart
from shardwise.plot.pairs import interval_chart, model_chart


def ours() -> dict[str, list[type]]:
    """Classes of the package by name."""
    found: dict[str, list[type]] = {}
    for module in pkgutil.walk_packages(sw.__path__, "shardwise."):
        for name, one in vars(importlib.import_module(module.name)).items():
            if inspect.isclass(one) and one.__module__ == module.name:
                found.setdefault(name, []).append(one)
    return found


def pairs() -> sw.Comparisons:
    return sw.compare(Means(("a", "b"), np.array([0.3, 0.2]), 0.001, 49.0, "these topics"), "hsd")


def test_types_with_a_plot_are_those_with_charts() -> None:
    """Every type of the table is one class of ours that draws itself, and no class that does is missing."""
    classes = ours()
    drawn = {name for name, each in classes.items() if any(hasattr(one, "plot") for one in each)}
    assert drawn - {"Drawn"} == set(CHARTS)
    assert all(len(classes[name]) == 1 for name in CHARTS), "a name of two classes is no type"


def test_the_functions_are_there_and_take_the_type() -> None:
    for table in (CHARTS, TOGETHER):
        for type_name, kinds in table.items():
            for function in kinds.values():
                first = next(iter(inspect.signature(find_function(function)).parameters.values()))
                assert re.search(rf"\b{type_name}\b|^Any$", str(first.annotation)), (
                    f"{function} of {type_name}"
                )
                assert table is CHARTS or "Mapping[str" in str(first.annotation)


def test_a_kind_chooses_the_chart() -> None:
    fit = sw.anova(simulated(4, topics=8, shards=2), sw.MD6)
    assert chart(fit).to_dict() == variance_share_chart(fit).to_dict()
    assert fit.plot().to_dict() == chart(fit, "shares").to_dict()
    assert fit.plot("residuals").to_dict() == residual_chart(fit).to_dict()
    assert chart(pairs(), "matrix", alpha=0.01).to_dict() == matrix_chart(pairs(), alpha=0.01).to_dict()


def test_several_by_name_are_one_chart() -> None:
    both = {"here": pairs(), "there": pairs()}
    assert chart(both).to_dict() == interval_chart(both).to_dict()
    assert chart(both, "models").to_dict() == model_chart(both).to_dict()


def test_a_subtype_is_drawn_as_its_type() -> None:
    class Special(type(pairs())):  # type: ignore[misc]
        """Not one of ours."""

    one = pairs()
    special = object.__new__(Special)
    for name in getattr(type(one), "__slots__", None) or vars(one):
        object.__setattr__(special, name, getattr(one, name))
    assert chart(special).to_dict() == chart(one).to_dict()


@pytest.mark.parametrize(
    ("result", "kind", "said"),
    [
        (
            lambda: sw.anova(simulated(4, topics=8, shards=2), sw.MD6),
            "x",
            "unknown chart 'x'; choose shares or residuals",
        ),
        (lambda: sw.planning.variance(np.eye(3)), "x", "unknown chart 'x'; choose reach"),
        (
            lambda: {"a": pairs()},
            "x",
            "unknown chart 'x'; choose intervals, matrix, p-values, models or kinds",
        ),
        (lambda: 3, None, "a result of type int has no chart; give a result"),
        (dict, None, "a mapping without results cannot be drawn in one chart"),
        (lambda: {"a": 1}, None, "results of type int cannot be drawn in one chart"),
        (lambda: {"a": 1, "b": pairs()}, None, "results of several types are not drawn together"),
    ],
)
def test_refusals(result: Any, kind: str | None, said: str) -> None:
    with pytest.raises(InputError, match=re.escape(said)):
        chart(result(), kind)


@pytest.mark.slow
def test_one_chart_loads_only_what_it_needs() -> None:
    """Loading the laboratory for a chart of variance shares would double the time of the first chart."""
    program = (
        "import sys, numpy as np, xarray as xr, shardwise as sw;"
        "sw.anova(xr.DataArray(np.eye(3), dims=('topic', 'system')), 'topic + system').plot('residuals');"
        "print([m for m in ('shardwise.lab.calibrate', 'shardwise.planning.simulated') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_command_line_starts_without_drawing() -> None:
    program = (
        "import sys; sys.argv = ['shardwise', '--version']; from shardwise.cli.main import main\n"
        "try: main()\n"
        "except SystemExit: print([m for m in ('altair', 'vl_convert', 'shardwise.plot') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [f"shardwise {sw.__version__}", "[]"]


@pytest.mark.parametrize("name", sw.plot.__all__)
def test_every_parameter_is_explained(name: str) -> None:
    function = getattr(sw.plot, name)
    said = inspect.getdoc(function) or ""
    assert said.split("\n")[0].endswith((".", ":"))
    listed = said.partition("Parameters\n----------\n")[2]
    heads = re.findall(r"^(\S.*?)(?: : .*)?$", listed, flags=re.MULTILINE)
    explained = {word.strip("* ") for head in heads for word in head.split(",")}
    assert set(inspect.signature(function).parameters) <= explained
