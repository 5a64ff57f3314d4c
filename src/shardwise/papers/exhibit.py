"""Parts of a replication: tables and figures in the shape of a paper, and verdicts on its claims."""

from __future__ import annotations

import io
import math
import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from importlib import resources
from typing import Any, Literal, TypeAlias

from shardwise.core import late
from shardwise.core.errors import refuse_unknown
from shardwise.core.libraries import pd
from shardwise.core.shown import Shown

Mark = Literal["line", "point", "bar"]
Frames: TypeAlias = "dict[str, pd.DataFrame]"
"""Rows of tables and figures, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """How the rows of a figure are drawn.

    Parameters
    ----------
    x, y : str
        Columns of the two axes.
    titles : tuple of str
        Titles of the two axes.
    series : str
        Column whose values have a color each.
    panel : str
        Column whose values have a panel each.
    band : tuple of str, optional
        Columns of the lower and the upper edge of a band.
    mark : str
        Line, point or bar.
    rules : tuple of float
        Values of y that have a reference line.
    ordered : bool
        Whether the values of ``series`` are in order, which shades of one colour show.
    """

    x: str
    y: str
    titles: tuple[str, str]
    series: str = ""
    panel: str = ""
    band: tuple[str, str] | None = None
    mark: Mark = "line"
    rules: tuple[float, ...] = ()
    ordered: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """How long rows become a table as in print.

    Parameters
    ----------
    rows : tuple of str
        Columns whose values head the rows.
    values : tuple of str
        Columns that fill the cells.
    columns : tuple of str
        Columns whose values head the columns.
    halves : Mapping
        Column of the half width that follows a value after ±, by value.
    only : Mapping
        Values to keep, by column; all rows are in the CSV file.
    counts : tuple of str
        Columns that count pairs.
    totals : tuple of float
        All pairs of the data and of print, of which counts are shown as shares; empty where they are the same.
    """

    rows: tuple[str, ...]
    values: tuple[str, ...]
    columns: tuple[str, ...] = ()
    halves: Mapping[str, str] = field(default_factory=dict)
    only: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    counts: tuple[str, ...] = ()
    totals: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Exhibit(Shown):
    """One table or figure of a paper, made from other data.

    Columns that end in the tag of a paper, as ``significant_F19`` does, hold printed values.

    Parameters
    ----------
    label : str
        Name in the paper, such as ``"Table 1"``.
    title : str
        Contents in a few words.
    data : DataFrame
        All rows, in long form.
    notes : tuple of str
        Sentences below the table or figure.
    form : Form, optional
        How a figure is drawn.
    shape : Shape, optional
        How a table is laid out.
    summary : DataFrame, optional
        Rows to lay out instead of ``data``, where these are too many.
    """

    label: str
    title: str
    data: pd.DataFrame
    notes: tuple[str, ...] = ()
    form: Form | None = None
    shape: Shape | None = None
    summary: pd.DataFrame | None = None

    @property
    def slug(self) -> str:
        """The label as part of the name of a file."""
        return "-".join("".join(c if c.isalnum() else " " for c in self.label.lower()).split())

    @property
    def is_figure(self) -> bool:
        """Whether there is something to draw."""
        return self.form is not None and len(self.data) > 0

    def plot(self) -> Any:
        """Draw a figure.

        Returns
        -------
        Chart
            The chart, an altair object.
        """
        return late.call_bound("chart", self)

    def lay_out(self, paper: str = "") -> pd.DataFrame:
        """Return the table as a paper prints it: text cells, printed values in brackets.

        Parameters
        ----------
        paper : str
            Tag of the paper whose printed values are shown.

        Returns
        -------
        DataFrame
            Cells as text; one level of columns per heading.
        """
        table: pd.DataFrame = late.call_bound("exhibit_table", self, paper)
        return table


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimVerdict:
    """Verdict on one claim: in general, on this collection, and on the numbers that the paper prints.

    ``p_holds`` and ``p_fails`` are one-sided p-values of the general verdict, over resampled topics.
    """

    name: str
    statement: str
    section: str
    verdict: str
    here: str
    in_print: str
    numbers: str
    splits: str = ""
    estimate: float = math.nan
    lower: float = math.nan
    upper: float = math.nan
    p_holds: float = math.nan
    p_fails: float = math.nan
    limit: str = ""
    source: str = ""


COLUMNS = tuple(entry.name for entry in fields(ClaimVerdict))


@dataclass(frozen=True, slots=True, eq=False)
class Replication:
    """Verdicts on the claims of a paper, and its tables and figures, from other data.

    Parameters
    ----------
    paper : str
        Tag of the paper, such as ``"F19"``.
    title : str
        Subject of the paper.
    exhibits : tuple of Exhibit
        Tables and figures.
    facts : Mapping
        Data, seed and options, by name.
    notes : tuple of str
        Sentences on the whole.
    verdicts : tuple of ClaimVerdict
        One for each claim.
    is_own : bool
        Whether the data have the sizes of a collection of the paper, whose cells may equal print.
    answer : str
        First line, where there are no verdicts to count.
    """

    paper: str
    title: str
    exhibits: tuple[Exhibit, ...]
    facts: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    verdicts: tuple[ClaimVerdict, ...] = ()
    is_own: bool = False
    answer: str = ""

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the tables and figures."""
        return tuple(exhibit.label for exhibit in self.exhibits)

    def __getitem__(self, label: str) -> Exhibit:
        for exhibit in self.exhibits:
            if exhibit.label == label:
                return exhibit
        raise refuse_unknown("label", label, self.labels, what="table or figure")

    def claims_frame(self) -> pd.DataFrame:
        """Return the verdicts as a table: `claim`, `verdict` and what they rest on.

        Returns
        -------
        DataFrame
            One row per claim.
        """
        names = {"name": "claim", "here": "on_this_collection"}
        frame = pd.DataFrame([asdict(verdict) for verdict in self.verdicts], columns=list(COLUMNS))
        return frame.rename(columns=names)

    def write(self, folder: str | os.PathLike[str]) -> None:
        """Write the page as HTML and Markdown, all rows as CSV, tables as LaTeX, charts as SVG.

        Parameters
        ----------
        folder : path
            Folder; created if it does not exist.
        """
        late.call_bound("replication_page", self, folder)

    def __str__(self) -> str:
        text: str = late.call_bound("replication_text", self)
        return text


