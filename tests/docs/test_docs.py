"""The examples in the documentation run, page by page, on files such as they name."""

from __future__ import annotations

import gzip
import re
import shutil
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import make_notebooks
import make_reference
import shardwise as sw

ROOT = Path(__file__).parent.parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
NAME = re.compile(r"`sw\.([A-Za-z_][\w.]*)")
TARGET = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """runs/*.gz, qrels.txt, scores.csv and trec_eval's output, as the examples have them."""
    folder = tmp_path_factory.mktemp("campaign")
    made = sw.simulate.collection(
        topics=12, systems=4, depth=80, corpus=4000, relevant=40, pool_depth=60, seed=1
    )
    made.write(folder)
    for run in (folder / "runs").iterdir():
        with gzip.open(f"{run}.gz", "wb") as packed:
            packed.write(run.read_bytes())
        run.unlink()
    runs = sw.read_collection(folder / "runs", folder / "qrels.txt")
    judged = [line.split() for line in (folder / "qrels.txt").read_text().splitlines()]
    rows = [f"{topic} {1 + i % 2} {doc} {grade}\n" for i, (topic, _, doc, grade) in enumerate(judged)]
    (folder / "diversity-qrels.txt").write_text("".join(rows))
    topics = dict.fromkeys(row[0] for row in judged)
    (folder / "probabilities.txt").write_text("".join(f"{topic} 1 0.7\n{topic} 2 0.3\n" for topic in topics))
    scores = sw.score(runs, "AP")
    sw.write_scores(scores, folder / "scores.csv", layout="wide")
    for name, system in (("bm25", "sys1"), ("qld", "sys2")):  # as trec_eval -q prints them
        values = scores["AP"].sel(system=system).to_series()
        rows = [
            f"{measure}\t{topic}\t{value:.4f}\n"
            for measure in ("map", "P_10")
            for topic, value in values.items()
        ]
        (folder / f"{name}.eval").write_text("".join(rows))
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [page for page in PAGES if BLOCK.search(page.read_text())], ids=lambda page: page.stem
)
def test_examples_run(page: Path, campaign: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(campaign, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in BLOCK.findall(page.read_text()):
        quick = block.replace("repetitions=200", "repetitions=20")  # that it runs, not what it finds
        exec(compile(quick, str(page), "exec"), names)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_names_in_the_text_are_there(page: Path) -> None:
    for dotted in NAME.findall(FENCED.sub("", page.read_text())):
        holder: object = sw
        for step in dotted.rstrip(".").split("."):
            assert hasattr(holder, step), f"{page.name}: sw.{dotted}"
            holder = getattr(holder, step)


@pytest.mark.parametrize(
    "page", [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"], ids=lambda page: page.stem
)
def test_links_and_images_lead_somewhere(page: Path) -> None:
    """The build looks at links between pages, but neither at images nor at pages outside the site."""
    for target in TARGET.findall(FENCED.sub("", page.read_text())):
        if "://" not in target and "docs/reference" not in str((page.parent / target).resolve()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def listed(nav: object) -> Iterator[str]:
    """Pages of a navigation, whatever the depth."""
    if isinstance(nav, str):
        yield nav
    elif isinstance(nav, (list, dict)):
        for part in nav.values() if isinstance(nav, dict) else nav:
            yield from listed(part)


def test_the_navigation_lists_every_page_once() -> None:
    """The build says nothing of a page that is not there, or that nothing leads to."""
    nav = tomllib.loads((ROOT / "zensical.toml").read_text())["project"]["nav"]
    written = [page.name for page in PAGES if page.parent == ROOT / "docs"]
    assert sorted(listed(nav)) == sorted(
        [
            *written,
            *(f"reference/{page}.md" for page in make_reference.pages()),
            *(f"notebooks/{name}.md" for name in make_notebooks.NAMES),
        ]
    )


def test_files_that_contributors_are_sent_to_are_there() -> None:
    named = re.findall(
        r"`([\w./-]+/[\w.-]*)(?: [^`]*)?`", FENCED.sub("", (ROOT / "CONTRIBUTING.md").read_text())
    )
    assert len(named) > 30
    for path in named:
        assert (ROOT / path).exists() or (ROOT / "src" / "shardwise" / path).exists(), path
