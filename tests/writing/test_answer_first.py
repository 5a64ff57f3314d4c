"""The first line of every surface is the answer, and it agrees with every table, letter, rank range and best set."""

from __future__ import annotations

import html as entities
import json
import re
import shlex
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import shardwise as sw
from command_line import shardwise
from report_pages import Text, seeds, simulated
from shardwise.analysis.analysis import Analysis
from shardwise.analysis.analyze import analyze
from shardwise.writing.answer import write_answer, write_next_step, write_pairs, write_repeats, write_scope
from shardwise.writing.downloads import report_json, systems_frame
from shardwise.writing.html import render_report
from shardwise.writing.tables import explain_leaderboard, tabulate_baselines, tabulate_systems

SAMPLES = 199
LONGEST = 28
PATTERNS = {
    "better": r"(?:All )?(\d+|Both)(?: of \d+)? systems are significantly better",
    "worse": r"(\d+) are significantly worse",
    "tied": r"(\d+) (?:is|are) tied",
}


def make_people() -> xr.DataArray:
    """A judge's scores of all items, and people's of a quarter of them."""
    rng = np.random.default_rng(8)
    human = rng.normal([0.6, 0.5, 0.2], 0.1, (120, 3))
    judge = human + rng.normal(0.05, 0.05, human.shape)
    human[30:] = np.nan
    table = xr.DataArray(judge, dims=("topic", "system"), coords={"system": list("abc")}, name="quality")
    return table.assign_coords(human=(("topic", "system"), human))


def make_clusters(systems: int) -> xr.DataArray:
    """Questions in passages."""
    table = simulated(systems, topics=60).mean("shard")
    return table.assign_coords(cluster=("topic", np.repeat(np.arange(15), 4)))


def make_table(layout: str) -> tuple[xr.DataArray, dict[str, object]]:
    """Scores and options of one row of the grid."""
    kind, _, rest = layout.partition(" ")
    systems = int(rest) if rest.isdecimal() else 4
    equal = xr.DataArray(
        np.random.default_rng(3).normal(0.5, 0.1, (30, 5)), dims=("topic", "system"), name="AP"
    )
    tables: dict[str, tuple[xr.DataArray, dict[str, object]]] = {
        "plain": (simulated(systems, topics=30).mean("shard"), {}),
        "shards": (simulated(systems, topics=20, shards=3), {}),
        "splits": (simulated(systems, topics=20, shards=3, splits=3), {}),
        "seeds": (seeds(systems), {}),
        "samples": (seeds(systems), {"repeats": "samples"}),
        "clusters": (make_clusters(systems), {}),
        "people": (make_people(), {}),
        "ties": (equal, {}),
        "baseline": (simulated(6, topics=30).mean("shard"), {"baseline": "run002"}),
        "baselines": (simulated(6, topics=30).mean("shard"), {"baseline": ["run002", "run004"]}),
        "discovery": (simulated(5, topics=30).mean("shard"), {"method": "moderated bh"}),
        "uncorrected": (simulated(5, topics=30).mean("shard"), {"method": "t none"}),
        "hsd": (simulated(6, topics=20, shards=3), {"method": "hsd"}),
    }
    return tables[kind]


GRID = (
    *(
        "plain 2",
        "plain 3",
        "plain 12",
        "shards 2",
        "shards 5",
        "splits 3",
        "seeds 2",
        "seeds 3",
        "samples 3",
    ),
    *(
        "clusters 2",
        "clusters 4",
        "people",
        "ties",
        "baseline",
        "baselines",
        "discovery",
        "uncorrected",
        "hsd",
    ),
)


@cache
def analysed(layout: str) -> Analysis:
    table, options = make_table(layout)
    return analyze(table, n_resamples=SAMPLES, **options)


@pytest.mark.parametrize("layout", GRID)
def test_every_surface_begins_with_the_answer(layout: str) -> None:
    analysis = analysed(layout)
    answer, scope = write_answer(analysis), write_scope(analysis)
    assert str(analysis).splitlines()[:2] == [answer, scope]
    assert report_json(analysis)["answer"] == answer
    shown = Text(render_report(analysis)).shown
    first = next(k for k, text in enumerate(shown) if text == answer)
    # above it only the title of the window, the link to skip to it, the title, and the line of data set and date
    assert first == 4
    assert shown[first + 1] == scope
    notebook = entities.unescape(analysis._repr_html_())
    assert re.findall(r"<p>(.*?)</p>", notebook)[:2] == [f"<strong>{answer}</strong>", scope]
    if not analysis.baselines:
        board = analysis.leaderboard()
        assert str(board).splitlines()[:2] == [answer, scope]
        page = entities.unescape(board.to_html())
        assert f'<p class="sw-answer">{answer}</p>' in page
        assert page.index(answer) < page.index("<table")


