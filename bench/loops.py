"""Loops of candidates on one hold-out: false acceptances, power, kills and concurrent calls of the gate with a ledger.

python -m bench.loops [part …] [--loops 2000] [--seen 2000]

Parts: false (loops of 10 to 300 candidates: blind ones, and three makers of candidates that see the verdicts), probing
(true gains as probes, then an attack), power (the first and the 30th candidate beside five other rules), equal (100
loops through the command and through the vectorised copy), kills (200 killed and 4 × 50 concurrent commands), example
(an optimiser that climbs on the hold-out, drawn to docs/images/loops.svg), page (docs/bench/loops.md, made of the
others). Each writes docs/bench/loops_<part>.csv. The cells were fixed before the first run.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from shardwise.analysis.ledger import load_ledger
from shardwise.cli.main import run_command
from shardwise.core.arrays import Bools, Floats, Ints
from shardwise.stats.sequential import DISAGREEMENT, Answers, answers_p, differences_p, look_level, sign_p
from shardwise.stats.student import student_critical

OUT = Path(__file__).parent.parent / "docs" / "bench"
RATE = 0.025
LENGTHS = (10, 30, 100, 300)
ITEMS = (200, 500)
GAINS = (0.02, 0.05, 0.1)
BLOCK = 250

Maker = Generator[Bools, tuple[Bools, Bools], None]
Gate = Callable[[int, Ints, Ints, Ints, int], Bools]
"""A gate: candidate, accepted so far, gains, losses and items to whether it passes, (loops,) each."""


def by_ledger(t: int, accepted: Ints, gains: Ints, losses: Ints, items: int) -> Bools:
    """The gate with a ledger, margin 0."""
    return np.asarray(sign_p(gains, losses) <= look_level(t, accepted, RATE))


def by_t(t: int, accepted: Ints, gains: Ints, losses: Ints, items: int) -> Bools:
    """The plain gate: the paired t-test at 5 %, each candidate as if it were the only one."""
    return mean_over_error(gains, losses, items) > student_critical(2 * RATE, items - 1.0)


def by_ladder(t: int, accepted: Ints, gains: Ints, losses: Ints, items: int) -> Bools:
    """The Ladder without parameters (Blum & Hardt 2015): better than the best so far by one standard error."""
    return mean_over_error(gains, losses, items) > 1.0


def by_bonferroni(declared: int) -> Gate:
    """The sign test at the level divided by a number of candidates known beforehand."""

    def gate(t: int, accepted: Ints, gains: Ints, losses: Ints, items: int) -> Bools:
        return np.asarray(sign_p(gains, losses) <= RATE / declared)

    return gate


def by_declared(declared: int) -> Gate:
    """The gate with a ledger and a declared number of candidates."""

    def gate(t: int, accepted: Ints, gains: Ints, losses: Ints, items: int) -> Bools:
        return np.asarray(sign_p(gains, losses) <= look_level(t, accepted, RATE, declared))

    return gate


def mean_over_error(gains: Ints, losses: Ints, items: int, margin: float = 0.0) -> Floats:
    """Mean difference, and the margin that it may lose, over its standard error."""
    mean = (gains - losses) / items
    variance = ((gains + losses) / items - mean**2) * items / (items - 1.0)
    return np.asarray((mean + margin) / np.sqrt(np.maximum(variance, 1e-12) / items))


# makers of candidates: answers to items with two choices, of which nobody knows the right one


def reanswer(rng: np.random.Generator, answers: Bools, share: float) -> Bools:
    """Answers of which a random share is turned round: as if twice as many were given anew by tossing a coin."""
    return answers ^ (rng.random(answers.shape, np.float32) < share)


def make_recombined(rng: np.random.Generator, base: Bools, right: Bools) -> Maker:
    """Item by item what accepted candidates had, and what rejected ones had not, with some chance."""
    votes = np.zeros(base.shape, np.float32)
    while True:
        leaning = votes + rng.standard_normal(votes.shape, np.float32) > 0.0
        candidate = np.where(rng.random(base.shape, np.float32) < 0.3, leaning, base)
        passed, after = yield candidate
        changed = candidate != base
        weight = np.where(passed, 3.0, -0.3)[:, None]
        votes += np.where(changed, weight * (2.0 * candidate - 1.0), 0.0).astype(np.float32)
        base = after


def make_boosted(rng: np.random.Generator, base: Bools, right: Bools) -> Maker:
    """Random flips; every tenth candidate flips what the verdicts say (Blum & Hardt 2015)."""
    votes = np.zeros(base.shape, np.float32)
    step = 0
    while True:
        step += 1
        flips = rng.random(base.shape, np.float32) < 0.1
        if step % 10 == 0:
            noisy = votes + 1e-3 * rng.random(votes.shape, np.float32)
            flips = noisy >= np.quantile(noisy, 0.9, axis=1, keepdims=True)
        candidate = base ^ flips
        passed, after = yield candidate
        votes += np.where(passed, 1.0, -0.1)[:, None].astype(np.float32) * flips
        votes[passed & (step % 10 == 0)] = 0.0
        base = after


def make_restarts(rng: np.random.Generator, base: Bools, right: Bools) -> Maker:
    """Climbs of ten steps, each from a random place."""
    step = 0
    place = base
    while True:
        place = reanswer(rng, base, 0.3) if step % 10 == 0 else reanswer(rng, place, 0.05)
        step += 1
        _, base = yield place


BLIND = {"equal": (0.1, 0.1), "worse by .02": (0.09, 0.11)}
"""Candidates that do not depend on verdicts, by the chances of a gain and of a loss of an item."""
MAKERS = {
    "recombination": make_recombined,
    "boosting": make_boosted,
    "restarts": make_restarts,
}


def play_loops(
    maker: Callable[..., Maker], gate: Gate, rng: np.random.Generator, loops: int, items: int, length: int
) -> Bools:
    """(loops, length) whether each candidate was accepted; all of them are false by construction."""
    right = rng.random((loops, items)) < 0.5
    base = rng.random((loops, items)) < 0.5
    making = maker(rng, base, right)
    candidate = next(making)
    accepted = np.zeros(loops, np.int64)
    verdicts = np.zeros((loops, length), bool)
    for t in range(1, length + 1):
        new, old = candidate == right, base == right
        gains, losses = (new & ~old).sum(axis=1), (old & ~new).sum(axis=1)
        passed = gate(t, accepted, gains, losses, items)
        verdicts[:, t - 1] = passed
        accepted += passed
        base = np.where(passed[:, None], candidate, base)
        candidate = making.send((passed, base))
    return verdicts


def play_blind(
    chances: tuple[float, float], gate: Gate, rng: np.random.Generator, loops: int, items: int
) -> Bools:
    """(loops, 300) the same for candidates that do not depend on verdicts: all compared with the first base."""
    accepted = np.zeros(loops, np.int64)
    verdicts = np.zeros((loops, LENGTHS[-1]), bool)
    for t in range(1, LENGTHS[-1] + 1):
        gains, losses = rng.multinomial(items, (*chances, 1.0 - sum(chances)), loops)[:, :2].T
        verdicts[:, t - 1] = gate(t, accepted, gains, losses, items)
        accepted += verdicts[:, t - 1]
    return verdicts


def blocks(loops: int) -> Iterator[int]:
    """Loops that are played at a time."""
    while loops > 0:
        yield min(loops, BLOCK)
        loops -= BLOCK


def summarise(hits: Bools) -> dict[str, float]:
    """Share in percent, with its Monte-Carlo standard error."""
    share = float(hits.mean())
    return {
        "percent": 100 * share,
        "error": 100 * float(np.sqrt(max(share * (1 - share), 1 / len(hits)) / len(hits))),
    }


def count_false(loops: int, seen: int) -> pd.DataFrame:
    """False acceptances over whole loops, so many of makers that see verdicts; the table is written after each cell."""
    rows = [*count_other_scores(loops).to_dict("records"), *count_two_measures(loops).to_dict("records")]
    gates = {"ledger": by_ledger, "plain": by_t}

    def add_cell(name: str, items: int, title: str, verdicts: Bools) -> None:
        for length in LENGTHS:
            hits = verdicts[:, :length].any(axis=1)
            rows.append(
                {"maker": name, "items": items, "gate": title, "candidates": length, **summarise(hits)}
            )
        pd.DataFrame(rows).round(6).to_csv(OUT / "loops_false.csv", index=False)
        print(rows[-1], flush=True)

    for (name, chances), items, (title, gate) in product(BLIND.items(), (*ITEMS, 1000), gates.items()):
        rng = np.random.default_rng([51, items, len(name)])
        add_cell(name, items, title, play_blind(chances, gate, rng, loops, items))
    for items, (name, maker), (title, gate) in product(ITEMS, MAKERS.items(), gates.items()):
        rng = np.random.default_rng([51, items, len(name)])
        played = [play_loops(maker, gate, rng, size, items, LENGTHS[-1]) for size in blocks(seen)]
        add_cell(name, items, title, np.concatenate(played))
    return pd.DataFrame(rows)


def count_other_scores(loops: int) -> pd.DataFrame:
    """Scores with rare large losses, and right and wrong answers that lose exactly a margin, over whole loops."""
    rng = np.random.default_rng(52)
    rows = []
    for name, items in (("rare losses of .99", 200), ("loss of the margin .05", 1000)):
        for title in ("ledger", "plain"):
            accepted = np.zeros(loops, np.int64)
            hit = np.zeros((loops, LENGTHS[-1]), bool)
            for t in range(1, LENGTHS[-1] + 1):
                level = look_level(t, accepted, RATE)
                if items == 200:
                    lost = rng.binomial(items, 0.01, loops)
                    mean = 0.01 - lost / items
                    if title == "ledger":
                        # few kinds of tables: so many losses, after so many acceptances
                        kinds, place = np.unique(np.stack([lost, accepted]), axis=1, return_inverse=True)
                        limits = look_level(t, kinds[1], RATE)
                        differences = np.where(np.arange(items) < kinds[0][:, None], -0.99, 0.01)
                        passed = (differences_p(differences, 0.0, limits) <= limits)[place]
                    else:
                        se = np.sqrt(np.maximum(lost / items * (1 - lost / items), 1e-12) / (items - 1))
                        passed = mean / se > student_critical(2 * RATE, items - 1.0)
                else:
                    gains, losses = rng.multinomial(items, (0.075, 0.125, 0.8), loops)[:, :2].T
                    if title == "ledger":
                        passed = answers_p(Answers(gains, losses, float(items)), 0.05, level) <= level
                    else:
                        passed = mean_over_error(gains, losses, items, 0.05) > student_critical(
                            2 * RATE, items - 1.0
                        )
                hit[:, t - 1] = passed
                accepted += passed
            for length in LENGTHS:
                hits = hit[:, :length].any(axis=1)
                rows.append(
                    {"maker": name, "items": items, "gate": title, "candidates": length, **summarise(hits)}
                )
            print(rows[-1], flush=True)
    return pd.DataFrame(rows)


def count_two_measures(loops: int) -> pd.DataFrame:
    """Candidates that gain .2 by one measure and nothing by the other, both of which must pass."""
    rows = []
    items = 500
    for title, gate in {"ledger": by_ledger, "plain": by_t}.items():
        rng = np.random.default_rng(58)
        accepted = np.zeros(loops, np.int64)
        hit = np.zeros((loops, LENGTHS[-1]), bool)
        for t in range(1, LENGTHS[-1] + 1):
            passed = np.ones(loops, bool)
            for chances in ((0.3, 0.1, 0.6), (0.1, 0.1, 0.8)):
                gains, losses = rng.multinomial(items, chances, loops)[:, :2].T
                passed &= gate(t, accepted, gains, losses, items)
            hit[:, t - 1] = passed
            accepted += passed
        for length in LENGTHS:
            hits = hit[:, :length].any(axis=1)
            rows.append(
                {"maker": "gain by one of two measures", "items": items, "gate": title, "candidates": length,
                 **summarise(hits)}
            )  # fmt: skip
        print(rows[-1], flush=True)
    return pd.DataFrame(rows)


def attack_by_probing(loops: int) -> pd.DataFrame:
    """Probes with true gains, tuned to the edge of passing, tell the sign of groups of items; then all are used.

    200 of 1,000 items are wrong in the base, and the maker has the right answers to them, which it mixes into probes;
    the others are tossed. The last candidate has none of the true gains: it is equal to the base.
    """
    rows = []
    items, known, tuning = 1000, 200, 9
    for declared in (30, 100):
        gates = {
            "ledger": by_ledger, "ledger, declared": by_declared(declared), "Bonferroni": by_bonferroni(declared),
            "plain": by_t,
        }  # fmt: skip
        for title, gate in gates.items():
            rng = np.random.default_rng([53, declared])
            accepted = np.zeros(loops, np.int64)
            low, high = np.zeros(loops, np.int64), np.full(loops, known)
            groups = declared - tuning - 1
            size = (items - known) // groups
            # what flipping a group changes in the sum of right answers
            effect = 2 * rng.binomial(size, 0.5, (loops, groups)) - size
            choice = np.zeros((loops, groups))
            for t in range(1, declared):
                middle = (low + high) // 2
                # true gains, and the gains and losses of a group without an effect
                half = np.full(loops, size // 2)
                if t <= tuning:
                    passed = gate(t, accepted, middle + half, size - half, items)
                    low, high = np.where(passed, low, middle), np.where(passed, middle, high)
                else:
                    group = t - tuning - 1
                    ups = (size + effect[:, group]) // 2
                    passed = gate(t, accepted, high + ups, size - ups, items)
                    choice[:, group] = np.where(passed, 1, -1)
                accepted += passed
            # a group that is not flipped changes nothing: only those that seemed to gain are flipped
            flipped = choice > 0
            gains = np.where(flipped, (size + effect) // 2, 0).sum(axis=1)
            losses = np.where(flipped, (size - effect) // 2, 0).sum(axis=1)
            passed = gate(declared, accepted, gains, losses, items)
            rows.append(
                {
                    "gate": title,
                    "candidates": declared,
                    "mean_gain": float((gains - losses).mean()),
                    **summarise(passed),
                }
            )
            print(rows[-1], flush=True)
    return pd.DataFrame(rows)


def answer_thresholdout(rng: np.random.Generator, hold_out: Floats, training: Floats) -> Floats:
    """(loops, length) answers of Thresholdout (Dwork et al. 2015) with its T = .04, σ = .01, without a budget."""
    threshold, scale = 0.04, 0.01
    limit = threshold + rng.laplace(0.0, 2 * scale, (len(hold_out), 1))
    answers = training.copy()
    for t in range(hold_out.shape[1]):
        noise = rng.laplace(0.0, 4 * scale, len(hold_out))
        over = np.abs(hold_out[:, t] - training[:, t]) > limit[:, 0] + noise
        answers[:, t] = np.where(over, hold_out[:, t] + rng.laplace(0.0, scale, len(over)), training[:, t])
        limit[:, 0] = np.where(over, threshold + rng.laplace(0.0, 2 * scale, len(over)), limit[:, 0])
    return answers


def measure_power(loops: int) -> pd.DataFrame:
    """How often the first and the 30th candidate pass that gain in truth; the 29 others are equal to the base."""
    rows = []
    length = 30
    gates = {
        "ledger": by_ledger, "ledger, 30 declared": by_declared(length), "Bonferroni, 30": by_bonferroni(length),
        "ladder": by_ladder, "plain": by_t,
    }  # fmt: skip
    for items in (200, 1000, 5000):
        for gain in GAINS:
            for place in (1, length):
                chances = np.tile([DISAGREEMENT / 2, DISAGREEMENT / 2], (length, 1))
                chances[place - 1] += np.array([gain, -gain]) / 2
                rng = np.random.default_rng([54, items, int(1000 * gain), place])
                counts = np.stack(
                    [rng.multinomial(items, (*pair, 1 - DISAGREEMENT), loops)[:, :2] for pair in chances],
                    axis=1,
                )
                for title, gate in gates.items():
                    accepted = np.zeros(loops, np.int64)
                    verdicts = np.zeros((loops, length), bool)
                    for t in range(1, length + 1):
                        verdicts[:, t - 1] = gate(t, accepted, *counts[:, t - 1].T, items)
                        accepted += verdicts[:, t - 1]
                    others = np.delete(verdicts, place - 1, axis=1).any(axis=1)
                    rows.append(
                        {"items": items, "gain": gain, "candidate": place, "rule": title,
                         **summarise(verdicts[:, place - 1]), "others_percent": 100 * float(others.mean())}
                    )  # fmt: skip
                means = (counts[..., 0] - counts[..., 1]) / items
                training = (
                    np.stack(
                        [
                            np.subtract(*rng.multinomial(items, (*pair, 1 - DISAGREEMENT), loops)[:, :2].T)
                            for pair in chances
                        ],
                        axis=1,
                    )
                    / items
                )
                answers = answer_thresholdout(rng, means, training)
                passed = answers > float(special.ndtri(1 - RATE)) * np.sqrt(DISAGREEMENT / items)
                others = np.delete(passed, place - 1, axis=1).any(axis=1)
                rows.append(
                    {"items": items, "gain": gain, "candidate": place, "rule": "Thresholdout",
                     **summarise(passed[:, place - 1]), "others_percent": 100 * float(others.mean())}
                )  # fmt: skip
    return pd.DataFrame(rows)


def write_answers(path: Path, right: Bools) -> None:
    """One system's answers as a table."""
    path.write_text("question,correct\n" + "".join(f"q{k:04d},{int(x)}\n" for k, x in enumerate(right)))


