"""A gate with several requirements: measures that must all pass, and slices of the items that must not get worse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from shardwise.analysis.gate import Gate, Gates, gate
from shardwise.analysis.slices import label_items
from shardwise.core import late
from shardwise.core.errors import InputError
from shardwise.core.libraries import pd
from shardwise.core.scores import Scores
from shardwise.core.shown import Shown
from shardwise.io.natural_order import natural_order
from shardwise.stats.slices import FEWEST_ITEMS


class Requirement(NamedTuple):
    """The verdict by one measure, on all items or on a slice of them."""

    gate: Gate
    slice: str = ""

    @property
    def passes(self) -> bool:
        """Whether it is met: a slice must not be significantly worse, all items must be better or no worse."""
        return self.gate.passes or (bool(self.slice) and self.gate.verdict != "worse")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Requirements(Shown):
    """Verdicts that must all pass; each measure is tested at full level, slices together at that of one gate."""

    each: tuple[Requirement, ...]
    by: tuple[str, ...] = ()
    untested: tuple[str, ...] = ()

    @property
    def passes(self) -> bool:
        """Whether every requirement is met."""
        return all(requirement.passes for requirement in self.each)

    def to_frame(self) -> pd.DataFrame:
        """Return all figures, one row a requirement.

        Returns
        -------
        DataFrame
            `measure`, `slice` where there are slices, `passes`, and the columns of `Gate.to_frame`.
        """
        rows = [
            requirement.gate.to_frame().assign(
                measure=requirement.gate.measure, passes=requirement.passes, slice=requirement.slice
            )
            for requirement in self.each
        ]
        frame = pd.concat(rows, ignore_index=True)
        first = ["measure", *(["slice"] if self.by else []), "passes"]
        return frame[[*first, *(name for name in frame.columns if name not in (*first, "slice"))]]

    def __str__(self) -> str:
        text: str = late.call_bound("requirements_text", self)
        return text


def judge_requirements(
    base: str,
    new: Sequence[str],
    tables: Mapping[str, Scores],
    margins: Mapping[str, float],
    *,
    by: Sequence[str] = (),
    alpha: float = 0.05,
    **options: Any,
) -> Requirements:
    """Judge new systems by several measures, and by each on slices of the items.

    Each measure must pass by itself at alpha (intersection–union: all must pass, so no correction is needed). On a
    slice a significant loss that is not within the margin fails, at alpha divided by the number of slices and measures.

    Parameters
    ----------
    base : str
        The system in use.
    new : sequence of str
        The new systems.
    tables : mapping
        Scores of each measure.
    margins : mapping
        The margin of each measure.
    by : sequence of str
        Labels of items, one column or two to be crossed.
    alpha : float
        As for `gate`.
    **options
        Further options of `gate`.

    Returns
    -------
    Requirements
        One entry a measure, system and slice.
    """
    each: list[Requirement] = []
    untested: list[str] = []
    columns: tuple[str, ...] = ()
    for name, table in tables.items():
        how = {"margin": margins[name], **options}
        each += [
            Requirement(gated) for gated in _list_gates(gate(base, new, scores=table, alpha=alpha, **how))
        ]
        if not by:
            continue
        columns, labels = label_items(table, by)
        slices = list(dict.fromkeys(labels))
        rows = {
            slices[k]: np.flatnonzero(np.array(labels) == slices[k]) for k in natural_order(slices).tolist()
        }
        tested = {label: positions for label, positions in rows.items() if positions.size >= FEWEST_ITEMS}
        untested += [label for label in rows if label not in tested]
        level = alpha / max(len(tested) * len(tables), 1)
        part = replace(table, slices={}, tasks=None if "task" in columns else table.tasks)
        for label, positions in tested.items():
            try:
                gated = gate(base, new, scores=part.select(topic=positions), alpha=level, **how)
            except InputError:
                # gaps leave too little
                untested.append(label)
                continue
            each += [Requirement(verdict, label) for verdict in _list_gates(gated)]
    return Requirements(tuple(each), columns, tuple(dict.fromkeys(untested)))


def _list_gates(gated: Gate | Gates) -> tuple[Gate, ...]:
    return gated.each if isinstance(gated, Gates) else (gated,)
