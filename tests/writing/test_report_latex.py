"""Tables for the paper: right figures, harmless names, and LaTeX that compiles where there is a LaTeX."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from report_pages import HOSTILE, simulated
from shardwise.analysis.analyze import analyze
from shardwise.core.text import shorten_name
from shardwise.writing.charts import interval_figure
from shardwise.writing.methods import format_bibliography, methods_latex
from shardwise.writing.names import escape_tex
from shardwise.writing.paper import FIGURE, anova_latex, pairs_latex, render_latex, systems_latex
from shardwise.writing.words import shorten_letters

SPECIAL = re.compile(r"(?<!\\)[#$%&_{}~^\\]")


def rows(table: str) -> list[list[str]]:
    """Cells of the body of a table."""
    body = (
        table.split(r"\midrule")[-1].split(r"\bottomrule")[0]
        if "longtable" not in table
        else (table.split(r"\endfoot")[1].split(r"\end{longtable}")[0])
    )
    lines = [line.strip() for line in body.splitlines() if line.strip()]
    assert all(line.endswith(r"\\") for line in lines)
    return [line.removesuffix(r"\\").strip().split(" & ") for line in lines]


def test_systems_with_means_and_marks() -> None:
    content = analyze(simulated(6), method="hsd")
    found = rows(systems_latex(content))
    here, like = content.claims
    assert [cells[1] for cells in found] == list(content.systems)
    for k, (cells, name) in enumerate(zip(found, content.systems, strict=True)):
        mean, low, high = (f"{like.intervals[column][name]:.3f}" for column in ("estimate", "lower", "upper"))
        marks = r"\dag" * (name in like.best_set) + r"\ddag" * (name in here.best_set)
        assert cells[2] == mean + (f"$^{{{marks}}}$" if marks else "")
        ranks = like.pairs.ranks().loc[name]
        best, worst = ranks["rank_best"], ranks["rank_worst"]
        letters = [shorten_letters(claim.letters[k]) for claim in content.distinct_results if claim.letters]
        assert cells[3] == f"{low} to {high}"
        assert cells[4] == (f"{best}--{worst}" if best < worst else f"{best}")
        assert cells[5:] == letters


def test_the_top_group_of_the_moderated_test_is_marked_whole() -> None:
    content = analyze(simulated(20, topics=20), n_resamples=499)
    found = rows(systems_latex(content))
    assert len(content.lead.best_set) > 1
    assert [r"\dag" in cells[2].replace(r"\ddag", "") for cells in found] == [
        name in content.lead.best_set for name in content.systems
    ]
    assert r"Best set (95\% confidence): $\dag$ new topics like these" in systems_latex(content)


def test_all_pairs_or_those_with_the_best() -> None:
    few, many = analyze(simulated(6)), analyze(simulated(60, topics=8, shards=2))
    assert len(rows(pairs_latex(few))) == 15
    shown = rows(pairs_latex(many))
    assert len(shown) == 59
    assert {cells[0] for cells in shown} == {many.systems[0]}
    assert "longtable" in systems_latex(many)
    assert len(rows(systems_latex(many))) == 60


def test_stars_are_the_significant_pairs() -> None:
    content = analyze(simulated(6))
    found = rows(pairs_latex(content))
    for k, claim in enumerate(content.results_in_order):
        assert [cells[3 + k].endswith("$^{*}$") for cells in found] == claim.pairs.reject(0.05).tolist()


def test_anova_has_every_term() -> None:
    content = analyze(simulated(4))
    assert [cells[0] for cells in rows(anova_latex(content))] == list(content.fit.table.index)


@given(st.text(max_size=80))
@example('["*é漢ą"]')
def test_any_name_is_plain_text_in_latex(name: str) -> None:
    shown = escape_tex(name)
    plain = re.sub(r"\\[#$%&_{}]|\\text\w+\{\}|\\ldots\{\}|\$[^$\s]*\$|\{[\[*]\}|~", "", shown)
    assert not SPECIAL.search(plain), shown
    assert not plain.startswith(("[", "*"))
    assert shown.isprintable()


def test_long_names_are_cut_and_still_told_apart() -> None:
    a, b = "x" * 300 + "1", "x" * 300 + "2"
    assert len(shorten_name(a)) == 60
    assert shorten_name(a) != shorten_name(b)


@pytest.mark.parametrize("names", [None, HOSTILE], ids=["plain", "hostile"])
def test_it_compiles(tmp_path: Path, names: list[str] | None) -> None:
    engine = next((found for name in ("tectonic", "pdflatex") if (found := shutil.which(name))), None)
    if engine is None:
        pytest.skip("neither tectonic nor pdflatex is installed")
    content = analyze(simulated(10, names=names).rename("nDCG@10 & <b>"))
    pdf, _ = interval_figure(content)
    (tmp_path / FIGURE).write_bytes(pdf)
    (tmp_path / "tables.tex").write_text(render_latex(content), encoding="utf-8")
    (tmp_path / "methods.tex").write_text(methods_latex(content), encoding="utf-8")
    (tmp_path / "references.bib").write_text(format_bibliography(content), encoding="utf-8")
    (tmp_path / "paper.tex").write_text(
        r"\documentclass{article}\usepackage{booktabs,graphicx,longtable}"
        r"\begin{document}\input{methods}\input{tables}"
        r"\bibliographystyle{plain}\bibliography{references}\end{document}",
        encoding="utf-8",
    )
    quiet = [] if engine.endswith("tectonic") else ["-interaction=nonstopmode", "-halt-on-error"]
    done = subprocess.run(
        [engine, *quiet, "paper.tex"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
