"""Tables of odd shapes in which all systems are equal: how often does an answer say otherwise, or contradict itself?

    python -m fuzz.nulls                         # every shape, 200 tables each
    python -m fuzz.nulls --tables 1000 --seed 3
    python -m fuzz.nulls --shape "grades 1-5"    # one shape

False alarms of a shape are held against 5% by a binomial limit; a contradiction in a single answer is a failure:
a winner without the best mean, wins in a circle, p above 0.05 beside "significant", a significant pair whose interval
holds 0, an interval of no width, an error that is not a refusal in one line. Tables that are refused count apart.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

import shardwise as sw
from fuzz.meaning.terminal import run_line, write_inputs
from shardwise.writing.downloads import report_json

ALPHA = 0.05
UNLIKELY = 1e-3
"""A shape fails where chance alone would bring so many false alarms at a true 5% less often than this."""
BY_COMMAND = 20
"""One table in so many goes through the command line as well."""
Generator = np.random.Generator


class Outcome(NamedTuple):
    """What became of one table."""

    # refused, quiet or alarm
    state: str
    faults: tuple[str, ...] = ()


def long_table(scores: np.ndarray[Any, np.dtype[np.float64]], **labels: list[str]) -> pd.DataFrame:
    """Return (T, R) or (T, R, M) scores as rows of question, model and perhaps seed; NaN rows are left out."""
    rows = []
    for index in np.ndindex(*scores.shape):
        if np.isfinite(scores[index]):
            row = {"question": f"q{index[0]}", "model": f"m{index[1]}"}
            row |= {name: values[index[0]] for name, values in labels.items()}
            row |= {"seed": str(index[2])} if scores.ndim == 3 else {}
            rows.append({**row, "score": float(scores[index])})
    return pd.DataFrame(rows)


def lose_scores(scores: Any, share: float, rng: Generator) -> Any:
    """Return scores with a share of them missing at random."""
    return np.where(rng.random(scores.shape) < share, np.nan, scores)


def right_wrong(rng: Generator, topics: int, systems: int, share: float = 0.8) -> Any:
    """Return (T, R) answers that are right with one probability for all systems, harder and easier questions."""
    ease = rng.beta(5.0 * share, 5.0 * (1.0 - share), size=(topics, 1))
    return (rng.random((topics, systems)) < ease).astype(float)


def grades(rng: Generator, topics: int, systems: int, low: int, high: int) -> Any:
    """Return (T, R) grades near the top of a scale."""
    quality = rng.normal(high - 0.5, 1.0, size=(topics, 1)) + rng.normal(0.0, 0.7, size=(topics, systems))
    return np.clip(np.rint(quality), low, high)


def few_buyers(rng: Generator) -> pd.DataFrame:
    """Return users who met one of two variants, one in twenty of whom spends anything."""
    users = int(rng.integers(50, 200))
    spent = np.where(rng.random(users) < 0.05, rng.lognormal(3.0, 1.0, users), 0.0)
    names = [f"u{k}" for k in range(users)]
    return pd.DataFrame({"user": names, "variant": rng.choice(["old", "new"], users), "revenue": spent})


def noisy_seeds(rng: Generator) -> pd.DataFrame:
    """Return two seeds of three systems, one of which varies three times as much between seeds."""
    shift = rng.normal(0.0, [0.03, 0.03, 0.09], size=(2, 3)).T
    items = rng.normal(0.5, 0.15, size=(30, 1, 1)) + rng.normal(0.0, 0.1, size=(30, 3, 1))
    return long_table(items + shift[None] + rng.normal(0.0, 0.05, size=(30, 3, 2)))


def one_shared_item(rng: Generator) -> pd.DataFrame:
    """Return three systems of which each two share one item."""
    scores = rng.random((3, 3))
    scores[[0, 1, 2], [2, 0, 1]] = np.nan
    return long_table(scores)


def constant_system(rng: Generator) -> pd.DataFrame:
    """Return right and wrong answers beside a system that always scores their true mean."""
    scores = (rng.random((12, 3)) < 0.5).astype(float)
    scores[:, 0] = 0.5
    return long_table(scores)


def clustered(rng: Generator) -> pd.DataFrame:
    """Return answers to four questions a passage, few passages."""
    passages = int(rng.integers(3, 7))
    effects = rng.normal(0.0, 0.15, size=(passages, 3)).repeat(4, axis=0)
    scores = rng.normal(0.5, 0.1, size=(4 * passages, 3)) + effects
    return long_table(scores, passage=[f"p{k // 4}" for k in range(4 * passages)])


def two_tasks(rng: Generator) -> pd.DataFrame:
    """Return four items in two tasks."""
    return long_table((rng.random((4, 2)) < 0.7).astype(float), task=["x", "x", "y", "y"])


SHAPES: dict[str, Callable[[Generator], pd.DataFrame]] = {
    "2-5 items": lambda g: long_table(g.normal(0.5, 0.1, size=(g.integers(2, 6), g.integers(2, 6)))),
    "2-5 right/wrong": lambda g: long_table(right_wrong(g, int(g.integers(2, 6)), int(g.integers(2, 5)))),
    "8 right/wrong": lambda g: long_table(right_wrong(g, 8, 3)),
    "50 right/wrong": lambda g: long_table(right_wrong(g, 50, 3, 0.95)),
    "0 or 100": lambda g: long_table(100.0 * right_wrong(g, 30, 3, 0.9)),
    "percent": lambda g: long_table(np.clip(g.normal(92.0, 6.0, size=(20, 3)), 0.0, 100.0).round()),
    "grades 1-5": lambda g: long_table(grades(g, 25, 3, 1, 5)),
    "grades 1-10": lambda g: long_table(grades(g, 25, 3, 1, 10)),
    "seconds": lambda g: long_table(g.lognormal(0.0, 1.0, size=(20, 3))),
    "ties": lambda g: long_table(np.where(g.random((20, 3)) < 0.9, 0.5, g.random((20, 3)))),
    "3 x 6, half missing": lambda g: long_table(lose_scores(g.normal(0.5, 0.1, size=(6, 3)), 0.5, g)),
    "5 x 10, 70% missing": lambda g: long_table(lose_scores(g.normal(0.5, 0.1, size=(10, 5)), 0.7, g)),
    "30 x 4, 30% missing": lambda g: long_table(lose_scores(g.normal(0.5, 0.1, size=(30, 4)), 0.3, g)),
    "one shared item": one_shared_item,
    "constant system": constant_system,
    "few clusters": clustered,
    "two tasks": two_tasks,
    "two seeds, one noisy": noisy_seeds,
    "few buyers": few_buyers,
}


def judge_table(table: pd.DataFrame, *, by_command: bool = False) -> Outcome:
    """Analyse one table of equal systems, perhaps by commands too, and look for alarms and contradictions."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            analysis = sw.analyze(table, calibration=0, n_resamples=499)
            pairs = analysis.comparisons
            significant = pairs.reject(ALPHA)
            faults = [*find_contradictions(pairs, significant), *check_sentences(analysis, significant)]
    except sw.InputError:
        return Outcome("refused")
    except Exception as error:
        return Outcome("crash", (f"{type(error).__name__}: {error}",))
    if by_command and pairs.complete:
        faults += check_commands(table, analysis)
    return Outcome("alarm" if significant.any() else "quiet", tuple(faults))