@pytest.mark.parametrize("layout", GRID)
def test_the_answer_agrees_with_every_table(layout: str) -> None:
    analysis = analysed(layout)
    lead, answer = analysis.lead, write_answer(analysis)
    if len(lead.pairs) == 1:
        row = lead.pairs.to_frame(1.0 - analysis.alpha).iloc[0]
        assert ("significantly better" in answer) == bool(row["p_adjusted"] <= analysis.alpha)
        assert ("tied" in answer) != ("significantly better" in answer)
        assert f"{abs(row['difference']):.{analysis.decimals}f}" in answer
        return
    if analysis.baselines:
        frame = tabulate_baselines(lead.pairs, analysis.baselines, analysis.alpha)
        for base, sentence in zip(analysis.baselines, re.split(r"(?<=\.) (?=[A-Z0-9])", answer), strict=True):
            rows = frame[frame["baseline"] == base] if "baseline" in frame else frame
            counts = rows["verdict"].value_counts()
            for word, pattern in PATTERNS.items():
                said = re.search(pattern, sentence)
                named = re.search(rf"run\d+ is significantly {word}", sentence)
                number = int(said[1].replace("Both", "2")) if said else int(bool(named))
                assert number == counts.get(word, 0), sentence
        return
    best = lead.pairs.best(analysis.alpha)
    table = pd.DataFrame(tabulate_systems(lead.pairs, analysis.alpha)).set_index("system")
    assert set(table.index[table["rank_best"] == 1]) == set(best)
    if "group" in table:
        letters = [set(table.loc[name, "group"]) for name in best]
        assert set.intersection(*letters), "tied systems share a letter"
    frame = systems_frame(analysis).set_index("system")
    assert set(frame.index[frame[f"top_{lead.key}"]]) == set(best)
    assert list(table["rank_best"]) == list(frame[f"rank_best_{lead.key}"])
    board = analysis.leaderboard().table.set_index("system")
    pd.testing.assert_frame_equal(
        board[["mean", "lower", "upper", "rank_best", "rank_worst"]],
        table[["mean", "lower", "upper", "rank_best", "rank_worst"]],
        check_names=False,
    )
    if len(best) == len(table):
        assert answer.startswith(f"No winner: all {len(table)} ")
    elif len(best) == 1:
        assert re.match(
            rf"Best: {best[0]} \([^()]*\)\. It is significantly better than the runner-up, ", answer
        )
    elif len(best) <= 3:
        names = re.findall(r"(\S+) \((?:\S+ )?\d\.\d+\)", answer.split(", tied")[0])
        assert tuple(names) == best
    else:
        assert f"tied with {len(best) - 1} others" in answer
    if len(best) < len(table):
        winner, loser, gain = re.search(
            r"(\S+) is significantly better than (\S+) \(([+−][\d.]+)",
            answer.replace("It is", f"{best[0]} is").replace("the runner-up, ", ""),
        ).groups()  # type: ignore[union-attr]
        row = lead.pairs.to_frame(1.0 - analysis.alpha)
        row = row[(row["a"] == winner) & (row["b"] == loser)].iloc[0]
        assert row["p_adjusted"] <= analysis.alpha
        assert f"{row['difference']:+.{analysis.decimals}f}" == gain
        assert loser not in best


INTERVAL = re.compile(r"([+−]?\d+\.\d+)(?:, | \(| \S+ \()95% CI (−?\d+\.\d+) to (−?\d+\.\d+)")


@pytest.mark.parametrize("layout", GRID)
def test_intervals_of_the_answer_are_those_of_the_pairs(layout: str) -> None:
    """The lower end first, around the difference, whichever system is named first."""
    analysis = analysed(layout)
    answer = write_answer(analysis)
    frame = analysis.lead.pairs.to_frame(1.0 - analysis.alpha)
    known = set()
    for difference, lower, upper in frame[["difference", "lower", "upper"]].to_numpy().tolist():
        for row in ((difference, lower, upper), (-difference, -upper, -lower)):
            known.add(tuple(round(value, analysis.decimals) for value in row))
    shown = [tuple(float(text.replace("−", "-")) for text in match) for match in INTERVAL.findall(answer)]
    assert len(shown) == answer.count("95% CI")
    for row in shown:
        assert row[1] <= row[0] <= row[2]
        assert row in known


