"""What all pages share: templates, styles and scripts, and an axis for drawings that a page makes itself."""

from __future__ import annotations

import base64
import gzip
import hashlib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import jinja2
import numpy as np
from numpy.typing import ArrayLike

from shardwise.core.claim import format_count
from shardwise.core.text import escape_controls, shorten_name
from shardwise.writing import answer
from shardwise.writing.numbers import equate_p, format_number, format_p


@cache
def load_templates() -> jinja2.Environment:
    """Return the templates of all pages, each compiled once in a process.

    Returns
    -------
    Environment
        Templates with the filters that they use; all values are escaped.
    """
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(read_asset),
        auto_reload=False,
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        short=shorten_name,
        visible=escape_controls,
        p=format_p,
        equated=equate_p,
        n=_format_decimals,
        share=lambda x: f"{float(x):.0%}" if np.isfinite(float(x)) else "–",
        counted=format_count,
        capital=answer.capitalize_sentence,
        conjoined=answer.join_names,
    )
    return environment


@jinja2.pass_context
def _format_decimals(context: jinja2.runtime.Context, x: Any, digits: int | None = None) -> str:
    """A number with the decimals of the analysis that is shown, or as many as asked for."""
    return format_number(float(x), context["c"].decimals if digits is None else digits)


def read_asset(name: str) -> str:
    """Return a template, style or script that comes with the package.

    Parameters
    ----------
    name : str
        Name of the file.

    Returns
    -------
    str
        Its text.
    """
    return resources.files("shardwise.writing").joinpath("templates", name).read_text(encoding="utf-8")


def hash_script(script: str) -> str:
    """Return the hash by which the security policy of a page allows a script.

    Parameters
    ----------
    script : str
        The text inside the script element.

    Returns
    -------
    str
        SHA-256 in base64.

    >>> hash_script("")
    '47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='
    """
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")


WIDTH = 1000.0  # units of the drawing


@dataclass(frozen=True, slots=True)
class Axis:
    """From the lowest to the highest value, with ticks at round numbers between."""

    low: float
    high: float
    ticks: tuple[float, ...]
    decimals: int

    def locate_value(self, value: float) -> float:
        """Return the position of a value in units of the drawing, to a tenth; an infinite one lies on the edge."""
        inside = min(max(value, self.low), self.high)
        return round(WIDTH * (inside - self.low) / (self.high - self.low), 1)

    @property
    def grid(self) -> str:
        """Lines at the ticks, 20 units high, as the path of a drawing."""
        return "".join(f"M{self.locate_value(tick):g} 0v20" for tick in self.ticks)


def make_axis(values: ArrayLike, most: int = 6) -> Axis:
    """Make an axis that holds all finite values.

    Parameters
    ----------
    values : array-like
        Numbers to be drawn; infinite and missing ones do not widen the axis.
    most : int
        Most ticks.

    Returns
    -------
    Axis
        From 0 to 1 where no value is finite.

    >>> axis = make_axis([0.013, 0.402, np.inf])
    >>> axis.ticks, axis.decimals, axis.locate_value(np.inf)
    ((0.1, 0.2, 0.3, 0.4), 1, 1000.0)
    """
    numbers = np.asarray(values, dtype=float)
    numbers = numbers[np.isfinite(numbers)]
    low, high = (float(numbers.min()), float(numbers.max())) if numbers.size else (0.0, 1.0)
    # equal values, and such as differ by rounding only, have no scale of their own
    if high - low <= 1e-12 * max(abs(low), abs(high)):
        room = max(0.5, 1e-6 * abs(low))
        low, high = low - room, high + room
    margin = 0.03 * (high - low)
    low, high = low - margin, high + margin
    power = float(10.0 ** np.floor(np.log10((high - low) / most)))
    step = next(m * power for m in (1.0, 2.0, 5.0, 10.0, 20.0) if (high - low) / (m * power) <= most)
    first, last = int(np.ceil(low / step)), int(np.floor(high / step))
    decimals = max(0, -int(np.floor(np.log10(step) + 1e-9)))
    return Axis(low, high, tuple(round(k * step, decimals) + 0.0 for k in range(first, last + 1)), decimals)


LEVEL = 6  # of compression: 9 takes twice as long for a hundredth less


def pack_bytes(content: bytes) -> str:
    """Return bytes compressed (without a time stamp, so that equal pages are equal) and as text."""
    return base64.b64encode(gzip.compress(content, LEVEL, mtime=0)).decode("ascii")


@dataclass(frozen=True, slots=True)
class ReportFile:
    """A file of a report or a paper: what it is about, its bytes, and its media type."""

    name: str
    about: str
    content: bytes
    kind: str = ""


KINDS = {"csv": "text/csv", "tex": "text/x-tex", "bib": "text/x-bibtex", "json": "application/json",
         "svg": "image/svg+xml"}  # fmt: skip
"""Media types by the end of a name."""


def make_text_file(name: str, about: str, text: str) -> ReportFile:
    """Return a file of text; its media type goes by its name."""
    kind = KINDS[name.rpartition(".")[2]]
    return ReportFile(name, about, text.encode("utf-8", "backslashreplace"), kind)
