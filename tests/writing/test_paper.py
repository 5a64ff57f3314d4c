"""The files of a paper: superscripts that are true, numbers by name, and TeX without an overfull box."""

from __future__ import annotations

import re
import shutil
import subprocess
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from scipy import stats
from statsmodels.stats.multitest import multipletests

from report_pages import HOSTILE, simulated
from shardwise import Analysis, analyze
from shardwise.analysis.analyze import join_measures
from shardwise.core.errors import InputError
from shardwise.writing.paper import LETTERED, make_paper, numbers_latex, table_latex, write_paper

MEASURES = ("AP", "nDCG@10", "P@10", "Recall@1000", "bpref", "RR")
CLASSES = {
    "article": r"\documentclass{article}",
    "two columns": r"\documentclass[twocolumn]{article}",
    "as acmart": r"\documentclass[9pt,twocolumn]{extarticle}"
    r"\usepackage[textwidth=506pt,textheight=666pt,columnsep=24pt]{geometry}",
}
PAGE = r"""
\usepackage[utf8]{inputenc}\usepackage[T1]{fontenc}\usepackage{booktabs,tabularx,graphicx}
\input{numbers}
\begin{document}
\input{methods}
\sw{topics} topics, \sw{found/AP} of \sw{pairs/AP} pairs.
\input{uses}
\input{table}
\begin{figure}\includegraphics{figure}\end{figure}
\bibliographystyle{plain}\bibliography{refs}
\end{document}
"""


def scores(systems: int, seed: int = 1, names: list[str] | None = None) -> xr.DataArray:
    return simulated(systems, topics=40, shards=1, names=names, seed=seed).isel(shard=0, drop=True)


def analyses(
    systems: int, measures: int, names: list[str] | None = None, baseline: object = None
) -> list[Analysis]:
    tables = (scores(systems, 1 + k, names).rename(name) for k, name in enumerate(MEASURES[:measures]))
    return [analyze(table, method="t holm", baseline=baseline) for table in tables]


def rows(text: str) -> dict[str, list[str]]:
    """Cells of each system of a table whose names are plain."""
    found = {}
    for line in text.replace(r"\allowbreak{}", "").splitlines():
        name = re.search(r"run\d+", line)
        if name and "&" in line:
            found[name[0]] = [cell.strip() for cell in line.split("&")[1:]]
    return found


def holm(table: xr.DataArray, pairs: list[tuple[str, str]]) -> dict[tuple[str, str], int]:
    """Signs of the pairs that Holm's correction of scipy's paired t-tests tells apart."""
    y = {str(name): table.sel(system=name).to_numpy() for name in table["system"].values}
    p = [stats.ttest_rel(y[a], y[b]).pvalue for a, b in pairs]
    told = multipletests(p, 0.05, method="holm")[0]
    signs = [int(np.sign(y[a].mean() - y[b].mean())) for a, b in pairs]
    return {pair: sign * int(yes) for pair, sign, yes in zip(pairs, signs, told, strict=True)}


def test_superscripts_name_whom_a_system_beats() -> None:
    found = analyses(8, 2)
    table = rows(table_latex(join_measures(*found)))
    order = found[0].systems
    for m in range(2):
        told = holm(scores(8, 1 + m), list(combinations(order, 2)))
        for name, cells in table.items():
            written = re.findall(r"textsuperscript\{([^}]*)\}", cells[m])
            letters = set()
            for a, b in re.findall(r"([a-h])(?:--([a-h]))?", written[0] if written else ""):
                letters |= {chr(c) for c in range(ord(a), ord(b or a) + 1)}
            beaten = {b for (a, b), sign in told.items() if a == name and sign > 0}
            beaten |= {a for (a, b), sign in told.items() if b == name and sign < 0}
            assert letters == {chr(ord("a") + order.index(other)) for other in beaten}
    assert sum(r"\textbf" in cells[0] for cells in table.values()) == 1
    assert r"\textbf" in table[order[0]][0]


def test_against_baselines_above_and_below() -> None:
    bases = ("run004", "run009")
    (found,) = analyses(20, 1, baseline=bases)
    table = rows(table_latex(found))
    pairs = [(name, "run004") for name in table if name != "run004"]
    pairs += [(name, "run009") for name in table if name not in bases]
    told = holm(scores(20), pairs)
    for sign, place in ((1, "superscript"), (-1, "subscript")):
        for k, base in enumerate(bases):
            own = {name for (name, other), s in told.items() if other == base and s == sign}
            own |= {b for (a, b), s in told.items() if a == base and s == -sign}
            mark = re.compile(rf"text{place}\{{[^}}]*{'ab'[k]}")
            assert own == {name for name, (cell,) in table.items() if mark.search(cell)}, (base, place)
    assert "significantly worse than" in table_latex(found)


