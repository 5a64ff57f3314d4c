"""Which charts a result has: the one table by which a result is asked for its chart."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from inspect import signature
from typing import Any

from shardwise.analysis.measures import find_unbeaten
from shardwise.core.errors import InputError

# kind of chart -> the function that draws it, or its module and name in `shardwise.plot`
Kinds = Mapping[str, str | Callable[..., Any]]

# by the names of types and functions: to load all of them for one chart takes twice as long; the first is the default
CHARTS: dict[str, Kinds] = {
    # besides the charts of its comparisons
    "Analysis": {
        "power": "items.power_curve_chart",
        "heatmap": "items.heatmap_chart",
        "items": "items.item_chart",
        "repeats": "items.instance_means_chart",
        "trade": "pairs.trade_chart",
    },
    "AnovaFit": {"shares": "fits.variance_share_chart", "residuals": "fits.residual_chart"},
    "BootstrapFit": {"effects": "fits.effect_chart", "density": "fits.density_chart"},
    "Calibration": {"errors": "lab.error_rate_chart", "power": "lab.power_chart"},
    "Comparisons": {
        "forest": "pairs.forest_chart",
        "ranks": "pairs.rank_chart",
        "intervals": "pairs.interval_chart",
        "cd": "pairs.critical_chart",
        "matrix": "matrix.matrix_chart",
        "p-values": "matrix.p_curve_chart",
        "kinds": "pairs.kind_chart",
        "difference": "pairs.difference_chart",
    },
    "Equivalence": {"margins": "pairs.margin_chart"},
    "Exhibit": {"figure": "lab.exhibit_chart"},
    "Generalizability": {"coefficients": "planning.generalizability_chart"},
    "MixedFit": {"components": "fits.component_chart"},
    "Plan": {
        "shards": "planning.shard_design_chart",
        "pools": "planning.pool_chart",
        "judgments": "planning.judgment_chart",
        "simulated": "planning.simulated_power_chart",
    },
    "Posterior": {"components": "fits.posterior_chart"},
    "PredictiveCheck": {"reversals": "lab.prediction_chart"},
    "SettingSeries": {"margins": "pairs.margin_chart"},
    "SimulatedCollection": {"truth": "lab.truth_chart"},
    "Stability": {"figures": "matrix.stability_chart", "pairs": "matrix.agreement_chart"},
    "VarianceComponents": {"components": "fits.component_chart"},
    "VarianceEstimate": {"reach": "planning.reach_chart"},
    "WithinAcross": {"widths": "matrix.width_chart"},
}
# charts of comparisons that an analysis lists before its own
LEADING = ("forest", "ranks", "intervals", "cd")
# charts of other packages and notebooks: result type -> kind -> function
_ADDED: dict[str, dict[str, Callable[..., Any]]] = {}
# several results of one type, by name, in one chart
TOGETHER: dict[str, Kinds] = {
    "BootstrapFit": {"effects": "fits.effect_chart"},
    "Comparisons": {
        "intervals": "pairs.interval_chart",
        "matrix": "matrix.matrix_chart",
        "p-values": "matrix.p_curve_chart",
        "models": "pairs.model_chart",
        "kinds": "pairs.kind_chart",
    },
    "SettingSeries": {"margins": "pairs.margin_chart"},
}


def chart(result: Any, kind: str | None = None, **options: Any) -> Any:
    """Draw a result, or several of one type by name: an altair chart.

    Parameters
    ----------
    result : object
        Any result that has a chart, or a mapping of names to results of one type.
    kind : str, optional
        Which of its charts, by default the first; one that the result does not have is refused with those that it has.
    **options
        Those of the function that draws it, such as ``level`` or ``measure``.

    Returns
    -------
    Chart
        The chart, an altair object.

    >>> import numpy as np, shardwise as sw
    >>> from shardwise.methods.pairs import Means
    >>> pairs = sw.compare(Means(("a", "b"), np.array([0.3, 0.2]), 0.001, 49.0, "these topics"), "hsd")
    >>> sw.plot.chart(pairs, measure="AP").to_dict()["layer"][0]["encoding"]["x"]["title"]
    ['difference in AP, a − each system (95% CI)']
    >>> sw.plot.chart(pairs, "residuals")
    Traceback (most recent call last):
    ...
    shardwise.core.errors.InputError: unknown chart 'residuals'; choose forest, ranks, intervals, cd, matrix, p-values
    or difference
    """
    known = _list_kinds(result)
    lacking = {name: _find_lack(result, draw) for name, draw in known.items()}
    kinds = [name for name in known if not lacking[name]]
    wanted = kinds[0] if kind is None else kind
    if wanted not in kinds:
        lack = lacking.get(wanted, "")
        raise InputError(
            f"chart {kind!r} needs {lack}" if lack else f"unknown chart {kind!r}",
            remedy=f"choose {' or '.join(filter(None, (', '.join(kinds[:-1]), kinds[-1])))}",
            argument="kind",
            value=kind,
            choices=tuple(kinds),
        )
    named = known[wanted]
    draw = find_function(named) if isinstance(named, str) else named
    if _is_analysis(result) and wanted not in _find_kinds(CHARTS, type(result).__mro__, _ADDED):
        # A chart of comparisons is drawn at the level of the analysis, and with its measure.
        own = {"measure": result.measure, "level": 1.0 - result.alpha, "alpha": result.alpha}
        taken = signature(draw).parameters
        return draw(result.comparisons, **({k: v for k, v in own.items() if k in taken} | options))
    return draw(result, **options)


def find_function(name: str) -> Callable[..., Any]:
    """Return the function that draws a chart, by its module in `shardwise.plot` and its name."""
    module, _, function = name.partition(".")
    found: Callable[..., Any] = getattr(import_module(f"shardwise.plot.{module}"), function)
    return found


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


def list_charts(result: Any) -> tuple[str, ...]:
    """Return the kinds of charts that can be drawn of a result, or of several by name, the default first.

    Parameters
    ----------
    result : object
        As for `chart`.

    Returns
    -------
    tuple of str
        Kinds, such as "forest"; a result without charts is refused.
    """
    return tuple(kind for kind, draw in _list_kinds(result).items() if not _find_lack(result, draw))


def _list_kinds(result: Any) -> Kinds:
    """All kinds of charts of a type of results, whether or not this one has what they need."""
    # variance components are a mapping themselves, so single results come first
    kinds = _find_kinds(CHARTS, type(result).__mro__, _ADDED)
    if _is_analysis(result):
        pairs = _list_kinds(result.comparisons)
        first = [kind for kind in pairs if kind in LEADING]
        return {kind: {**pairs, **kinds}[kind] for kind in (*first, *kinds, *pairs)}
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


def _is_analysis(result: Any) -> bool:
    return any(each.__name__ == "Analysis" and _is_ours(each) for each in type(result).__mro__)


def _find_lack(result: Any, draw: str | Callable[..., Any]) -> str:
    """What a chart needs that this result does not have; empty where it can be drawn."""
    need = NEEDS.get(draw) if isinstance(draw, str) and not isinstance(result, Mapping) else None
    if need is None:
        return ""
    words, has = need
    of_pairs = draw in CHARTS["Comparisons"].values()
    return "" if has(result.comparisons if of_pairs and _is_analysis(result) else result) else words


def _has_paper_intervals(comparisons: Any) -> bool:
    try:
        for kind in ("tukey", "anova", "sem"):
            comparisons.intervals(kind=kind)
    except InputError:
        return False
    return True


def _has_items(analysis: Any) -> bool:
    """Whether two systems have scores of the same items, and these are the items' own."""
    scores = analysis.item_scores
    return scores.votes is None and not scores.unpaired