def run_gate(folder: Path, *words: str) -> bool:
    """Run the command on files of a folder in this process, and return whether the candidate passed."""
    paths = [str(folder / word) if word.endswith(".csv") else word for word in words]
    with contextlib.redirect_stdout(io.StringIO()):
        return run_command(["gate", *paths, "--ledger", str(folder / "gate.jsonl")]) == 0


def compare_with_command(loops: int) -> pd.DataFrame:
    """Loops of ten candidates by the command and by the vectorised copy: verdicts that are not the same."""
    rows = []
    parts = {
        "recombination": compare_answers,
        "gaining": compare_answers,
        "two measures, three slices": compare_requirements,
    }
    for (name, compare), share in zip(parts.items(), (0.4, 0.3, 0.3), strict=True):
        rng = np.random.default_rng(55)
        counted = np.zeros(3, np.int64)
        for _ in range(round(loops * share)):
            with tempfile.TemporaryDirectory() as folder:
                verdicts = np.array(list(compare(rng, Path(folder), name == "gaining")))
                whole = len(load_ledger(Path(folder) / "gate.jsonl").looks) == len(verdicts)
                counted += (verdicts[:, 1].sum(), (verdicts[:, 0] != verdicts[:, 1]).sum(), whole)
        passes, unlike, whole = counted.tolist()
        rows.append({"maker": name, "loops": round(loops * share), "candidates": 10, "passes": passes,
                     "unlike": unlike, "whole_ledgers": whole})  # fmt: skip
        print(rows[-1], flush=True)
    return pd.DataFrame(rows)