def test_of_many_systems_superscripts_are_counts() -> None:
    (found,) = analyses(LETTERED + 1, 1)
    wins = (found.lead.direction_matrix(found.systems) > 0).sum(axis=1)
    table = rows(table_latex(found))
    for name, n in zip(found.systems, wins, strict=True):
        written = re.findall(r"textsuperscript\{(\d+)\}", table[name][0])
        assert written == ([str(n)] if n else [])


@pytest.mark.parametrize(("systems", "measures"), [(3, 1), (42, 2), (43, 2), (126, 6)])
def test_every_system_and_measure_stands_once(systems: int, measures: int) -> None:
    text = table_latex(join_measures(*analyses(systems, measures))).replace(r"\allowbreak{}", "")
    lines = [line for line in text.splitlines() if re.search(r"run\d+ &", line)]
    assert sum(line.count("&") for line in lines) == systems * measures
    assert text.count(r"\label{tab:sw}") == 1
    assert (r"\begin{table*}" in text) == (systems > 42 or measures > 3)


def test_numbers_have_names() -> None:
    found = analyses(4, 2)
    said = dict(
        re.findall(
            r"csname sw@(\S+?)\\endcsname\{(.*)\}$", numbers_latex(join_measures(*found)), re.MULTILINE
        )
    )
    assert said["systems"] == "4"
    assert said["pairs/nDCG@10"] == "6"
    mean = scores(4).sel(system="run002").mean().item()
    assert said["mean/run002/AP"] == f"{mean:.{found[0].decimals}f}"
    told = holm(scores(4), list(combinations(found[0].systems, 2)))
    assert said["found/AP"] == str(sum(map(abs, told.values())))
    assert {"p/run003/run000/AP", "difference/run003/run000/AP", "ranks/run001/nDCG@10"} <= set(said)
    # every difference, either way round, as the text of the answer has it
    frame = found[0].comparisons.to_frame()
    d = found[0].decimals
    for row in frame.itertuples():
        for a, b, sign in ((row.a, row.b, 1.0), (row.b, row.a, -1.0)):
            shown = re.sub(r"\\ensuremath\{(.*?)\}", r"\1", said[f"difference/{a}/{b}/AP"])
            assert float(shown) == pytest.approx(sign * row.difference, abs=0.51 * 10**-d)
            ends = re.sub(r"\\ensuremath\{(.*?)\}", r"\1", said[f"interval/{a}/{b}/AP"]).split(" to ")
            limits = sorted([sign * row.lower, sign * row.upper])
            assert [float(end.lstrip("<>")) for end in ends] == pytest.approx(limits, abs=0.51 * 10**-d)


def test_of_many_pairs_those_of_the_answer_have_names() -> None:
    (found,) = analyses(40, 1)
    text = numbers_latex(found)
    bases = set(re.findall(r"csname sw@difference/run\d+/(run\d+)/AP", text))
    lead = found.lead
    assert bases == {lead.best, next((name for name in lead.names if name not in lead.best_set), lead.best)}


def test_the_software_is_cited() -> None:
    (found,) = analyses(3, 1)
    files = {
        file.name: file.content.decode() for file in make_paper(found) if not file.name.startswith("figure")
    }
    version = found.versions["shardwise"]
    assert f"\\texttt{{shardwise}} {version}~\\cite{{shardwise}}." in files["methods.tex"]
    assert "@misc{shardwise," in files["refs.bib"]
    assert f"version {version}" in files["refs.bib"]
    assert re.search(r"difference of [\d.]+ in AP between two systems", files["methods.tex"])
    assert "corrected for all pairs" in files["methods.tex"]
    (against,) = analyses(3, 1, baseline="run001")
    methods = next(file.content.decode() for file in make_paper(against) if file.name == "methods.tex")
    assert "corrected as for all pairs" in methods
    assert "all 3 pairs" not in methods


def test_numbers_stand_in_text_and_in_mathematics() -> None:
    """What is a relation, a sign or a separator is right in both modes; p-values bring their relation."""
    text = numbers_latex(analyze(scores(4).rename("AP")))
    said = dict(re.findall(r"csname sw@(\S+?)\\endcsname\{(.*)\}$", text, re.MULTILINE))
    bounded = [value for name, value in said.items() if name.startswith("p/")]
    assert r"\ensuremath{p \le 0.0001}" in bounded
    assert all(re.fullmatch(r"\\ensuremath\{p (=|<|\\le) [\d.]+\}", value) for value in bounded)
    for name, value in said.items():
        if name.startswith("pvalue/"):
            assert said[name.replace("pvalue", "p", 1)].endswith(value.removeprefix(r"\ensuremath{"))
        if name.startswith(("lower/", "upper/", "mean/", "difference/")):
            assert re.fullmatch(r"[\d.]+|\\ensuremath\{-[\d.]+\}", value)
        if name.startswith("ranks/"):
            assert re.fullmatch(r"\d+|\\mbox\{\d+--\d+\}", value)
        assert not re.search("[–−≤≥]", value)


