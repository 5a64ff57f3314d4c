"""A gate for loops: sealed verdicts, one error rate for all candidates, a ledger that cannot be changed unnoticed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import shardwise as sw
from shardwise.analysis.ledger import LedgerGate, load_ledger
from shardwise.core.arrays import Floats
from shardwise.core.errors import InputError
from shardwise.stats.sequential import Answers, answers_p, differences_p, look_level, sign_p

RNG = np.random.default_rng(11)
BASE = (RNG.random(400) < 0.6).astype(float)


def improved(gains: int, losses: int, base: Floats = BASE) -> Floats:
    """Answers that are right on so many more items, and wrong on so many others."""
    new = base.copy()
    new[np.flatnonzero(base == 0)[:gains]] = 1.0
    new[np.flatnonzero(base == 1)[:losses]] = 0.0
    return new


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "gate.jsonl"


def judge(new: object, path: Path, base: object = BASE, **options: object) -> LedgerGate:
    return sw.gate(base, new, **{"margin": 0.0, "ledger": path, **options})


def entries(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_verdicts_are_those_of_the_sign_test_at_the_level_of_the_loop(path: Path) -> None:
    accepted = 0
    for t, (gains, losses) in enumerate([(40, 30), (40, 10), (30, 1), (22, 12), (60, 5)], 1):
        found = judge(improved(gains, losses), path)
        level = float(look_level(t, accepted, 0.025))
        assert found.level == pytest.approx(level)
        assert found.passes == bool(sign_p(np.array(float(gains)), np.array(float(losses))) <= level)
        accepted += found.passes
        assert (found.candidate, found.candidates, found.accepted) == (t, t, accepted)
    assert found.spent + found.left == pytest.approx(0.025)
    assert {entry["verdict"] for entry in entries(path)[1:]} == {"pass", "fail"}


def test_nothing_but_the_verdict_is_told(path: Path) -> None:
    found = judge(improved(50, 2), path)
    assert (found.verdict, found.difference, found.lower, found.p) == ("pass", None, None, None)
    assert {"difference", "lower", "upper", "p", "mean_new"}.isdisjoint(found.to_frame().columns)
    assert "PASS: new is better than base (97.5% confidence over all candidates of this ledger)." in str(
        found
    )
    (look,) = entries(path)[1:]
    assert not {"difference", "p", "mean"} & look.keys()
    other = judge(improved(52, 3), path, base=BASE)
    # what is told depends on the verdicts alone
    assert found.detectable < other.detectable
    again = judge(improved(55, 8), path.with_name("b.jsonl"))
    assert (again.detectable, again.level) == (found.detectable, found.level)


def test_the_same_candidate_twice_costs_nothing(path: Path) -> None:
    names = {"name": "prompt-7"}
    first = judge(pd.Series(improved(30, 20), **names), path)
    content = path.read_bytes()
    again = judge(pd.Series(improved(30, 20), **names), path)
    assert path.read_bytes() == content
    assert (again.repeated, again.verdict, again.level, again.candidates) == (
        True,
        first.verdict,
        first.level,
        1,
    )
    assert "judged before, and not counted again" in str(again)
    # other scores, and other names, are other candidates
    assert judge(pd.Series(improved(30, 21), **names), path).candidate == 2
    assert judge(pd.Series(improved(30, 20), name="prompt-8"), path).candidate == 3


def test_the_accepted_candidate_is_the_base_that_stands_in(path: Path) -> None:
    with pytest.raises(InputError, match="does not have a base yet; give the scores of the base too"):
        judge(improved(1, 1), path, base=None)
    judge(pd.Series(improved(3, 3), name="a"), path)
    better = improved(60, 2)
    assert judge(pd.Series(better, name="b"), path, base=None).base == "base"
    assert judge(pd.Series(improved(9, 8), name="c"), path, base=None, base_of="ledger").base == "b"
    best = better.copy()
    best[np.flatnonzero(better == 0)[:60]] = 1.0
    found = judge(pd.Series(best, name="d"), path, base=None)
    assert (found.base, found.verdict, found.accepted) == ("b", "pass", 2)
    # the one that was accepted is not compared with itself
    again = judge(pd.Series(better, name="b"), path, base=None, reveal=True)
    assert (again.base, again.verdict, again.candidates, again.difference) == ("base", "pass", 4, 58 / 400)
    with pytest.raises(InputError, match="both a base and that of the ledger are given"):
        judge(best, path, base_of=path)


def test_revealed_figures_are_recorded_and_said(path: Path) -> None:
    judge(improved(10, 10), path)
    found = judge(improved(60, 20), path, reveal=True)
    assert found.difference == pytest.approx(0.1)
    assert found.lower is not None
    assert found.upper is not None
    assert found.lower < 0.1 < found.upper
    assert found.p == sign_p(np.array(60.0), np.array(20.0))
    assert entries(path)[-1]["entry"] == "reveal"
    assert "only for candidates made without them" in str(judge(improved(5, 5), path))
    assert judge(improved(5, 6), path).revealed == 1


def test_lower_is_better_and_other_ranges(path: Path) -> None:
    base = np.round(RNG.uniform(20.0, 60.0, 300), 1)
    found = judge(base - 15.0, path, base=base, range=(0, 100), lower_is_better=True, reveal=True)
    assert (found.verdict, found.difference) == ("pass", pytest.approx(-15.0))
    assert found.p == pytest.approx(float(differences_p(np.full(300, 0.15), 0.0, found.level)))
    assert judge(base + 15.0, path, base=base, lower_is_better=True).verdict == "fail"
    with pytest.raises(InputError, match="a score of 120 lies outside the range 0 to 100"):
        judge(np.r_[base[1:], 120.0], path, base=base, lower_is_better=True)


def test_a_margin_asks_for_no_worse(path: Path) -> None:
    base = (np.arange(3000) % 10 > 2).astype(float)
    found = judge(improved(8, 8, base), path, base=base, margin=0.05)
    assert found.verdict == "pass"
    assert "at most 0.05 worse" in str(found)
    assert judge(improved(0, 140, base), path, base=base, margin=0.05).verdict == "fail"


def test_declared_candidates_close_the_ledger(path: Path) -> None:
    for k in range(3):
        found = judge(improved(20, 10 + k), path, candidates=3)
        assert found.level == pytest.approx(float(look_level(k + 1, found.accepted - found.passes, 0.025, 3)))
    assert "All candidates that were declared are judged" in str(found)
    with pytest.raises(InputError, match="closed after the 3 candidates that were declared"):
        judge(improved(20, 19), path)
    assert judge(improved(20, 12), path).repeated
    with pytest.raises(InputError, match="was begun with candidates 3, and now it is 4"):
        judge(improved(20, 12), path, candidates=4)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"margin": 0.01},
            r"gate.jsonl: was begun with margin 0.0, and now it is 0.01; keep it, or begin another",
        ),
        ({"alpha": 0.1}, "was begun with alpha 0.05, and now it is 0.1"),
        ({"range": (0, 2)}, r"was begun with range \[0.0, 1.0, False\], and now it is \[0.0, 2.0, False\]"),
        ({"new": improved(3, 3)[1:], "base": BASE[1:]}, "was begun with other items; score the same items"),
        (
            {"new": improved(3, 3) * 0.5},
            "was begun with right and wrong answers, and now there are other scores",
        ),
        ({"new": np.r_[np.nan, BASE[1:]]}, "1 items lack a score, and a ledger needs all; score all items"),
        ({"candidates": 9}, "was begun with candidates None, and now it is 9"),
        ({"margin": -0.1}, "a margin of -0.1 cannot be met; give 0 or more"),
    ],
)
def test_other_questions_are_refused_and_cost_nothing(
    path: Path, change: dict[str, object], message: str
) -> None:
    judge(improved(5, 5), path)
    content = path.read_bytes()
    with pytest.raises(InputError, match=message):
        judge(**{"new": improved(6, 6), "path": path, **change})
    assert path.read_bytes() == content


def test_other_measures_are_refused(path: Path) -> None:
    def table(name: str) -> xr.DataArray:
        y = np.stack([BASE, improved(5, 5)], axis=1)
        return xr.DataArray(y, dims=("topic", "system"), coords={"system": ["a", "b"]}, name=name)

    judge("b", path, base="a", scores=table("accuracy"))
    with pytest.raises(InputError, match="was begun with measure accuracy, and now it is f1"):
        judge("b", path, base="a", scores=table("f1"))


def test_scores_without_a_range_are_refused(path: Path) -> None:
    seconds = RNG.lognormal(1.0, 0.5, 100)
    with pytest.raises(InputError, match="a ledger needs the range of score; add range="):
        judge(seconds * 0.9, path, base=seconds)
    # grades that lie on a customary scale may lie elsewhere tomorrow
    grades = RNG.integers(1, 6, 100).astype(float)
    with pytest.raises(InputError, match="a ledger needs the range of score"):
        judge(grades, path, base=grades[::-1])
    assert judge(grades, path, base=grades[::-1].copy(), range=(1, 5)).verdict == "fail"


def test_seeds_and_several_candidates_are_refused(path: Path) -> None:
    seeded = xr.DataArray(
        RNG.random((2, 40, 2)),
        dims=("instance", "topic", "system"),
        coords={"system": ["a", "b"]},
        name="acc",
    )
    with pytest.raises(
        InputError, match="items are not independent given the seeds, so that a ledger cannot"
    ):
        judge("b", path, base="a", scores=seeded, repeats="seeds")
    assert judge("b", path, base="a", scores=seeded, repeats="samples").verdict == "fail"
    three = xr.DataArray(RNG.random((40, 3)), dims=("topic", "system"), coords={"system": ["a", "b", "c"]})
    with pytest.raises(InputError, match="a ledger tries one new system; give one at a time"):
        judge(("b", "c"), path, base="a", scores=three)


LABELS = np.array(["code", "math", "qa", "rare"])[np.minimum(np.arange(400) // 133, 2)]
SAFE = (np.arange(400) % 20 > 0).astype(float)


def tabulate(answers: Floats, safe: Floats, name: str) -> xr.Dataset:
    """Right answers and safe ones of one system, on items of three categories."""
    labels = {"system": [name], "category": ("topic", LABELS)}
    both = {"answers": answers, "safe": safe}
    return xr.Dataset({k: (("topic", "system"), x[:, None]) for k, x in both.items()}, coords=labels)


MARGINS = {"answers": 0.0, "safe": 0.06}


def test_several_measures_must_all_pass_at_the_level_of_the_candidate(path: Path) -> None:
    base = tabulate(BASE, SAFE, "old")
    accepted = 0
    for t, (gains, losses, harm) in enumerate([(40, 10, 0), (40, 10, 30), (12, 10, 0), (60, 9, 4)], 1):
        found = judge(
            tabulate(improved(gains, losses), improved(0, harm, SAFE), f"c{t}"), path, base, margin=MARGINS
        )
        level = float(look_level(t, accepted, 0.025))
        better = sign_p(np.array(float(gains)), np.array(float(losses))) <= level
        safe = answers_p(Answers(np.array(0.0), np.array(float(harm)), 400.0), 0.06, level) <= level
        assert found.passes == bool(better and safe)
        assert found.level == pytest.approx(level)
        accepted += found.passes
    assert accepted == 2
    # one bit: which measure failed is not told
    table = found.to_frame()
    assert table["measure"].tolist() == ["answers", "safe"]
    assert set(table["verdict"]) == {found.verdict}
    assert {"p", "difference", "passes"}.isdisjoint(table.columns)
    assert "is better than old by answers and at most 0.06 worse by safe (97.5% confidence" in str(found)
    assert not {"p", "difference", "met"} & entries(path)[-1].keys()
    again = judge(
        tabulate(improved(60, 9), improved(0, 4, SAFE), "c4"),
        path,
        base,
        margin=dict(reversed(MARGINS.items())),
    )
    assert (again.repeated, again.candidates) == (True, 4)
    shown = judge(
        tabulate(improved(60, 9), improved(0, 4, SAFE), "c4"), path, base, margin=MARGINS, reveal=True
    )
    assert shown.to_frame()["difference"].tolist() == pytest.approx([51 / 400, -0.01])
    with pytest.raises(InputError, match=r"was begun with margin of safe 0\.06, and now it is 0\.1"):
        judge(tabulate(BASE, SAFE, "x"), path, base, margin={"answers": 0.0, "safe": 0.1})
    with pytest.raises(InputError, match="was begun with measure answers, safe, and now it is answers"):
        judge(tabulate(BASE, SAFE, "x"), path, base, margin={"answers": 0.0})


def test_a_slice_that_is_significantly_worse_fails_a_candidate(path: Path) -> None:
    base, first = tabulate(BASE, SAFE, "old"), np.arange(400) < 133
    worse = first & (BASE == 1) & (np.arange(400) % 2 > 0)
    lopsided = np.where(first, BASE * ~worse, 1.0)
    even = improved(80, 20)
    for name, answers, passes in (("lopsided", lopsided, False), ("even", even, True)):
        whole = judge(
            tabulate(answers, SAFE, name), path.with_name(f"{name}.jsonl"), base, margin={"answers": 0.0}
        )
        assert whole.passes
        found = judge(tabulate(answers, SAFE, name), path, base, margin={"answers": 0.0}, by="category")
        assert found.passes == passes
        assert "slice" in found.to_frame()
        assert {"p", "difference"}.isdisjoint(found.to_frame().columns)
    assert "; significantly worse on no category." in str(found)
    shown = judge(
        tabulate(lopsided, SAFE, "lopsided"), path, base, margin={"answers": 0.0}, by="category", reveal=True
    )
    table = shown.to_frame().set_index("slice")
    assert table.loc["code", "difference"] == pytest.approx(-worse.sum() / 133)
    assert table.loc["code", "p"] < 0.025 / 3 < table.loc["math", "p"]
    with pytest.raises(InputError, match="was begun with slices category, and now it is None"):
        judge(tabulate(even, SAFE, "x"), path, base, margin={"answers": 0.0})
    moved = tabulate(even, SAFE, "x").assign_coords(category=("topic", LABELS[::-1]))
    with pytest.raises(InputError, match="was begun with other items"):
        judge(
            moved,
            path,
            base.assign_coords(category=("topic", LABELS[::-1])),
            margin={"answers": 0.0},
            by="category",
        )


def test_measures_of_other_scales_are_tested_by_their_bets(path: Path) -> None:
    rng = np.random.default_rng(3)
    length = np.round(rng.uniform(20.0, 60.0, 400), 1)

    def table(name: str, answers: Floats, words: Floats) -> xr.Dataset:
        both = tabulate(answers, words, name).rename(safe="words")
        return both.assign(words=both["words"].assign_attrs(range=(0.0, 100.0), lower_is_better=True))

    margins = {"answers": 0.0, "words": 5.0}
    base = table("old", BASE, length)
    assert judge(table("shorter", improved(50, 2), length - 3.0), path, base, margin=margins).passes
    longer = judge(table("longer", improved(50, 2), length + 8.0), path, base, margin=margins, reveal=True)
    assert not longer.passes
    assert longer.to_frame()["difference"].tolist() == pytest.approx([0.12, 8.0])


def test_clusters_count_once(path: Path) -> None:
    scores = xr.DataArray(
        np.stack([BASE, improved(100, 0)], axis=1), dims=("topic", "system"),
        coords={"system": ["a", "b"], "cluster": ("topic", np.arange(400) // 100)},
    )  # fmt: skip
    assert judge("b", path, base="a", scores=scores).verdict == "fail"
    assert judge(improved(100, 0), path.with_name("b.jsonl")).verdict == "pass"


def test_the_order_of_items_does_not_matter(path: Path) -> None:
    names = [f"q{k}" for k in range(400)]
    base, new = (pd.DataFrame({name: x}, index=names) for name, x in (("a", BASE), ("b", improved(30, 20))))
    judge(new, path, base=base)
    shuffled = RNG.permutation(400)
    again = judge(new.iloc[shuffled], path, base=base.iloc[shuffled[::-1]])
    assert again.repeated


def test_a_new_ledger_refers_to_the_old_one(path: Path) -> None:
    judge(pd.Series(improved(60, 2), name="b"), path)
    fresh = path.with_name("fresh.jsonl")
    other = (RNG.random(300) < 0.5).astype(float)
    judge(improved(3, 3, other), fresh, base=other, base_of=path)
    after = load_ledger(fresh).head["after"]
    assert (after["ledger"], after["base"], after["digest"]) == (
        "gate.jsonl",
        "b",
        entries(path)[-1]["digest"],
    )
    judge(improved(3, 4, other), fresh, base=other, base_of=path)
    judge(improved(3, 5, other), fresh, base=other)
    judge(improved(9, 9), path)
    judge(improved(3, 6, other), fresh, base=other, base_of=path)
    third = path.with_name("third.jsonl")
    judge(improved(4, 4), third)
    with pytest.raises(
        InputError, match=r"was begun with earlier ledger gate\.jsonl, and now it is third\.jsonl"
    ):
        judge(improved(3, 7, other), fresh, base=other, base_of=third)


def test_forged_levels_are_noticed(path: Path) -> None:
    """Whoever writes the hashes anew has to make the levels fit too."""
    from shardwise.io.journal import open_journal

    judge(improved(9, 8), path)
    judge(improved(9, 9), path)
    kept = entries(path)
    path.unlink()
    for entry in kept:
        del entry["digest"]
    with open_journal(path) as journal:
        journal.append(kept[0], kept[2])
    with pytest.raises(InputError, match="candidate 2 is not what a gate wrote"):
        judge(improved(9, 7), path)


def test_options_of_a_ledger_need_one() -> None:
    with pytest.raises(InputError, match="have no effect without a ledger"):
        sw.gate(BASE, improved(3, 3), reveal=True)


def test_worn_out_hold_outs_say_so(path: Path) -> None:
    found = [judge(improved(60, k), path) for k in range(16)][-1]
    assert found.each[0].worn
    assert "worn out" in str(found)
    assert "take fresh topics" in str(found)
    plan = load_ledger(path).plan(0.8)
    assert (plan["detectable"].diff().dropna() > -0.2).all()
    assert plan["candidate"].iloc[0] == 17
