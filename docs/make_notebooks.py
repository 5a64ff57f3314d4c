"""The notebooks, one a reader as the start page has them: run by a real kernel, and pages of the site made of them.

``python docs/make_notebooks.py`` runs them all and keeps what they show; a test runs them and compares. With
``--pages`` nothing is run: ``docs/notebooks/*.md`` is written, as ``make docs`` does before it builds the site.
"""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "notebooks"
SOURCE = Path(__file__).parent.parent / "src"
NAMES = sorted(path.stem for path in FOLDER.glob("*.ipynb"))
FORGET = "%reset -f"  # between two notebooks: one kernel is enough for all
IMAGE = re.compile(r'src="data:[^"]*"')
LONG = re.compile(r"\d+\.\d{10,}(?:e[+-]?\d+)?")
STYLE = "<style>.dataframe th, .dataframe td { padding: .1em .6em; border: 0; }</style>"
Cell = dict[str, Any]


def stored(name: str) -> dict[str, Any]:
    """Return a notebook as it is kept."""
    found: dict[str, Any] = json.loads((FOLDER / f"{name}.ipynb").read_text("utf-8"))
    return found


def executed() -> dict[str, list[Cell]]:
    """Return the cells of all notebooks by name, as they are after a run from top to bottom."""
    import nbformat  # pages are made without
    from nbclient import NotebookClient

    cells = [cell for name in NAMES for cell in (_code(FORGET), *stored(name)["cells"])]
    together = nbformat.from_dict({**stored(NAMES[0]), "cells": cells})  # type: ignore[no-untyped-call]
    client = NotebookClient(
        together, timeout=120, coalesce_streams=True, resources={"metadata": {"path": str(FOLDER)}}
    )
    client.execute(env={**os.environ, "PYTHONPATH": str(SOURCE)})
    found: dict[str, list[Cell]] = {}
    for cell in together["cells"]:
        if cell["source"] == FORGET:
            own = found.setdefault(NAMES[len(found)], [])
        else:
            own.append(_kept(cell))
    for own in found.values():
        for k, cell in enumerate((cell for cell in own if cell["cell_type"] == "code"), start=1):
            cell["execution_count"] = k
    return found


def _code(text: str) -> Cell:
    return {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": text}


def _kept(cell: Cell) -> Cell:
    """A cell without what differs from run to run."""
    outputs = [
        {**one, "execution_count": None} if "execution_count" in one else one
        for one in cell.get("outputs", [])
    ]
    own = {**cell, "metadata": {}}
    return own | {"outputs": outputs} if cell["cell_type"] == "code" else own


def shown(cell: Cell) -> list[str]:
    """Return what a cell shows, in words: printed text, or else the best form of a result, without its pictures.

    Numbers keep ten digits: the last ones are rounding's, which differs between machines.
    """
    texts = [IMAGE.sub("", _best(one)) for one in cell.get("outputs", [])]
    return [LONG.sub(lambda number: f"{float(number[0]):.10g}", text) for text in texts]


def _best(output: Cell) -> str:
    data = output.get("data", {"text/plain": output.get("text", "")})
    text = data.get("text/html", data.get("text/plain", ""))
    return "".join(text)


def page(name: str) -> str:
    """Return a notebook as a page of the site: text, code, and what it shows."""
    parts = []
    for cell in stored(name)["cells"]:
        text = "".join(cell["source"])
        parts.append(text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```")
        for one in cell.get("outputs", []):
            html = "text/html" in one.get("data", {})
            parts.append(_best(one) if html else f"```text\n{_best(one).rstrip()}\n```")
    return "\n\n".join([*parts, f"*[This page as a notebook]({name}.ipynb)*", STYLE]) + "\n"


def main() -> None:
    """Run the notebooks and keep what they show, or write the pages."""
    if sys.argv[1:] == ["--pages"]:
        for name in NAMES:
            (FOLDER / f"{name}.md").write_text(page(name), "utf-8")
        return
    for name, cells in executed().items():
        text = json.dumps({**stored(name), "cells": cells}, indent=1, ensure_ascii=False)
        (FOLDER / f"{name}.ipynb").write_text(f"{text}\n", "utf-8")
        sys.stdout.write(f"{name}\n")


if __name__ == "__main__":
    main()