def compare_answers(rng: np.random.Generator, folder: Path, gaining: bool) -> Iterator[tuple[bool, bool]]:
    """The verdicts of the command and of the copy on right and wrong answers, accepted ones being the base."""
    items = 200
    right, base = rng.random((2, 1, items)) < 0.5
    making = (make_restarts if gaining else make_recombined)(rng, base, right)
    candidate, accepted = next(making), np.zeros(1, np.int64)
    write_answers(folder / "base.csv", (base == right)[0])
    for t in range(1, 11):
        if gaining:
            candidate = np.where(rng.random(base.shape, np.float32) < 0.3, right, candidate)
        new, old = candidate == right, base == right
        passed = by_ledger(t, accepted, (new & ~old).sum(axis=1), (old & ~new).sum(axis=1), items)
        write_answers(folder / f"c{t}.csv", new[0])
        yield run_gate(folder, *["base.csv"][: t == 1], f"c{t}.csv", "--margin", "0"), bool(passed[0])
        accepted += passed
        base = np.where(passed[:, None], candidate, base)
        candidate = making.send((passed, base))


def compare_requirements(rng: np.random.Generator, folder: Path, _: bool) -> Iterator[tuple[bool, bool]]:
    """The same for two measures with margins of 0 and .1 and three slices, one of which a candidate may lose."""
    items, accepted = 300, 0
    places = np.arange(items) % 3

    def write_system(name: str, table: Bools) -> None:
        rows = (f"q{k:03d},{'abc'[places[k]]},{int(x)},{int(y)}\n" for k, (x, y) in enumerate(table.T))
        (folder / name).write_text("question,category,correct,polite\n" + "".join(rows))

    base = rng.random((2, items)) < np.array([[0.5], [0.9]])
    write_system("base.csv", base)
    asked = ["-m", "correct", "-m", "polite", "--margin", "correct=0,polite=0.1", "--by", "category"]
    for t in range(1, 11):
        new = base.copy()
        new[0] |= rng.random(items) < 0.4
        new[rng.integers(2)] &= rng.random(items) > rng.choice([0.0, 0.3]) * (places == 0)
        write_system(f"c{t}.csv", new)
        level, shared = float(look_level(t, accepted, RATE)), RATE / 6
        passed = True
        for k, margin in enumerate((0.0, 0.1)):
            gains, losses = new[k] & ~base[k], base[k] & ~new[k]
            passed &= bool(answers_p(Answers(gains.sum(), losses.sum(), items), margin, level) <= level)
            for label in range(3):
                up, down, size = (int(x[places == label].sum()) for x in (gains, losses, np.ones(items)))
                within = answers_p(Answers(up, down, size), margin, shared) <= shared
                passed &= bool(within or sign_p(down, up) > shared)
        yield run_gate(folder, *["base.csv"][: t == 1], f"c{t}.csv", *asked), passed
        accepted += passed
        base = new if passed else base


