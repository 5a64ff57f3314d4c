"""A chart into a file."""

from __future__ import annotations

import base64
import json
import os
from functools import cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shardwise.core.errors import InputError
from shardwise.core.processes import read_space_limit
from shardwise.core.text import escape_controls, escape_nested, script_json
from shardwise.io.atomic import write_atomically

if TYPE_CHECKING:  # so that the command line may ask for the endings without loading altair
    from shardwise.plot.theme import Chart

ENDINGS = (".html", ".png", ".svg", ".pdf", ".json")
PPI = 144
RESERVED = 66 << 30
"""Bytes of address space that the engine of the drawings (V8) sets aside; it peaks at 64.3 GB."""
PADDING = {"left": 25, "right": 15, "top": 5, "bottom": 5}
"""Pixels around an SVG: the font of whoever looks may be wider than the one that it was laid out with."""
# the policy keeps the promise that the page needs no network; Vega compiles expressions, hence unsafe-eval
PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; \
style-src 'unsafe-inline'; img-src data: blob:">
<title>chart</title>
<!-- The script below is Vega, Vega-Lite and Vega-Embed (BSD-3-Clause, University of Washington Interactive Data Lab and
others) with D3 (ISC, Mike Bostock); their licences: https://github.com/vega and https://github.com/d3 -->
<script>{bundle}</script>
</head>
<body>
<div id="chart"></div>
<script>
vegaEmbed(document.getElementById("chart"), {specification}, {options}).catch(error => {{
  document.getElementById("chart").textContent = `this chart cannot be drawn here: ${{error.message}}`;
}});
</script>
</body>
</html>
"""
EMBEDDED: dict[str, Any] = {
    "mode": "vega-lite",
    "actions": {"export": True, "source": False, "editor": False},
}


def save_chart(chart: Chart, path: str | os.PathLike[str]) -> None:
    """Write a chart as HTML, PNG, SVG, PDF or JSON, by the ending of the file; HTML needs no network.

    Parameters
    ----------
    chart : altair chart
        What a result's `plot` or a function of `shardwise.plot` returns.
    path : path
        The file to write; it ends with .html, .png, .svg, .pdf or .json.

    >>> import tempfile, altair as alt
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_chart(alt.Chart({"values": [{"x": 1}]}).mark_point(), Path(folder) / "chart.html")
    ...     (Path(folder) / "chart.html").read_text()[:15]
    '<!DOCTYPE html>'
    """
    target, ending = Path(path), ending_of(path)
    if ending == ".html":
        content = render_page(chart).encode()
    elif ending == ".svg":
        content = render_svg(chart).encode()
    elif ending == ".json":
        content = json.dumps(specify_chart(chart), indent=2, sort_keys=True).encode()
    elif ending == ".png":
        content = import_converter().vegalite_to_png(specify_chart(chart), ppi=PPI)
    else:
        content = import_converter().vegalite_to_pdf(specify_chart(chart))
    write_atomically(target, content)


def ending_of(path: str | os.PathLike[str]) -> str:
    """Return the ending of a file that a chart may be written to, or refuse it.

    >>> ending_of("figures/intervals.pdf")
    '.pdf'
    """
    ending = Path(path).suffix
    if ending not in ENDINGS:
        raise InputError(
            f"unknown chart format '{escape_controls(ending)}'",
            where=str(path),
            remedy=f"choose one of {', '.join(ENDINGS)}",
        )
    return ending


def import_converter() -> Any:
    """Import what draws charts without a browser.

    Its engine ends the process where it cannot reserve its address space.
    """
    limit = read_space_limit()
    if limit is not None and limit < RESERVED:
        raise InputError(
            f"drawings of charts reserve {RESERVED >> 30} GB of virtual memory, of which they use little, and "
            f"{limit / 2**30:.3g} GB are allowed",
            remedy="lift the limit (ulimit -v unlimited), or ask for tables and text only",
        )
    import vl_convert  # drawing takes long to load

    return vl_convert


def specify_chart(chart: Chart, *, validate: bool = True) -> dict[str, Any]:
    """Return a chart as Vega-Lite, names in it as they can be drawn.

    The converter ends the process at a control character, which no XML may hold.

    Parameters
    ----------
    chart : altair chart
        What a result's `plot` returns.
    validate : bool
        Whether to check it against the schema.

    Returns
    -------
    dict
        The specification.
    """
    specification: dict[str, Any] = escape_nested(chart.to_dict(validate=validate))
    return specification


def render_svg(chart: Chart) -> str:
    """Return a chart as SVG, with room for wider fonts than ours.

    Parameters
    ----------
    chart : altair chart
        What a result's `plot` returns.
    """
    drawn: str = import_converter().vegalite_to_svg({"padding": PADDING} | specify_chart(chart))
    return drawn


def render_image(chart: Chart, label: str = "chart") -> str:
    """Return a chart as an image element that needs no network and runs no script; a line of text where none is drawn.

    Parameters
    ----------
    chart : altair chart
        What a result's `plot` returns.
    label : str
        What the image shows, for those who do not see it.

    Returns
    -------
    str
        HTML; where memory is limited, the line that says how to lift the limit.
    """
    try:
        drawn = render_svg(chart)
    except InputError as error:
        return f"<p>{escape(str(error))}</p>"
    packed = base64.b64encode(drawn.encode()).decode("ascii")
    return f'<img alt="{escape(label)}" style="max-width: 100%" src="data:image/svg+xml;base64,{packed}">'


def render_page(chart: Chart) -> str:
    """Return a page with the chart and all that draws it; names in the data are text there and cannot be run.

    Parameters
    ----------
    chart : altair chart
        What a result's `plot` returns.
    """
    specification, options = script_json(specify_chart(chart)), script_json(EMBEDDED)
    return PAGE.format(bundle=_bundle_scripts(), specification=specification, options=options)


@cache
def _bundle_scripts() -> str:
    """Vega as one script, in the version that altair writes for; to put it together takes seconds."""
    import altair  # drawing takes long to load

    version = altair.SCHEMA_VERSION.rpartition(".")[0]
    made: str = import_converter().javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=version)
    return made
