"""Several measures of the same systems: one answer, one table, the same figures everywhere; one family where asked."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import shardwise as sw
from command_line import shardwise
from shardwise.analysis.analysis import Analysis
from shardwise.analysis.measures import find_unbeaten, tabulate_measures
from shardwise.core.errors import InputError
from shardwise.methods.moderated.statistics import moderated_statistics
from shardwise.writing.html import render_report
from shardwise.writing.methods import methods_text
from shardwise.writing.notebook import answer_html
from shardwise.writing.numbers import format_number
from shardwise.writing.tables import explain_measures

MEASURES = ("quality", "f1", "cost")
DRAWS = 999


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Answers of four models to 40 questions: c is cheap, a is good, d is bad and dear, b is between."""
    rng = np.random.default_rng(8)
    path = tmp_path_factory.mktemp("measures") / "answers.csv"
    rows = []
    for q in range(40):
        hard = rng.normal(0.0, 0.1)
        for name, quality, cost in (("a", 0.8, 3.0), ("b", 0.7, 2.0), ("c", 0.55, 1.0), ("d", 0.5, 3.5)):
            score = quality + hard + rng.normal(0.0, 0.12)
            rows.append(
                {"question": f"q{q}", "model": name, "quality": score, "f1": 0.6 * score + rng.normal(0.0, 0.1),
                 "cost": cost * np.exp(rng.normal(0.0, 0.2)), "kind": "xy"[q % 2]}
            )  # fmt: skip
    pd.DataFrame(rows).round(4).to_csv(path, index=False)
    return path


def analyze(file: Path, **choices: object) -> Analysis:
    return sw.analyze(str(file), measure=list(MEASURES), n_resamples=DRAWS, **choices)


def test_each_measure_is_as_by_itself(file: Path) -> None:
    found = analyze(file)
    assert [each.measure for each in found.each] == list(MEASURES)
    assert found.comparisons is found.each[0].comparisons
    for each in found.each:
        alone = sw.analyze(str(file), measure=each.measure, n_resamples=DRAWS)
        pd.testing.assert_frame_equal(each.comparisons.to_frame(), alone.comparisons.to_frame())
    assert [each.comparisons.lower_is_better for each in found.each] == [False, False, True]


def draw_by_hand(file: Path, measures: tuple[str, ...], n: int) -> tuple[np.ndarray, np.ndarray]:
    """|t| of all pairs and measures, and those of resampled questions, from the definition of the moderated t."""
    table = pd.read_csv(file)
    ia, ib = np.triu_indices(4, 1)
    t, drawn = [], np.empty((n, 0))
    for measure in measures:
        y = table.pivot(index="question", columns="model", values=measure).to_numpy()
        t.append(np.abs(moderated_statistics(y, ia, ib).t))
        centred = y - y.mean(axis=0)
        rng = np.random.default_rng(3)
        rows = []
        for _ in range(n):
            part = centred[rng.integers(len(y), size=len(y))]
            rows.append(np.abs(moderated_statistics(part, ia, ib).t))
        drawn = np.hstack([drawn, np.array(rows)])
    return np.concatenate(t), drawn


def test_the_joint_family_is_that_of_all_pairs_and_measures(file: Path) -> None:
    """Against resamples drawn and stepped down in plain numpy, whose seed is another one."""
    pair = ("quality", "f1")
    found = sw.analyze(str(file), measure=pair, joint=True, n_resamples=9_999)
    t, drawn = draw_by_hand(file, pair, 2_000)
    ours = {}
    for each in found.each:
        for row in each.comparisons.to_frame().itertuples():
            ours[each.measure, *sorted((row.a, row.b))] = row.p_adjusted
    names = "abcd"
    keys = [(m, names[i], names[j]) for m in pair for i, j in zip(*np.triu_indices(4, 1), strict=True)]
    order = np.argsort(-t)
    largest = 0.0
    for rank, k in enumerate(order):
        p = (1 + (drawn[:, order[rank:]].max(axis=1) >= t[k]).sum()) / 2_001
        largest = max(largest, p)
        # four standard errors of 2,000 resamples
        assert ours[keys[k]] == pytest.approx(
            largest, abs=4 * (largest * (1 - largest) / 2_000) ** 0.5 + 1e-3
        )
    critical = np.quantile(drawn.max(axis=1), 0.95)
    row = found.comparisons.to_frame().iloc[0]
    assert (row["upper"] - row["difference"]) / row["se"] == pytest.approx(critical, rel=0.06)