def call_gate(folder: Path, names: Sequence[str], told: Any) -> None:
    """Call the command on some candidates in this process, and note each verdict once it is printed."""
    os.chdir(folder)
    for name in names:
        words = ["gate", "base.csv", name, "--margin", "0", "--ledger", "gate.jsonl"]
        with contextlib.redirect_stdout(io.StringIO()):
            run_command(words)
        os.write(told, f"{name}\n".encode())


def check_ledger(folder: Path, part: str, calls: int, killed: int, told: set[str]) -> dict[str, Any]:
    """What a ledger holds after its callers are gone."""
    ledger = load_ledger(folder / "gate.jsonl")
    names = [f"{look['name']}.csv" for look in ledger.looks]
    before = np.cumsum([0, *(look["verdict"] == "pass" for look in ledger.looks)])[:-1]
    total = float(look_level(np.arange(1, len(names) + 1), before, RATE).sum())
    return {
        "part": part, "calls": calls, "killed": killed, "told": len(told), "recorded": len(names),
        "told_not_recorded": len(told - set(names)), "twice": len(names) - len(set(names)),
        "sum_error": abs(total - ledger.looks[-1]["spent"]),
    }  # fmt: skip


def kill_and_crowd(kills: int, crowd: int) -> pd.DataFrame:
    """Commands killed at random moments, and four processes of so many commands at once: what the ledger holds then.

    The commands run in copies of this process, so that 200 of them do not load everything anew.
    """
    rows = []
    rng = np.random.default_rng(56)
    items = 200
    forked = multiprocessing.get_context("fork")
    for part in ("kills", "4 at once"):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            write_answers(folder / "base.csv", rng.random(items) < 0.6)
            names = [f"c{k}.csv" for k in range(3 * kills if part == "kills" else 4 * crowd)]
            for file in names:
                write_answers(folder / file, rng.random(items) < 0.6)
            reading, writing = os.pipe()
            calls, killed, seconds = 0, 0, 0.0
            if part == "kills":
                while killed < kills:
                    k, file = calls, names[calls]
                    process = forked.Process(target=call_gate, args=(folder, [file], writing))
                    began = time.monotonic()
                    process.start()
                    # the first two are timed, the second without what is loaded
                    process.join(None if k < 2 else seconds * rng.uniform(0.3, 1.2))
                    process.kill()
                    process.join()
                    seconds = time.monotonic() - began if k < 2 else seconds
                    killed += process.exitcode == -9
                    calls += 1
            else:
                each = [
                    forked.Process(target=call_gate, args=(folder, names[k::4], writing)) for k in range(4)
                ]
                for process in each:
                    process.start()
                for process in each:
                    process.join()
            os.close(writing)
            with os.fdopen(reading) as lines:
                told = set(lines.read().split())
            rows.append(check_ledger(folder, part, calls or len(names), killed, told))
            print(rows[-1], flush=True)
    return pd.DataFrame(rows)