def test_the_interval_is_turned_with_the_difference() -> None:
    """A baseline that wins is named first, with its gain and the limits of that."""
    rng = np.random.default_rng(5)
    table = xr.DataArray(
        rng.normal([0.7, 0.4], 0.1, (40, 2)), dims=("topic", "system"), coords={"system": ["good", "bad"]}
    )
    analysis = analyze(table, baseline="good", n_resamples=SAMPLES)
    row = analysis.lead.pairs.to_frame(1.0 - analysis.alpha).iloc[0]
    assert (row["a"], row["b"], row["upper"] < 0.0) == ("bad", "good", True)
    answer = write_answer(analysis)
    assert answer.startswith("good is significantly better than bad: +")
    (shown,) = INTERVAL.findall(answer)
    limits = (-row["difference"], -row["upper"], -row["lower"])
    assert [float(text) for text in shown] == [round(float(value), analysis.decimals) for value in limits]


def test_some_answers_of_each_kind_have_intervals() -> None:
    """What the test above looks at: of one pair and of many, of better and of worse systems."""
    answers = [write_answer(analysed(layout)) for layout in ("plain 2", "plain 12", "ties", "baseline")]
    assert all(INTERVAL.search(answer) for answer in answers)
    assert any(match[0].startswith("−") for answer in answers for match in INTERVAL.findall(answer))


@pytest.mark.parametrize("layout", GRID)
def test_terminal_sentences_are_short(layout: str) -> None:
    analysis = analysed(layout)
    lines = [write_answer(analysis), write_scope(analysis), *write_pairs(analysis), write_repeats(analysis)]
    lines.append(write_next_step(analysis).split(": shardwise")[0])
    if not analysis.baselines:
        lines += explain_leaderboard(analysis.leaderboard())
    for line in lines:
        for sentence in re.split(r"(?<=[.;:]) ", line):
            assert len(sentence.split()) <= LONGEST, sentence


def test_the_command_line_says_the_same(tmp_path: Path) -> None:
    """compare and leaderboard, in text, Markdown and JSON."""
    table = simulated(5, topics=30).mean("shard")
    frame = table.transpose("topic", "system").to_pandas()
    frame.to_csv(tmp_path / "scores.csv", index_label="topic")
    answer = write_answer(analyze(sw.read_scores(tmp_path / "scores.csv")))
    for command in ("compare", "leaderboard"):
        for ending in ("txt", "md", "json"):
            out = tmp_path / f"{command}.{ending}"
            assert shardwise(command, tmp_path / "scores.csv", "--out", out).returncode == 0
            text = out.read_text()
            first = text.splitlines()[0].replace("\\", "") if ending != "json" else text
            assert answer in first


def test_the_next_step_is_what_the_command_finds(tmp_path: Path) -> None:
    """The topics of the advice are those of the command that it names."""
    table = simulated(12, topics=30).mean("shard")
    table.transpose("topic", "system").to_pandas().to_csv(tmp_path / "scores.csv", index_label="topic")
    shown = shardwise("compare", tmp_path / "scores.csv").stdout
    advice = re.search(
        r"with 80% power\. Next: ([\d,]+) more topics .*: shardwise (design power .*)$", shown, re.MULTILINE
    )
    assert advice is not None, shown
    command = shlex.split(advice[2])
    planned = json.loads(shardwise(*command, "--format", "json").stdout)["rows"][0]
    assert planned["topics"] == 30 + int(advice[1].replace(",", ""))


def test_people_are_described_and_cited() -> None:
    from shardwise.writing.methods import format_bibliography, methods_text

    analysis = analysed("people")
    paragraph = methods_text(analysis)
    assert "people labelled 30 topics as well" in paragraph
    assert "prediction-powered" in paragraph
    assert "AngelopoulosEtAl2023," in format_bibliography(analysis)


