"""The notebooks: run from top to bottom by a real kernel, they show what they are kept with."""

from __future__ import annotations

import pytest

import make_notebooks
import make_start
from generated import STALE


def test_every_reader_has_one() -> None:
    page = make_start.START.read_text()
    assert sorted(make_start.sections(page)) == make_notebooks.NAMES
    assert all(f"(notebooks/{name}.ipynb)" in page for name in make_notebooks.NAMES)


@pytest.mark.slow
def test_they_show_what_they_are_kept_with() -> None:
    fresh = make_notebooks.executed()
    for name in make_notebooks.NAMES:
        kept = make_notebooks.stored(name)["cells"]
        assert [cell["source"] for cell in fresh[name]] == [cell["source"] for cell in kept]
        for new, old in zip(fresh[name], kept, strict=True):
            assert make_notebooks.shown(new) == make_notebooks.shown(old), (
                f"docs/notebooks/{name}.ipynb {STALE}: {old['source']}"
            )


@pytest.mark.parametrize("name", make_notebooks.NAMES)
def test_a_page_has_code_and_what_it_shows(name: str) -> None:
    page = make_notebooks.page(name)
    for cell in make_notebooks.stored(name)["cells"]:
        assert "".join(cell["source"]) in page
        if cell["cell_type"] == "code":
            assert cell["outputs"], "every cell shows something"
    assert page.count('src="data:image/svg+xml;base64,') >= 1
    assert "http" not in page.replace("http://www.w3.org", ""), "nothing is fetched"