def find_contradictions(pairs: Any, significant: Any) -> Iterator[str]:
    """Yield what the comparisons say against themselves."""
    frame = pairs.to_frame()
    lower, upper = frame["lower"].to_numpy(dtype=float), frame["upper"].to_numpy(dtype=float)
    p = frame["p_adjusted"].to_numpy(dtype=float)
    if (significant & ~(p <= ALPHA)).any():
        yield "p above 0.05 beside significant"
    if (significant & (lower < 0.0) & (upper > 0.0)).any():
        yield "a significant pair whose interval holds 0"
    if (~significant & ((lower > 0.0) | (upper < 0.0))).any():
        yield "a tied pair whose interval leaves 0 out"
    if (upper - lower <= 0.0).any():
        yield "an interval of a difference without width"
    means = pairs.intervals()
    if (means["upper"] - means["lower"] <= 0.0).any():
        yield "an interval of a mean without width"
    if pairs.complete:
        best = pairs.best(ALPHA)
        if best and pairs.names[0] not in best:
            yield "the best mean is not in the best set"
        wins = {(row.a, row.b) for row in frame[significant].itertuples()}
        if any((b, a) in wins for a, b in wins) or has_circle(wins):
            yield "wins in a circle"


def has_circle(wins: set[tuple[str, str]]) -> bool:
    """Return whether wins lead from a system back to it."""
    left = set(wins)
    while left:
        beaten = {b for _, b in left}
        rest = {(a, b) for a, b in left if a in beaten}
        if rest == left:
            return True
        left = rest
    return False