EXAMPLE_GATES: dict[str, Gate] = {
    "plain gate": by_t,
    "Bonferroni, 20 guessed": by_bonferroni(20),
    "ledger": by_ledger,
}


def climb(
    gate: Gate, rng: np.random.Generator, good: float, loops: int, items: int, length: int
) -> tuple[Floats, Floats]:
    """(loops, length + 1) accuracy of the system that is kept, on the hold-out and in truth.

    Each candidate answers a tenth of the items anew; a share of the edits is good there (right in 90 %), the others
    are right as often as the first base, in 60 %.
    """
    current = rng.random((loops, items)) < 0.6
    truth = np.full(loops, 0.6)
    accepted = np.zeros(loops, np.int64)
    seen, true = [current.mean(axis=1)], [truth]
    for t in range(1, length + 1):
        chance = np.where(rng.random(loops) < good, 0.9, 0.6)
        changed = rng.random((loops, items)) < 0.1
        candidate = np.where(changed, rng.random((loops, items)) < chance[:, None], current)
        gains, losses = (candidate & ~current).sum(axis=1), (current & ~candidate).sum(axis=1)
        passed = gate(t, accepted, gains, losses, items)
        accepted += passed
        current = np.where(passed[:, None], candidate, current)
        truth = np.where(passed, 0.9 * truth + 0.1 * chance, truth)
        seen.append(current.mean(axis=1))
        true.append(truth)
    return np.stack(seen, axis=1), np.stack(true, axis=1)