def test_a_joint_family_is_never_less_careful(file: Path) -> None:
    alone, joint = analyze(file), analyze(file, joint=True)
    for one, all_ in zip(alone.each, joint.each, strict=True):
        first, second = one.comparisons.to_frame(), all_.comparisons.to_frame()
        assert (second["p_adjusted"] >= first["p_adjusted"] - 1e-12).all()
        assert (second["upper"] >= first["upper"] - 1e-12).all()
        np.testing.assert_array_equal(first["p"], second["p"])
    assert "all 18 pairs of 3 measures corrected (family-wise error 5%)" in str(joint)
    assert "not across them" in str(alone)
    assert "not across them" not in str(joint)


@pytest.mark.parametrize("method", ["t holm", "wilcoxon holm", "MD1 hsd topic"])
def test_other_methods_step_over_measures(file: Path, method: str) -> None:
    """Holm's steps over measures: with nothing to step over, p-values times the number of measures."""
    alone, joint = (analyze(file, method=method, joint=joint) for joint in (False, True))
    before = np.array([each.comparisons.p_adjusted for each in alone.each])
    after = np.array([each.comparisons.p_adjusted for each in joint.each])
    assert (after <= np.minimum(3.0 * before, 1.0) + 1e-12).all()
    assert (after >= before - 1e-12).all()
    assert "by Holm's steps over measures" in str(joint)


def test_what_joint_refuses(file: Path) -> None:
    with pytest.raises(InputError, match="no effect with one measure"):
        sw.analyze(str(file), measure="f1", joint=True)
    with pytest.raises(InputError, match="no effect on slices"):
        analyze(file, joint=True, by="kind")
    with pytest.raises(InputError, match="does not control the family-wise error"):
        analyze(file, joint=True, method="t bh")


def test_whom_no_system_beats_on_both(file: Path) -> None:
    """By hand: d is worse than a on quality and than c on cost, but only b and c beat it on both."""
    found = sw.analyze(str(file), measure=["quality", "cost"], n_resamples=DRAWS)
    better = {}
    for each in found.each:
        frame = each.comparisons.to_frame()
        better[each.measure] = {(r.a, r.b) for r in frame[frame["p_adjusted"] <= 0.05].itertuples()}
    both = better["quality"] & better["cost"]
    assert set(find_unbeaten(found)) == set("abcd") - {b for _, b in both} == {"a", "b", "c"}
    assert "Not significantly beaten on both quality and cost: a, b and c." in str(found)
    # two benefits, or a baseline, where not all pairs were compared
    assert find_unbeaten(sw.analyze(str(file), measure=["quality", "f1"])) == ()
    assert find_unbeaten(sw.analyze(str(file), measure=["quality", "cost"], baseline="a")) == ()