def _has_trade(analysis: Any) -> bool:
    """Whether there are one benefit and one cost, of systems that can be named."""
    return bool(find_unbeaten(analysis)) and len(analysis.systems) <= 30


def _has_power(analysis: Any) -> bool:
    repeats = analysis.repeats
    planned = repeats is not None and repeats.components is not None
    return (planned and analysis.alpha < 0.4) or analysis.power is not None


# module and function -> what its chart needs of a result, in words, and whether a result has it
NEEDS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "pairs.rank_chart": ("comparisons of all pairs", lambda pairs: pairs.complete),
    "pairs.critical_chart": (
        "comparisons of all pairs of at most 30 systems",
        lambda pairs: pairs.complete and len(pairs.names) <= 30,
    ),
    "matrix.matrix_chart": ("at most 200 systems", lambda pairs: len(pairs.names) <= 200),
    "pairs.trade_chart": ("all pairs of at most 30 systems by one benefit and one cost", _has_trade),
    "pairs.kind_chart": ("a model with one error variance", _has_paper_intervals),
    "pairs.difference_chart": ("a single pair of systems", lambda pairs: len(pairs) == 1),
    "items.power_curve_chart": ("a variance to plan with", _has_power),
    "planning.shard_design_chart": ("a plan of shards", lambda plan: plan.kind == "shards"),
    "planning.pool_chart": ("a plan of pools", lambda plan: plan.kind == "pools"),
    "planning.judgment_chart": ("a plan of judgments", lambda plan: plan.kind == "judgments"),
    "planning.simulated_power_chart": ("a simulated plan", lambda plan: plan.kind == "simulated"),
    "items.heatmap_chart": ("scores of several systems on the same items", _has_items),
    "items.item_chart": ("scores of several systems on the same items", _has_items),
    "items.instance_means_chart": ("repeated scores", lambda analysis: "instance" in analysis.scores.dims),
}


def _find_kinds(
    table: Mapping[str, Kinds], types: tuple[type, ...], added: Mapping[str, Mapping[str, Callable[..., Any]]]
) -> Kinds:
    """Return the charts of the nearest type that has any, with those that were registered."""
    names = [each.__name__ for each in types if each.__name__ in added or _is_ours(each)]
    known: Kinds = next((table[name] for name in names if name in table), {})
    return {**known, **{kind: draw for name in names for kind, draw in added.get(name, {}).items()}}


def _is_ours(cls: type) -> bool:
    return cls.__module__.split(".")[0] == "shardwise"