def draw_example(loops: int) -> pd.DataFrame:
    """An optimiser of 300 edits on 1,000 questions under three gates: one run drawn, the means of many in the table."""
    import altair as alt

    from shardwise.plot.saving import save_chart

    rows, points = [], []
    for edits, good in (("no edit helps", 0.0), ("one in 20 helps", 0.05)):
        for name, gate in EXAMPLE_GATES.items():
            rng = np.random.default_rng(57)
            seen, true = climb(gate, rng, good, min(loops, 200), 1000, LENGTHS[-1])
            claimed, gained = seen - seen[:, :1], true - 0.6
            rows.append(
                {"edits": edits, "gate": name, "claimed": claimed[:, -1].mean(), "true": gained[:, -1].mean()}
            )
            for what, values in (("on the hold-out", claimed[0]), ("in truth", gained[0])):
                points += [
                    {"edits": edits, "gate": name, "gain": what, "candidates": t, "value": float(x)}
                    for t, x in enumerate(values)
                ]
    panels = alt.Chart({"values": points}, width=210, height=150).mark_line(interpolate="step-after")
    lines = panels.encode(
        x=alt.X("candidates:Q", title="candidates"),
        y=alt.Y("value:Q", title="gain in accuracy", axis=alt.Axis(minExtent=36)),
        strokeDash=alt.StrokeDash("gain:N", title="gain", sort=["in truth", "on the hold-out"]),
        column=alt.Column("gate:N", title=None, sort=list(EXAMPLE_GATES)),
        row=alt.Row("edits:N", title=None),
    )
    save_chart(lines, OUT.parent / "images" / "loops.svg")
    return pd.DataFrame(rows)