def check_sentences(analysis: Any, significant: Any) -> Iterator[str]:
    """Yield where the headline or the report's data disagree with the comparisons."""
    headline = str(analysis).split("\n", 1)[0]
    if "nan" in headline.lower():
        yield "a headline with nan"
    if "significantly better" in headline and not significant.any():
        yield "a winner without a significant pair"
    lead = next(claim for claim in report_json(analysis)["claims"] if claim["leads"])
    if lead["found"] != int(significant.sum()):
        yield "the report counts other pairs as significant"


def check_commands(table: pd.DataFrame, analysis: Any) -> Iterator[str]:
    """Yield where `compare` and `leaderboard` on the same table as a file say something else than the library."""
    folder = write_inputs({"table.csv": table.to_csv(index=False).encode()}, "nulls")
    pairs = analysis.comparisons
    expected = {
        "compare": {(row.a, row.b): row.p_adjusted for row in pairs.to_frame().itertuples()},
        "leaderboard": {
            name: (row["rank_best"], row["rank_worst"]) for name, row in pairs.ranks().iterrows()
        },
    }
    resampled = ("--resamples", "499") if pairs.resamples else ()
    for command, figures in expected.items():
        try:
            done = run_line(folder, command, "table.csv", *resampled, "--format", "json")
        except Exception as error:
            yield f"{command}: {type(error).__name__}: {str(error)[-200:]}"
            continue
        if done.code:
            yield f"{command} refuses what the library reads: {done.err.strip()[:100]}"
            continue
        for row in json.loads(done.out)["rows"]:
            if command == "leaderboard":
                same = figures[row["system"]] == (row["rank_best"], row["rank_worst"])
            else:
                same = np.isclose(
                    figures[row["a"], row["b"]], float(row["p_adjusted"] or "nan"), rtol=1e-6, equal_nan=True
                )
            if not same:
                yield f"{command} says something else than the library"
                break


def run_shape(name: str, tables: int, seed: int) -> tuple[Counter[str], Counter[str]]:
    """Return how many tables of a shape were quiet, alarms or refused, and how often each fault occurred."""
    states: Counter[str] = Counter()
    faults: Counter[str] = Counter()
    for index in range(tables):
        rng = np.random.default_rng([seed, list(SHAPES).index(name), index])
        outcome = judge_table(SHAPES[name](rng), by_command=index % BY_COMMAND == 0)
        states[outcome.state] += 1
        faults.update(outcome.faults)
    return states, faults


def exceeds_limit(states: Counter[str]) -> bool:
    """Return whether the alarms of a shape are more than chance brings at 5%."""
    tested = states["alarm"] + states["quiet"]
    return bool(stats.binom.sf(states["alarm"] - 1, tested, ALPHA) < UNLIKELY) if tested else False


def main() -> int:
    """Run the shapes, print a row each, and return 1 where one fails."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--shape", choices=list(SHAPES), action="append")
    options = parser.parse_args()
    failed = False
    print(f"{'shape':24}{'alarms':>8}{'quiet':>8}{'refused':>9}  faults")
    for name in options.shape or SHAPES:
        states, faults = run_shape(name, options.tables, options.seed)
        wrong = exceeds_limit(states) or bool(faults)
        failed |= wrong
        said = "; ".join(f"{number} × {fault}" for fault, number in faults.most_common())
        mark = " FAILS" if wrong else ""
        print(
            f"{name:24}{states['alarm']:8}{states['quiet']:8}{states['refused']:9}  {said}{mark}", flush=True
        )
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
