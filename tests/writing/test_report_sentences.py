"""Every sentence over a grid of data and procedures: grammatical, and true of the comparisons it speaks of."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import xarray as xr

from report_pages import Text, seeds, simulated
from shardwise.analysis.analysis import Analysis, ClaimResult
from shardwise.analysis.analyze import analyze
from shardwise.analysis.trust import list_findings
from shardwise.writing import answer, words
from shardwise.writing.downloads import report_json
from shardwise.writing.html import render_report
from shardwise.writing.methods import explain_test, format_bibliography, methods_latex, methods_text
from shardwise.writing.numbers import format_p
from shardwise.writing.paper import render_latex
from shardwise.writing.remarks import write_trust

DRAWS = 199
NOUNS = "topic|system|question|model|seed|pair|shard|split|score|resample|instance|warning"
ONE = re.compile(rf"(?<![\d.,–-])\b1 (?:other )?(?:{NOUNS})s\b")
MANY = re.compile(rf"(?<![\d.,])\b(?:[02-9]|\d{{2,}}|\d,\d+) (?:other )?(?:{NOUNS})\b(?!:)")
WRONG = re.compile(
    r"\(\s*\)|\bnan\b|\bNone\b|\bTrue\b|\bFalse\b| ,| \.(?!\d)|\.\.|,,|;;|: \.|\{|\}|\ba (?:a|an|the)\b"
)


def data(layout: str, systems: int) -> xr.DataArray:
    if layout == "plain":
        return simulated(systems, topics=14).mean("shard")
    if layout == "close":
        return simulated(systems, topics=14).mean("shard") * 0.05 + simulated(1, topics=14).isel(
            system=0
        ).mean("shard")
    if layout == "gaps":
        table = simulated(systems, topics=30).mean("shard")
        table.values[2, 1] = np.nan
        return table
    if layout == "shards":
        return simulated(systems, topics=14, shards=3)
    if layout == "holes":
        return simulated(systems, topics=30, shards=3, holes=0.04)
    if layout == "splits":
        return simulated(systems, topics=14, shards=3, splits=3)
    return seeds(systems, gap=layout == "missing seeds")


OF_TABLES = (
    None,
    "moderated holm",
    "moderated bh",
    "hsd",
    "t holm",
    "t bh",
    "t none",
    "max-t",
    "tukey",
    "wilcoxon holm",
)
METHODS: dict[str, tuple[str | None, ...]] = {
    "plain": OF_TABLES,
    "close": (None, "hsd", "t holm", "tukey"),
    "gaps": (None, "moderated bh", "hsd"),
    "shards": (*OF_TABLES, "banova MD6 difference bh", "MD2 hsd", "stratified holm", "moderated topic+shard"),
    "holes": (None, "hsd"),
    "splits": (None, "hsd", "max-t"),
    "seeds": (None, "unified holm", "unified bh", "moderated bh topic+instance", "joint mixed hsd", "t holm"),
    "missing seeds": (None, "unified none"),
}
GRID = [
    pytest.param(layout, systems, method, marks=pytest.mark.slow if systems == 7 else ())
    for layout, methods in METHODS.items()
    for method in methods
    for systems in (2, 3, 7)
]


@cache
def analysed(layout: str, systems: int, method: str | None) -> Analysis:
    return analyze(data(layout, systems), method=method, n_resamples=DRAWS)


def sentences(found: Analysis) -> list[str]:
    """All that is said of an analysis."""
    said = [
        answer.write_answer(found),
        answer.write_scope(found),
        *answer.write_pairs(found),
        answer.write_contrast(found),
        answer.write_repeats(found),
        answer.write_splits(found),
        answer.write_next_step(found),
        methods_text(found),
        words.explain_bars(found),
        words.explain_stepwise(found),
        *(one.sentence for one in found.remarks),
        *(words.write_split_agreement(one, found) for one in found.splits),
        *(words.write_power(found.power, found) if found.power is not None else []),
        *(words.explain_term(str(term), found) for term in found.fit.table.index),
    ]
    for one in found.claims:
        said += [
            answer.write_alternative(one, found),
            explain_test(one, found),
            words.explain_best(one, found),
        ]
    return [sentence for sentence in said if sentence]


def told(one: ClaimResult) -> set[tuple[str, str]]:
    """Pairs that a claim tells apart, better first."""
    frame = one.pairs.to_frame()
    frame = frame[(frame["p_adjusted"] <= 0.05).to_numpy()]
    ahead = frame["difference"] >= 0
    return {
        (row.a, row.b) if up else (row.b, row.a) for row, up in zip(frame.itertuples(), ahead, strict=True)
    }


@pytest.mark.parametrize(("layout", "systems", "method"), GRID)
class TestGrid:
    def test_every_sentence_is_grammatical(self, layout: str, systems: int, method: str | None) -> None:
        found = analysed(layout, systems, method)
        for sentence in [*sentences(found), *str(found).splitlines()]:
            for wrong in (ONE, MANY, WRONG):
                assert not wrong.search(sentence), (wrong.search(sentence), sentence)
            assert sentence.count("(") == sentence.count(")"), sentence
            assert "  " not in sentence, sentence
        for sentence in sentences(found):
            assert sentence.endswith((".", ".)", "?")), sentence
        if layout in {"seeds", "missing seeds"}:
            text = " ".join([*sentences(found), *str(found).splitlines()])
            for one in found.claims:  # the names and titles of procedures are ours
                text = text.replace(one.procedure.name, "").replace(one.title, "")
                text = text.replace(answer.capitalize_sentence(one.title), "")
            assert not re.search(r"\b(topics|systems|instances)\b", text), text

    def test_numbers_of_pairs_are_those_that_differ(
        self, layout: str, systems: int, method: str | None
    ) -> None:
        found = analysed(layout, systems, method)
        total = systems * (systems - 1) // 2
        if total > 1:
            counts = re.findall(r"(\d+) of (\d+) pairs differs? significantly", methods_text(found))
            assert [(int(a), int(n)) for a, n in counts] == [
                (len(told(one)), total) for one in found.distinct_results
            ]
        for one in found.claims:
            assert answer.count_pairs(one).startswith(f"{len(told(one))} of {total} pair")
            if one.has_common_width:  # "any gap of … or more is significant"
                assert ((one.pairs.difference >= one.critical_difference * (1 - 1e-9)) == one.reject()).all()
        if len(found.claims) == 2 and not found.claims[0].same_pairs(found.claims[1]):
            here, like = (told(one) for one in found.claims)
            only = re.findall(
                r"(\d+) pairs? differs? significantly for (exactly|new)", answer.write_contrast(found)
            )
            expected = [(len(here - like), "exactly"), (len(like - here), "new")]
            assert [(int(n), which) for n, which in only] == [one for one in expected if one[0]]

    def test_resamples_and_error_rates_are_those_of_the_procedure(
        self, layout: str, systems: int, method: str | None
    ) -> None:
        found = analysed(layout, systems, method)
        paragraph = methods_text(found)
        assert "controls the" not in paragraph
        drawn = any(one.n_resamples for one in found.claims)
        assert (f"{DRAWS} " in paragraph) == drawn
        rates = {one.procedure.error_rate for one in found.claims}
        if systems > 2:
            assert ("family-wise error" in paragraph) == ("family" in rates)
            assert ("false discovery rate" in paragraph) == ("discovery" in rates)
        for one in found.claims:
            least = float(one.pairs.p_adjusted.min())
            assert format_p(least, one.resolution).startswith("≤") == (
                one.resolution > 0 and bool(np.isclose(least, 1 / (DRAWS + 1)))
            )
        entries = format_bibliography(found)
        assert ("RomanoWolf2005" in entries) == any(
            one.procedure.method.name == "moderated" and not one.procedure.correction and systems > 2
            for one in found.claims
        )
        assert ("Hsu1981" in entries) == any(one.may_be_best and systems > 2 for one in found.claims)

    def test_comparison_intervals_part_where_pairs_differ(
        self, layout: str, systems: int, method: str | None
    ) -> None:
        found = analysed(layout, systems, method)
        said = words.explain_bars(found)
        assert ("do not overlap" in said) == all(one.has_comparison_intervals for one in found.claims)
        if "do not overlap" not in said or "exact" in said:
            return
        for one in found.claims:
            table = one.chart_intervals
            for row in one.pairs.to_frame().itertuples():
                low, high = sorted(
                    (table.loc[row.a], table.loc[row.b]), key=lambda system: system["estimate"]
                )
                gap = high["lower"] - low["upper"]
                assert abs(gap) < 1e-9 or (gap > 0) == (row.p_adjusted <= 0.05)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("layout", "systems", "method"),
    [
        ("plain", 2, None),
        ("plain", 7, None),
        ("shards", 7, None),
        ("shards", 3, "hsd"),
        ("shards", 3, "banova MD6 difference bh"),
        ("shards", 3, "MD2 hsd"),
        ("splits", 7, None),
        ("splits", 3, "hsd"),
        ("gaps", 3, None),
        ("seeds", 3, None),
        ("missing seeds", 3, "unified none"),
        ("plain", 3, "wilcoxon holm"),
    ],
)
def test_a_page_comes_out_and_reads_well(layout: str, systems: int, method: str | None) -> None:
    found = analysed(layout, systems, method)
    text = Text(render_report(found)).shown
    for piece in text:
        for wrong in (ONE, re.compile(r"\(\s*\)|\bnan\b|\bNone\b|\{|\}")):
            assert not wrong.search(piece), piece
    whole = " ".join(text)
    assert answer.write_answer(found) in whole
    assert answer.write_scope(found) in whole
    assert all(one.remedy in whole for one in found.remarks)
    if layout in {"seeds", "missing seeds"}:
        assert "Models, best first" in whole
        assert "systems" not in whole.replace("systems.csv", "")
    stored = report_json(found)
    assert [one["leads"] for one in stored["claims"]].count(True) == 1
    for word in ("nan", "None"):
        assert not re.search(rf"\b{word}\b", render_latex(found))


@pytest.mark.slow
def test_twin_cards_are_not_drawn() -> None:
    """One claim, one card; two claims, two cards that differ, the leading one first."""
    cards = re.findall(
        r'<article class="card (\w+)">\s*<h3>([^<]*)', render_report(analysed("shards", 3, "hsd"))
    )
    assert cards == [("lead", "New topics like these"), ("beside", "Exactly these topics")]
    asked = analyze(data("shards", 3), method="hsd", generalize="these")
    cards = re.findall(r'<article class="card (\w+)">\s*<h3>([^<]*)', render_report(asked))
    assert cards == [("lead", "Exactly these topics"), ("beside", "New topics like these")]
    cards = re.findall(
        r'<article class="card (\w+)">\s*<h3>([^<]*)', render_report(analysed("plain", 3, None))
    )
    assert cards == [("lead", "New topics like these")]
    same = render_report(analysed("plain", 3, "hsd"))
    assert len(analysed("plain", 3, "hsd").claims) == 2
    assert re.findall(r'<article class="card (\w+)">\s*<h3>([^<]*)', same) == [
        ("lead", "New topics like these")
    ]
    assert "same error term" in same


@pytest.mark.slow
def test_against_a_baseline_and_among_some() -> None:
    table = data("shards", 5 + 2)
    against = analyze(table, baseline="run002", n_resamples=DRAWS)
    assert against.lead.best_set == ()
    assert "run002" in answer.write_answer(against)
    page = render_report(against)
    assert "nan" not in Text(page).shown
    assert page.count('<tr><th scope="row"><bdi') == 6
    assert (page.count(">▲</td>"), page.count(">▼</td>")) == tuple(
        int((against.lead.reject() & (sign * against.comparisons.difference > 0)).sum()) for sign in (1, -1)
    )
    some = analyze(table, only=["run001", "run004", "run002"], n_resamples=DRAWS)
    assert set(some.systems) == {"run001", "run002", "run004"}
    assert "We compared 3 systems" in methods_text(some)
    assert render_report(some).count('<tr data-k="') == 3


def test_both_claims_are_of_all_splits_and_in_one_order() -> None:
    """The best system of a single split need not be that of all."""
    scores = simulated(4, topics=20, splits=3)
    best, second = analyze(scores, n_resamples=DRAWS).systems[:2]
    turned = scores.copy(deep=True)
    one, other = ({"split": 0, "system": name} for name in (best, second))
    turned.loc[one], turned.loc[other] = scores.loc[other].values, scores.loc[one].values
    found = analyze(turned, n_resamples=DRAWS)
    for claim in found.claims:
        assert claim.pairs.names == found.systems
        assert list(claim.intervals.index) == list(found.systems)
        means = turned.mean(("split", "topic", "shard")).to_series()
        assert claim.intervals["estimate"].to_numpy() == pytest.approx(
            means.loc[list(found.systems)].to_numpy()
        )
        assert claim.best in answer.write_answer(found)


@pytest.mark.parametrize(
    ("method", "said", "sources"),
    [
        (None, "For new topics like these, all scores are means over the 3 splits", ("HoffmanEtAl2001",)),
        ("hsd", "Differences are means over the 3 splits", ("HoffmanEtAl2001", "FollmannEtAl2003")),
        ("unanimous MD6 hsd", "only if all 3 splits agree", ("VoorheesEtAl2017",)),
        ("quantile MD6 holm", "smallest corrected quantile", ("MeinshausenEtAl2009",)),
        ("harmonic MD6 holm", "corrected harmonic mean", ("VovkWang2020",)),
        ("cauchy MD6 holm", "Cauchy combination", ("LiuXie2020",)),
    ],
)
def test_the_methods_say_how_splits_became_one_answer(
    method: str | None, said: str, sources: tuple[str, ...]
) -> None:
    found = analyze(data("splits", 3), method=method, n_resamples=DRAWS)
    assert said in methods_text(found)
    for key in sources:
        assert f"{{{key}," in format_bibliography(found)
        assert key in methods_latex(found)


def test_a_notebook_shows_the_answer() -> None:
    found = analysed("seeds", 3, None)
    shown = found._repr_html_()
    assert answer.write_answer(found) in shown
    assert "<th>model</th>" in shown


def test_trust_is_three_plain_lines() -> None:
    simulated_twice = analyze(data("plain", 4), calibration=10)
    lines = dict(write_trust(simulated_twice))
    assert list(lines) == ["False alarms", "Intervals", "What to do"]
    (finding,) = list_findings(simulated_twice.trust)
    assert (
        f"{finding.rate:.1%} ({finding.low:.1%} to {finding.high:.1%}) of simulated data sets"
        in lines["False alarms"]
    )
    check = simulated_twice.trust.statements
    assert check is not None
    assert check.holds
    assert lines["Intervals"].startswith(
        "10 resampled data sets like yours: no evidence against the nominal rates"
    )
    missed = replace(check, table=check.table.assign(exceeded=check.table.index == 1))
    wrong = replace(simulated_twice, trust=replace(simulated_twice.trust, statements=missed))
    lines = dict(write_trust(wrong))
    assert lines["Intervals"].startswith(
        "Not held on resampled data like yours: all intervals of differences cover in"
    )
    assert "approximate" in lines["What to do"]
    of_seeds = analyze(data("seeds", 3), calibration=10)
    (row,) = (row for row in of_seeds.trust.rows.to_dict("records") if row["used"])
    assert dict(write_trust(of_seeds))["Intervals"].startswith(f"{row['coverage']:.1%} (")
    assert write_trust(analyze(data("plain", 3), calibration=0)) == []
