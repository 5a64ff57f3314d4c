"""Which charts a result has: the one table by which a result is asked for its chart."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from shardwise import plot
from shardwise.core.errors import InputError

# kind of chart -> the function that draws it, or its name in `shardwise.plot`
Kinds = Mapping[str, str | Callable[..., Any]]

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
# charts of other packages and notebooks: result type -> kind -> function
_ADDED: dict[str, dict[str, Callable[..., Any]]] = {}
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
    result : object
        Any result that has a chart, or a mapping of names to results of one type.
    kind : str, optional
        Which of its charts, by default the first; a wrong one is refused with those there are.
    **options
        Those of the function that draws it, such as ``level`` or ``measure``.

    Returns
    -------
    Chart
        The chart, an altair object.

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
            remedy=f"choose {_join_alternatives(list(kinds))}",
            argument="kind",
            value=kind,
            choices=tuple(kinds),
        )
    draw = kinds[wanted]
    return (getattr(plot, draw) if isinstance(draw, str) else draw)(result, **options)


def register_chart(result_type: type, kind: str, draw: Callable[..., Any]) -> None:
    """Offer another chart of a type of results, in `.plot(kind)` and wherever kinds are listed.

    Parameters
    ----------
    result_type : type
        Class of the results, such as `Comparisons`.
    kind : str
        Name of the chart; one of the package is not replaced.
    draw : callable
        Function of a result, and of options, that returns an altair chart.

    Raises
    ------
    InputError
        If results of this type have a chart of that name already.
    """
    if kind in _find_kinds(CHARTS, result_type.__mro__, {}):
        raise InputError(
            f"{result_type.__name__} has a chart {kind!r} already",
            remedy="choose another name",
            argument="kind",
        )
    _ADDED.setdefault(result_type.__name__, {})[kind] = draw


def kinds_of(result: Any) -> Kinds:
    """Return the charts of a result, or of several by name, or refuse what has none.

    Parameters
    ----------
    result
        As for `chart`.
    """
    # variance components are a mapping themselves, so single results come first
    kinds = _find_kinds(CHARTS, type(result).__mro__, _ADDED)
    if kinds:
        return kinds
    if isinstance(result, Mapping):
        results = list(result.values())
        if len({type(each) for each in results}) > 1:
            raise InputError("results of several types are not drawn together", remedy="draw each by itself")
        kinds = _find_kinds(TOGETHER, type(results[0]).__mro__, {}) if results else {}
        if not kinds:
            what = f"results of type {type(results[0]).__name__}" if results else "a mapping without results"
            raise InputError(f"{what} cannot be drawn in one chart", remedy="draw each by itself")
        return kinds
    raise InputError(
        f"a result of type {type(result).__name__} has no chart",
        remedy="give a result such as that of compare, or a table to a function of shardwise.plot",
    )


def _find_kinds(
    table: Mapping[str, Kinds], types: tuple[type, ...], added: Mapping[str, Mapping[str, Callable[..., Any]]]
) -> Kinds:
    """Return the charts of the nearest type that has any, with those that were registered."""
    names = [each.__name__ for each in types if each.__name__ in added or _is_ours(each)]
    known: Kinds = next((table[name] for name in names if name in table), {})
    return {**known, **{kind: draw for name in names for kind, draw in added.get(name, {}).items()}}


def _is_ours(cls: type) -> bool:
    return cls.__module__.split(".")[0] == "shardwise"


def _join_alternatives(names: list[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else last