def test_every_measure_has_its_results_in_the_methods() -> None:
    from shardwise.analysis.analyze import join_measures
    from shardwise.writing.methods import methods_text

    table = simulated(4, topics=30).mean("shard")
    first, second = (analyze((table * k).rename(name)) for k, name in ((1.0, "AP"), (0.5, "P@10")))
    paragraph = methods_text(join_measures(first, second))
    assert "by AP and P@10" in paragraph
    for analysis in (first, second):
        found = f"{analysis.lead.n_significant} of 6 pairs differ significantly in {analysis.measure}"
        assert found in paragraph
    assert paragraph.count("We compared all 6 pairs") == 1


def test_the_box_for_reviewers_has_the_figures_of_the_study() -> None:
    """The measured error rates are those of docs/bench/moderated_methods.md, and the rows those of compare."""
    from shardwise.lab.recorded import recorded_rates
    from shardwise.writing.remarks import explain_choice

    page = Path(__file__).parents[2] / "docs" / "bench" / "moderated_methods.md"
    names, *rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in page.read_text().splitlines()
    ]
    total = dict(zip(names, rows[-1], strict=True))
    shown = {}
    for key, column in (("moderated", "moderated"), ("MD1 hsd topic", "HSD"), ("t holm", "t holm")):
        rates = recorded_rates(key)
        assert rates is not None
        assert int(total["designs"]) == rates.designs
        mean, highest, exceeding = (float(x) for x in total[column].split("/"))
        assert (mean, highest) == (round(100 * rates.mean, 1), round(100 * rates.highest, 1))
        assert exceeding == rates.exceeding
        shown[key] = (
            f"{mean}% on average, up to {highest}%; 5% ruled out (at 1%) in {exceeding:g} of {rates.designs} designs"
        )
    analysis = analysed("plain 12")
    box = explain_choice(analysis)
    assert box is not None
    scores = analysis.analysed
    for row, name in zip(box["rows"], ("moderated", "t bonferroni", "MD1 hsd topic"), strict=True):
        seed = {"n_resamples": SAMPLES} if name == "moderated" else {}
        expected = sw.compare(scores, name, **seed).reject(0.05).sum()
        assert row["significant"] == expected
        assert row["significant"] - row["gained"] + row["lost"] == analysis.lead.n_significant
    assert [row["measured"] for row in box["rows"]] == [
        shown[key] for key in ("moderated", "t holm", "MD1 hsd topic")
    ]
    assert "Why not t-tests with Bonferroni" in render_report(analysis)
    assert explain_choice(analysed("plain 2")) is None
    page = render_report(analysed("baseline"))
    assert "<h3>Pairs compared</h3>" in page
    assert "<h3>All pairs</h3>" not in page
    against = explain_choice(analysed("baseline"))
    assert against is not None
    assert against["title"] == "Why not t-tests with Bonferroni or Dunnett’s test?"
    assert against["head"] == "Against the baseline"
    (base,) = analysed("baseline").baselines
    for row, name in zip(against["rows"][1:], ("t bonferroni", "MD1 dunnett topic"), strict=True):
        pairs = sw.compare(analysed("baseline").analysed, name, baseline=base)
        better, worse = (int((pairs.reject(0.05) & (sign * pairs.gain > 0)).sum()) for sign in (1, -1))
        assert row["best"] == f"{better} better, {worse} worse"


@pytest.mark.parametrize("layout", ["plain 2", "seeds 2", "samples 2", "clusters 2"])
@pytest.mark.parametrize("gain", [-0.3, -0.05, -0.01, 0.0, 0.05])
def test_a_gate_begins_with_a_verdict_that_agrees_with_its_interval(layout: str, gain: float) -> None:
    table, options = make_table(layout)
    noun = "system" if "system" in table.dims else "model"
    base = table.isel({noun: [0]})
    change = np.random.default_rng(7).normal(gain, 0.02, base.shape)
    gate = sw.gate(base, base.assign_coords({noun: ["new"]}) + change, margin=0.03, **options)
    agrees = {
        "better": gate.lower >= 0.0,
        "no worse": gate.lower > -0.03,
        # its interval is that of the test of 0; the margin was not shown by the score test
        "worse": gate.upper <= 0.0,
        "inconclusive": gate.lower <= -0.03 and gate.upper >= 0.0,
    }
    assert agrees[gate.verdict]
    first = str(gate).splitlines()[0]
    word = "PASS" if gate.passes else "FAIL" if gate.verdict == "worse" else "INCONCLUSIVE"
    assert first.endswith(f" {word}: {gate.to_sentence()}")
    assert all(len(sentence.split()) <= LONGEST for sentence in re.split(r"(?<=[.;:]) ", first))