@pytest.mark.parametrize("joint", [False, True])
@pytest.mark.parametrize("baseline", [None, "b"])
def test_every_surface_has_the_same_figures(
    file: Path, tmp_path: Path, joint: bool, baseline: str | None
) -> None:
    found = analyze(file, joint=joint, baseline=baseline)
    marks = {"better": " ▲", "worse": " ▼"}
    cells = {
        (row.system, row.measure): format_number(row.mean, each.decimals) + marks.get(row.verdict, "")
        for each in found.each
        for row in tabulate_measures(found).itertuples()
        if row.measure == each.measure
    }
    words = ["compare", str(file), *(f"-m{name}" for name in MEASURES), *["--joint"] * joint, "--seed", "0"]
    words += ["--baseline", baseline] if baseline else []
    # the method's own number of resamples: figures are compared with those of one analysis of the command
    full = sw.analyze(str(file), measure=list(MEASURES), joint=joint, baseline=baseline, seed=0)
    text = shardwise(*words).stdout
    assert str(full).split("\n")[0] == text.split("\n")[0]
    for line in str(full).split("\n"):
        if line.startswith(("By ", "Applies")):
            assert line in text
    for (system, measure), cell in cells.items():
        if measure != MEASURES[0] and system != baseline:
            row = next(line for line in text.split("\n") if re.match(rf"{system} +[\d−]", line))
            assert cell in row
    record = json.loads(shardwise(*words, "--format", "json").stdout)
    assert record["joint"] is joint
    for row in record["by_measure"]:
        assert format_number(row["mean"], 9) == format_number(
            float(
                tabulate_measures(full)
                .set_index(["measure", "system"])
                .loc[(row["measure"], row["system"]), "mean"]
            ),
            9,
        )
    pairs = {(row["measure"], row["a"], row["b"]): row["p_adjusted"] for row in record["rows"]}
    for each in full.each:
        for row in each.comparisons.to_frame().itertuples():
            assert pairs[each.measure, row.a, row.b] == pytest.approx(row.p_adjusted, abs=1e-12)
    csv = pd.read_csv(pd.io.common.StringIO(shardwise(*words, "--format", "csv").stdout))
    assert csv["p_adjusted"].tolist() == [row["p_adjusted"] for row in record["rows"]]
    page, notebook = render_report(full), answer_html(full)
    # what the marks mean is said where they are
    assert explain_measures(full) in page
    assert explain_measures(full) in notebook
    markdown = shardwise(*words, "--format", "markdown").stdout
    latex = shardwise(*words, "--format", "latex").stdout
    for (_, measure), cell in cells.items():
        assert f">{cell}<" in page
        # a board has ranks and groups of the first measure
        assert (cell if baseline or measure != MEASURES[0] else cell.split(" ")[0]) in notebook
        assert f"| {cell} |" in markdown
        assert cell.split(" ")[0] in latex
    report = tmp_path / "report.html"
    shardwise(*words, "--report", str(report), "--calibration", "0", "-q")
    for line in str(full).split("\n"):
        if line.startswith("By "):
            assert line.split(" CI ")[0] in report.read_text()


def test_best_bold_and_ties_underlined(file: Path) -> None:
    from shardwise.writing.paper import table_latex

    found = analyze(file)
    text = table_latex(found)
    for each in found.each:
        best = format_number(float(each.lead.intervals["estimate"][each.lead.best]), each.decimals)
        assert rf"\textbf{{{best}}}" in text
        for name in each.lead.best_set[1:]:
            mean = format_number(float(each.lead.intervals["estimate"][name]), each.decimals)
            assert rf"\underline{{{mean}}}" in text
    ties = any(len(each.lead.best_set) > 1 for each in found.each)
    assert ("tied with it underlined" in text) is ties


@pytest.mark.parametrize(
    ("format", "heads"),
    [
        ("markdown", ("| model | quality | cost |", "| kind | n | a | b | c | d |")),
        ("latex", (r"\label{tab:sw}", r"\label{tab:slices}")),
    ],
)
def test_measures_and_slices_are_two_tables_of_one_file(
    file: Path, format: str, heads: tuple[str, str]
) -> None:
    done = shardwise(
        "compare",
        file,
        "-m",
        "quality",
        "-m",
        "cost",
        "--by",
        "kind",
        "--format",
        format,
        "--resamples",
        "999",
    )
    assert done.returncode == 0, done.stderr
    first, second = (done.stdout.index(head) for head in heads)
    assert first < second


def test_a_measure_that_is_shown_is_not_left_out(file: Path) -> None:
    done = shardwise("compare", file, "-m", "quality", "-m", "cost", "--resamples", "999")
    (read_as,) = [line for line in done.stdout.splitlines() if line.startswith("read as")]
    assert "scores: quality, cost" in read_as
    assert "cost (" not in read_as
    assert read_as.endswith("lower is better: cost")


def test_the_paragraph_says_that_measures_are_one_family(file: Path) -> None:
    alone, joint, steps = (
        methods_text(analyze(file, **how))
        for how in ({}, {"joint": True}, {"joint": True, "method": "t holm"})
    )
    assert "all 6 pairs of models with moderated" in alone
    assert "all 18 pairs of models by 3 measures together, with moderated" in joint
    assert "stepping over measures by Holm's method" in steps
    assert "stepping" not in joint
