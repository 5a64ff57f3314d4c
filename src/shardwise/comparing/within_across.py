"""Few related systems: a model of them alone, or of all systems there are (V17 §6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from shardwise.comparing.comparisons import Comparisons, compare_estimates
from shardwise.core import late
from shardwise.core.errors import InputError
from shardwise.core.model import MD2, MD3, Model
from shardwise.core.scores import as_scores, level_names
from shardwise.core.shown import Shown
from shardwise.methods.anova.fit import anova
from shardwise.methods.bootstrap.fit import BootstrapFit, bootstrap_anova

CONDITIONS = ("across", "confined", "within")


@dataclass(frozen=True, slots=True, eq=False)
class WithinAcross(Shown):
    """Interval widths and decisions on related systems, by what the model was fitted to."""

    widths: pd.DataFrame  # condition × model: mean interval width over all related systems (V17 Table 6)
    decisions: pd.DataFrame  # one row a related pair, under the last model: set, a, b, a column a condition

    def agreement(self) -> pd.DataFrame:
        """Count pairs on which each two conditions decide alike: ``pairs, same, share``.

        Returns
        -------
        DataFrame
            One row for each two conditions.
        """
        rows = {}
        for k, first in enumerate(CONDITIONS):
            for other in CONDITIONS[k + 1 :]:
                same = int((self.decisions[first] == self.decisions[other]).sum())
                pairs = len(self.decisions)
                rows[f"{first} / {other}"] = {"pairs": pairs, "same": same, "share": same / pairs}
        return pd.DataFrame.from_dict(rows, orient="index")

    def plot(self) -> Any:
        """Draw the widths of the intervals: an altair chart.

        Returns
        -------
        Chart
            The chart, an altair object.
        """
        return late.call_bound("chart", self)


def within_across(
    scores: Any,
    sets: Mapping[str, Sequence[str]],
    models: Sequence[Model | str] = (MD2, MD3),
    *,
    bootstrap: bool = True,
    method: str = "bh",
    alpha: float = 0.05,
    **claim: Any,
) -> WithinAcross:
    """Compare systems of each set with each other under three conditions (V17 Table 6).

    ``across``: model and correction over all systems. ``confined``: model over all systems, comparisons and their
    correction within the set. ``within``: model, comparisons and correction of the set alone. V17 has the first and the
    last, without (MD2) and with (MD3) interactions.

    Parameters
    ----------
    scores : object
        Any table that `as_scores` takes.
    sets : mapping
        Names of two or more related systems, by the name of the set.
    models : sequence of Model or str
        Models to fit; the decisions are those under the last.
    bootstrap : bool
        Whether the models are fitted by bootstrap ANOVA rather than by ANOVA.
    method : str
        The correction, as for `compare`.
    alpha : float
        Level to decide at; that of the intervals is 1 - alpha.
    **claim
        What the estimates of the fit take: ``generalize``, as a `Claim`, names or text; for the bootstrap ``null`` and
        ``tails`` (V17's p-values have ``null="marginal", tails=1``).

    Returns
    -------
    WithinAcross
        Interval widths and decisions under each condition.
    """
    small = [name for name, members in sets.items() if len(set(members)) < 2]
    if small or not sets:
        raise InputError(
            f"the set {small[0]!r} has fewer than two systems"
            if small
            else "there are no sets of related systems",
            remedy="give sets of two or more",
        )
    parsed = [Model.parse(model) if isinstance(model, str) else model for model in models]
    table = as_scores(scores, needs=("system",), keep={d for model in parsed for d in model.dimensions})
    known = level_names(table, "system")
    widths: dict[str, dict[str, float]] = {condition: {} for condition in CONDITIONS}
    decisions: list[pd.DataFrame] = []
    for model in parsed:
        everything = _fit_model(table, model, bootstrap)
        overall = compare_estimates(everything.estimates(**claim), method)
        measured: dict[str, list[float]] = {condition: [] for condition in CONDITIONS}
        decisions = []
        for label, members in sets.items():
            chosen = list(dict.fromkeys(members))
            absent = [system for system in chosen if system not in known]
            if absent:
                raise InputError(f"unknown system {absent[0]!r}", where=f"set {label!r}")
            alone = _fit_model(
                table.isel(system=[known.index(system) for system in chosen]), model, bootstrap
            )
            inside = compare_estimates(everything.estimates(**claim), method, only=chosen)
            by_itself = compare_estimates(alone.estimates(**claim), method)
            for condition, fitted, comparisons in (
                ("across", everything, overall),
                ("confined", everything, inside),
                ("within", alone, by_itself),
            ):
                measured[condition] += _interval_widths(fitted, comparisons, chosen, alpha, claim)
            decisions.append(_join_decisions(label, chosen, (overall, inside, by_itself), alpha))
        for condition in CONDITIONS:
            widths[condition][model.short] = float(np.mean(measured[condition]))
    return WithinAcross(
        pd.DataFrame.from_dict(widths, orient="index").rename_axis("condition"),
        pd.concat(decisions, ignore_index=True),
    )


def _fit_model(scores: xr.DataArray, model: Model | str, bootstrap: bool) -> Any:
    return bootstrap_anova(scores, model) if bootstrap else anova(scores, model)


def _interval_widths(
    fitted: Any, comparisons: Comparisons, systems: Sequence[str], alpha: float, claim: Mapping[str, Any]
) -> list[float]:
    """Return widths of V17's trimmed bootstrap intervals, else of the intervals of the method."""
    if isinstance(fitted, BootstrapFit) and claim.get("null") == "marginal":
        distribution = {
            name: value for name, value in claim.items() if name != "generalize"
        }  # only about these
        frame = fitted.intervals(1.0 - alpha, pairs=comparisons.p, **distribution)
    else:
        frame = comparisons.intervals(1.0 - alpha)
    chosen = frame.loc[list(systems)]
    return [float(width) for width in chosen["upper"] - chosen["lower"]]


def _join_decisions(
    label: str, systems: Sequence[str], comparisons: Sequence[Comparisons], alpha: float
) -> pd.DataFrame:
    wanted = set(systems)
    frames = []
    for condition, c in zip(CONDITIONS, comparisons, strict=True):
        frame = c.to_frame()[["a", "b"]].assign(found=c.reject(alpha))
        frame = frame[frame["a"].isin(wanted) & frame["b"].isin(wanted)]
        ordered = [tuple(sorted(pair)) for pair in zip(frame["a"], frame["b"], strict=True)]
        sign = np.where(frame["a"].to_numpy() == [a for a, _ in ordered], 1, -1)
        index = pd.MultiIndex.from_tuples(ordered, names=["a", "b"])
        frames.append(pd.Series(np.where(frame["found"], sign, 0), index=index, name=condition))
    joined = pd.concat(frames, axis=1).reset_index()
    joined.insert(0, "set", label)
    return joined