@pytest.mark.parametrize("baseline", [None, "run001", ("run001", "run003")])
@pytest.mark.parametrize("systems", [4, 20])
def test_the_figure_is_a_forest_for_a_column(systems: int, baseline: object) -> None:
    names = (
        [f"a-long-name-of-a-run/{k:03d}/of-which-many-are-alike" for k in range(systems)]
        if systems > 4
        else None
    )
    if names is not None and baseline is not None:
        baseline = names[1] if isinstance(baseline, str) else (names[1], names[3])
    (found,) = analyses(systems, 1, names, baseline)
    figure = {file.name: file.content for file in make_paper(found)}
    width = float(re.findall(rb"MediaBox ?\[0 0 ([\d.]+) ", figure["figure.pdf"])[0])
    assert 200.0 <= width <= 230.0
    svg = figure["figure.svg"].decode()
    sizes = [float(size) for size in re.findall(r'font-size="([\d.]+)px"', svg)]
    assert min(sizes) >= 7.0
    assert "stroke-dasharray" in svg
    # a row for each comparison, and none that is empty
    bases = found.baselines or (found.systems[0],)
    pairs = found.comparisons.to_frame()
    rows = sum(((pairs["a"] == base) | (pairs["b"] == base)).sum() for base in bases)
    labels = [text for text in re.findall(r"<text[^>]*>([^<]*)</text>", svg) if re.match(r"run\d|a-l", text)]
    assert len(labels) == rows
    assert len(set(labels)) == len(found.systems) - (len(bases) == 1)


def test_refusals() -> None:
    with pytest.raises(InputError, match="3 columns"):
        make_paper(*analyses(3, 1), columns=3)
    with pytest.raises(InputError, match="other systems or baselines"):
        join_measures(*analyses(3, 1), *analyses(4, 1))


def test_an_analysis_writes_its_paper(tmp_path: Path) -> None:
    (found,) = analyses(4, 1, baseline="run001")
    found.paper(tmp_path / "paper")
    files = {path.name: path for path in (tmp_path / "paper").iterdir()}
    assert set(files) == {"table.tex", "figure.pdf", "figure.svg", "methods.tex", "refs.bib", "numbers.tex"}
    assert files["figure.pdf"].read_bytes().startswith(b"%PDF")
    assert "We compared all systems against run001" in files["methods.tex"].read_text()


@pytest.mark.slow
@pytest.mark.skipif(
    shutil.which("pdflatex") is None or shutil.which("kpsewhich") is None,
    reason="no LaTeX (apt-get install texlive-latex-extra texlive-fonts-recommended)",
)
@pytest.mark.parametrize(
    ("systems", "measures", "names", "baseline", "columns"),
    [
        (6, 2, None, None, None),
        (12, 6, None, None, None),
        (12, 6, None, None, 1),
        (20, 3, None, ("run003", "run010"), None),
        (126, 2, None, None, None),
        (len(HOSTILE), 2, HOSTILE, HOSTILE[0], None),
    ],
)
def test_latex_without_an_overfull_box(
    systems: int,
    measures: int,
    names: list[str] | None,
    baseline: object,
    columns: int | None,
    tmp_path: Path,
) -> None:
    if not subprocess.run(["kpsewhich", "extarticle.cls"], capture_output=True, check=False).stdout:
        pytest.skip("LaTeX lacks extsizes (apt-get install texlive-latex-extra)")
    write_paper(tmp_path, join_measures(*analyses(systems, measures, names, baseline)), columns=columns)
    # every number in text and in mathematics
    keys = re.findall(r"csname sw@(\S+?)\\endcsname\{", (tmp_path / "numbers.tex").read_text())
    uses = "\n".join(rf"\sbox0{{\sw{{{key}}} $\sw{{{key}}}$}}%" for key in keys)
    (tmp_path / "uses.tex").write_text(uses, encoding="utf-8")
    for name, opening in CLASSES.items():
        (tmp_path / "main.tex").write_text(opening + PAGE, encoding="utf-8")
        once = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "main.tex"]
        for line in (once, ["bibtex", "main"], once, once):
            done = subprocess.run(
                line, cwd=tmp_path, capture_output=True, text=True, errors="replace", check=False
            )
            assert done.returncode == 0, (name, done.stdout[-2000:])
        log = (tmp_path / "main.log").read_text(errors="replace")
        assert not re.findall(r"^(?:Overfull|!).*|.*Float too large.*|.*undefined.*", log, re.MULTILINE), name
