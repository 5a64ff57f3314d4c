"""Which charts a result has: the one table by which a result is asked for its chart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shardwise import plot
from shardwise.core.errors import InputError

Kinds = Mapping[str, str]  # what a chart is called -> the function of `shardwise.plot` that draws it

# by the names of types and functions: to load all of them for one chart takes twice as long; the first is the usual
CHARTS: dict[str, Kinds] = {
    "AnovaFit": {"shares": "variance_share_chart", "residuals": "residual_chart"},
    "BootstrapFit": {"effects": "effect_chart", "density": "density_chart"},
    "BudgetPlan": {"budget": "budget_chart"},
    "Calibration": {"errors": "error_rate_chart", "power": "power_chart"},
    "Comparisons": {
        "intervals": "interval_chart",
        "matrix": "matrix_chart",
        "p-values": "p_curve_chart",
        "kinds": "kind_chart",
        "difference": "difference_chart",
        "cd": "critical_chart",
    },
    "Equivalence": {"margins": "margin_chart"},
    "Exhibit": {"figure": "exhibit_chart"},
    "Generalizability": {"coefficients": "generalizability_chart"},
    "JudgmentPlan": {"judgments": "judgment_chart"},
    "MixedFit": {"components": "component_chart"},
    "PoolStudy": {"pools": "pool_chart"},
    "Posterior": {"components": "posterior_chart"},
    "PredictiveCheck": {"reversals": "prediction_chart"},
    "SettingSeries": {"margins": "margin_chart"},
    "ShardDesign": {"topics": "shard_design_chart"},
    "SimulatedCollection": {"truth": "truth_chart"},
    "SimulatedPower": {"power": "simulated_power_chart"},
    "Stability": {"figures": "stability_chart", "pairs": "agreement_chart"},
    "VarianceComponents": {"components": "component_chart", "instances": "instance_plan_chart"},
    "VarianceEstimate": {"reach": "reach_chart"},
    "WithinAcross": {"widths": "width_chart"},
}
# several results of one type, by name, in one chart
TOGETHER: dict[str, Kinds] = {
    "BootstrapFit": {"effects": "effect_chart"},
    "Comparisons": {
        "intervals": "interval_chart",
        "matrix": "matrix_chart",
        "p-values": "p_curve_chart",
        "models": "model_chart",
        "kinds": "kind_chart",
    },
    "SettingSeries": {"margins": "margin_chart"},
}


def chart(result: Any, kind: str | None = None, **options: Any) -> Any:
    """Draw a result, or several of one type by name: an altair chart.

    Parameters
    ----------
    result
        Any result that has a chart, or a mapping of names to results of one type.
    kind : str, optional
        Which of its charts, by default the first; a wrong one is refused with those there are.
    **options
        Those of the function that draws it, such as ``level`` or ``measure``.

    >>> import numpy as np, shardwise as sw
    >>> from shardwise.methods.base import Estimates
    >>> pairs = sw.compare(Estimates(("a", "b"), np.array([0.3, 0.2]), 0.001, 49.0, "these topics"), "hsd")
    >>> sw.plot.chart(pairs, measure="AP").to_dict()["layer"][0]["encoding"]["y"]["title"]
    'AP, 95% intervals'
    >>> sw.plot.chart(pairs, "residuals")
    Traceback (most recent call last):
    ...
    shardwise.core.errors.InputError: unknown chart 'residuals'; choose intervals, matrix, p-values, kinds,
    difference or cd
    """
    kinds = kinds_of(result)
    wanted = next(iter(kinds)) if kind is None else kind
    if wanted not in kinds:
        raise InputError(
            f"unknown chart {kind!r}",
            remedy=f"choose {_either(list(kinds))}",
            argument="kind",
            value=kind,
            choices=tuple(kinds),
        )
    return getattr(plot, kinds[wanted])(result, **options)


def kinds_of(result: Any) -> Kinds:
    """Return the charts of a result, or of several by name, or refuse what has none.

    Parameters
    ----------
    result
        As for `chart`.
    """
    own = _by_type(CHARTS, result)  # first: variance components are a mapping themselves
    if own is not None:
        return own
    if isinstance(result, Mapping):
        each = list(result.values())
        if len({type(one) for one in each}) > 1:
            raise InputError("results of several types are not drawn together", remedy="draw each by itself")
        found = _by_type(TOGETHER, each[0]) if each else None
        said = f"results of type {type(each[0]).__name__}" if each else "a mapping without results"
        if found is None:
            raise InputError(f"{said} cannot be drawn in one chart", remedy="draw each by itself")
        return found
    raise InputError(
        f"a result of type {type(result).__name__} has no chart",
        remedy="give a result such as that of compare, or a table to a function of shardwise.plot",
    )


def _by_type(table: Mapping[str, Kinds], result: Any) -> Kinds | None:
    """The entry of the nearest of our types that a result is of."""
    own = (one.__name__ for one in type(result).__mro__ if one.__module__.split(".")[0] == "shardwise")
    return next((table[name] for name in own if name in table), None)


def _either(names: list[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else last