FALSE = """Share of loops with at least one false acceptance, in percent ± Monte-Carlo error (2,000 loops a cell).
The plain gate takes each candidate as if it were the only one. Recombination, boosting and restarts see
the verdicts, and accepted candidates become the base; the other candidates are compared with the first
base."""
PROBING = """Probes with true gains find the sign of groups of items; the last candidate, made of those that seemed to
gain and equal to the base in truth, is accepted (percent ± error; 2,000 loops, 1,000 items):"""
POWER = """Power in percent ± error, the other 29 candidates being equal to the base; the systems differ on 20% of
the items (2,000 loops):"""
OTHERS = "Share of these loops in which one of the 29 others is accepted, in percent:"
RULES = """Bonferroni is valid where candidates do not depend on verdicts, as here, and fails where they do, as
above. Thresholdout and the Ladder are as published (T = .04, σ = .01, a training set of the same size
and no budget; one standard error); neither was made for this question. A gain of .02 on 1,000 items is
out of reach of any valid rule."""
EQUAL = "Loops through the command and through the vectorised copy that the tables above come from:"
KILLS = """Commands killed by signal 9 at random moments, and four processes of 50 commands each at once, on one
ledger. No verdict that was shown is missing from the ledger, no candidate is in it twice, and the levels
sum up exactly:"""


