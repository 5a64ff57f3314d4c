"""What a replication is made of: the tables and figures of a paper, on somebody's data."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import pandas as pd

from shardwise.core import late
from shardwise.core.errors import refuse_unknown
from shardwise.core.shown import Shown

Mark = Literal["line", "point", "bar"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """How the rows of a figure are drawn: which columns are its axes, its band, its lines and its panels."""

    x: str
    y: str
    titles: tuple[str, str]  # of the two axes
    series: str = ""
    panel: str = ""
    band: tuple[str, str] | None = None  # columns of the lower and the upper edge
    mark: Mark = "line"


@dataclass(frozen=True, slots=True, eq=False)
class Exhibit(Shown):
    """One table or figure of a paper, made of somebody's data.

    Columns that end in the tag of a paper, as ``significant_F19`` does, hold what that paper printed.
    """

    label: str  # as in the paper: "Table 1"
    title: str
    data: pd.DataFrame
    notes: tuple[str, ...] = ()
    form: Form | None = None  # of a figure

    @property
    def slug(self) -> str:
        """The label as part of the name of a file."""
        return "-".join("".join(c if c.isalnum() else " " for c in self.label.lower()).split())

    @property
    def drawn(self) -> bool:
        """Whether there is something to draw."""
        return self.form is not None and len(self.data) > 0

    def plot(self) -> Any:
        """Draw a figure: an altair chart.

        Returns
        -------
        Chart
            The chart, an altair object.
        """
        return late.call_bound("chart", self)


@dataclass(frozen=True, slots=True, eq=False)
class Replication:
    """The tables and figures of a paper on somebody's data, with what was printed beside them."""

    paper: str  # its tag, such as F19
    title: str
    exhibits: tuple[Exhibit, ...]
    facts: Mapping[str, str] = field(default_factory=dict)  # what it was made of: data, seed, options
    notes: tuple[str, ...] = ()

    @property
    def labels(self) -> tuple[str, ...]:
        """What the tables and figures are called."""
        return tuple(one.label for one in self.exhibits)

    def __getitem__(self, label: str) -> Exhibit:
        for one in self.exhibits:
            if one.label == label:
                return one
        raise refuse_unknown("label", label, self.labels, what="table or figure")

    def write(self, folder: str | os.PathLike[str]) -> None:
        """Write the page as HTML and Markdown, every table and the rows of every figure as CSV, the charts as SVG.

        Parameters
        ----------
        folder : str or path
            Where to; it is made if need be.
        """
        from shardwise.papers.page import write_page  # the page is made of this class

        write_page(self, folder)

    def __str__(self) -> str:
        lines = [f"{one.label}: {one.title} ({len(one.data)} rows)" for one in self.exhibits]
        return "\n".join([f"{self.paper}: {self.title}", *lines])


def beside(
    ours: pd.DataFrame, printed: pd.DataFrame | Sequence[Mapping[str, Any]], keys: Sequence[str], paper: str
) -> pd.DataFrame:
    """Put what a paper printed beside the rows of ours that have the same keys.

    >>> ours = pd.DataFrame({"model": ["MD1", "MD2"], "pairs": [10, 20]})
    >>> beside(ours, [{"model": "MD1", "pairs": 11}], ["model"], "F19")
      model  pairs  pairs_F19
    0   MD1     10       11.0
    1   MD2     20        NaN
    """
    frame = printed if isinstance(printed, pd.DataFrame) else pd.DataFrame(list(printed))
    named = frame.rename(columns={name: f"{name}_{paper}" for name in frame.columns if name not in keys})
    return ours.merge(named, how="left", on=list(keys))
