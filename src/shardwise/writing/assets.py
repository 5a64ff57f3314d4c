"""Load templates, styles and scripts of the pages."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib import resources
from typing import Any

import jinja2
import numpy as np

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