@cache
def read_layouts() -> dict[str, dict[str, dict[str, Any]]]:
    """Return what ``exhibits.toml`` says of the tables and figures of every paper."""
    text = (
        resources.files("shardwise.papers").joinpath("printed", "exhibits.toml").read_text(encoding="utf-8")
    )
    return tomllib.loads(text)


def make_exhibit(
    paper: str,
    label: str,
    data: pd.DataFrame,
    notes: Sequence[str] = (),
    *,
    words: Mapping[str, Any] | None = None,
    like: Mapping[str, Any] | None = None,
    summary: pd.DataFrame | None = None,
    **changes: Any,
) -> Exhibit:
    """Return rows laid out as ``exhibits.toml`` says of a label, beside the printed values that have ``like``.

    ``words`` fill the texts, ``changes`` replace fields of the layout, ``notes`` follow those of the layout.
    """
    entry, words = read_layouts()[paper][label] | changes, words or {}
    if "printed" in entry:
        data = join_printed(data, read_printed(entry["printed"], **(like or {})), entry["keys"], paper)
    layout = Form if "x" in entry else Shape
    facts = {field.name: entry[field.name] for field in fields(layout) if field.name in entry}
    facts = {name: tuple(fact) if isinstance(fact, list) else fact for name, fact in facts.items()}
    if "titles" in facts:
        facts["titles"] = tuple(text.format(**words) for text in facts["titles"])
    texts = [text.format(**words) for text in entry.get("notes", ())]
    if totals := entry.get("totals"):
        texts.append("Counts are shares of all pairs, {:,} here and {:,} in print.".format(*totals))
    label, title = label.format(**words), entry["title"].format(**words)
    drawn: dict[str, Any] = {"form" if layout is Form else "shape": layout(**facts)}
    return Exhibit(label, title, data, (*texts, *notes), summary=summary, **drawn)


def read_csv_text(name: str) -> str:
    """Return the text of a table that papers printed."""
    return resources.files("shardwise.papers").joinpath("printed", f"{name}.csv").read_text(encoding="utf-8")


@cache
def read_printed(name: str, **only: Any) -> pd.DataFrame:
    """Return the rows that a paper printed, or those with some values alone, without the columns of these values.

    >>> read_printed("f19-table-1", shards=2, model="MD6")
      measure  omega_sq  significant  not_significant  top_group
    0      AP    0.7143         5889             2367          1
    """
    rows = pd.read_csv(io.StringIO(read_csv_text(name)))
    for column, value in only.items():
        rows = rows[rows[column] == value].drop(columns=column)
    return rows.reset_index(drop=True)


@cache
def count_decimals(paper: str) -> dict[str, int]:
    """Return how many decimals a paper prints, by the column of its tables, as the text of the files has them.

    >>> count_decimals("FF21")["width"], count_decimals("F19")["tau"]
    (3, 4)
    """
    digits: dict[str, int] = {}
    for file in resources.files("shardwise.papers").joinpath("printed").iterdir():
        if file.name.startswith(f"{paper.lower()}-"):
            table = pd.read_csv(io.StringIO(file.read_text(encoding="utf-8")), dtype=str)
            for column in table.columns:
                longest = max(len(str(cell).partition(".")[2]) for cell in table[column])
                digits[column] = max(digits.get(column, 0), longest)
    return digits


def join_printed(ours: pd.DataFrame, printed: pd.DataFrame, keys: Sequence[str], paper: str) -> pd.DataFrame:
    """Return computed rows with the printed columns of equal keys, whose names end in the tag of the paper.

    >>> ours = pd.DataFrame({"model": ["MD1", "MD2"], "pairs": [10, 20]})
    >>> join_printed(ours, pd.DataFrame({"model": ["MD1"], "pairs": [11]}), ["model"], "F19")
      model  pairs  pairs_F19
    0   MD1     10       11.0
    1   MD2     20        NaN
    """
    if printed.empty:
        return ours
    named = printed.rename(columns={name: f"{name}_{paper}" for name in printed.columns if name not in keys})
    return ours.merge(named, how="left", on=list(keys))