def write_page() -> None:
    """Write docs/bench/loops.md from the tables of all parts."""
    part = {path.stem[6:]: pd.read_csv(path) for path in OUT.glob("loops_*.csv")}

    def show_rows(table: pd.DataFrame) -> str:
        sides = ["---" if kind == object or kind == "str" else "---:" for kind in table.dtypes]  # noqa: E721
        rows = [table.columns, sides, *table.itertuples(index=False)]
        cells = [[f"{x:,}" if isinstance(x, int | np.integer) else str(x) for x in row] for row in rows]
        return "\n".join(f"| {' | '.join(row)} |" for row in cells)

    def show_shares(table: pd.DataFrame, rows: list[str], columns: str) -> str:
        cells: dict[tuple[Any, ...], dict[str, str]] = {}
        for row in table.to_dict("records"):
            shown = f"{row['percent']:.1f} ± {row['error']:.1f}"
            cells.setdefault(tuple(row[name] for name in rows), {})[str(row[columns])] = shown
        return show_rows(
            pd.DataFrame([dict(zip(rows, key, strict=True)) | cell for key, cell in cells.items()])
        )

    others = part["power"].groupby("rule", sort=False)["others_percent"].mean().round(1)
    texts = [
        FALSE, show_shares(part["false"], ["maker", "items", "gate"], "candidates"),
        PROBING, show_shares(part["probing"], ["candidates"], "gate"),
        POWER, show_shares(part["power"], ["items", "gain", "candidate"], "rule"),
        OTHERS, show_rows(others.to_frame().T), RULES,
        EQUAL, show_rows(part["equal"]), KILLS, show_rows(part["kills"]),
        "`python -m bench.loops` makes these tables.",
    ]  # fmt: skip
    (OUT / "loops.md").write_text(
        "\n\n".join(text.replace("\n", " ") if "|" not in text else text for text in texts) + "\n"
    )


def run_parts() -> None:
    """Run the parts that are asked for and write their tables."""
    parts: dict[str, Callable[[int], pd.DataFrame]] = {
        "false": lambda loops: count_false(loops, chosen.seen or loops),
        "probing": attack_by_probing,
        "power": measure_power,
        "equal": lambda loops: compare_with_command(100),
        "kills": lambda loops: kill_and_crowd(200, 50),
        "example": draw_example,
    }
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=[*parts, "page"])
    parser.add_argument("--loops", type=int, default=2000)
    parser.add_argument("--seen", type=int, help="loops of makers that see the verdicts; as many by default")
    chosen = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    for part in chosen.parts:
        if part == "page":
            write_page()
            continue
        began = time.monotonic()
        table = parts[part](chosen.loops)
        table.round(6).to_csv(OUT / f"loops_{part}.csv", index=False)
        print(part, f"{time.monotonic() - began:.0f} s", flush=True)


if __name__ == "__main__":
    run_parts()
