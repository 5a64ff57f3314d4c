"""What scores are of: the measure's name, its range, and whether lower scores are better, with how each is known."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from shardwise.core.arrays import Floats
from shardwise.core.errors import InputError, Option

DECLARED, BY_NAME, BY_VALUES = "declared", "name", "values"
"""How a range or a direction is known; empty where it is not."""
UNNAMED = "score"
"""The measure of scores that name none."""

UNIT = (0.0, 1.0)
SCALES = ((1.0, 5.0), (0.0, 5.0), (1.0, 7.0), (1.0, 10.0), (0.0, 10.0), (0.0, 100.0))
"""Customary scales of grades and percentages, the smallest first."""

ERROR, AMOUNT, SPEED = "error", "amount", "speed"
"""Kinds of measures by name: shares of errors, and losses, times and costs, of which less is better; and speeds."""
WORDS = tomllib.loads(Path(__file__).with_name("words.toml").read_text("utf-8"))
"""Words by which measures and dimensions are known."""
PHRASES = {phrase: kind for kind, phrases in WORDS["phrases"].items() for phrase in phrases}
DROPPED, ENDS, CLOCK, NEGATIONS, MEANS = (
    frozenset(WORDS["parts"][name].split()) for name in ("dropped", "ends", "clock", "negations", "means")
)
_WORDS = {word: kind for kind, words in WORDS["kinds"].items() for word in words.split()}
_TOKEN = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+|[A-Z]")


@dataclass(frozen=True, slots=True)
class MeasureFacts:
    """What is known of a measure.

    Parameters
    ----------
    name : str
        What it is called.
    range : (float, float), optional
        Lowest and highest score there can be.
    lower_is_better : bool
        Whether small scores are good.
    range_from, direction_from : str
        How each is known: ``"declared"``, by its ``"name"``, by the ``"values"``; empty where it is not.
    """

    name: str = UNNAMED
    range: tuple[float, float] | None = None
    lower_is_better: bool = False
    range_from: str = ""
    direction_from: str = ""

    @property
    def sign(self) -> int:
        """1 where higher scores are better, -1 where lower ones are."""
        return -1 if self.lower_is_better else 1


def classify_measure(name: str) -> str:
    """Return the kind of measure that a name stands for, by its last word that is no unit or statistic.

    >>> [classify_measure(name) for name in ("wer", "test_time_ms", "tokens_per_second", "cost_per_query", "accuracy")]
    ['error', 'amount', 'speed', 'amount', '']
    >>> [classify_measure(name) for name in ("peak_rss_mb", "trans_err_cm", "ERR@20", "nERR")]
    ['amount', 'error', '', '']
    """
    written = _TOKEN.findall(name)
    tokens = [token.lower() for token in written]
    text = f" {' '.join(tokens)} "
    if kind := next((kind for phrase, kind in PHRASES.items() if f" {phrase} " in text), ""):
        return kind
    if not tokens or tokens[0] in NEGATIONS:
        return ""
    if "rank" in tokens and set(tokens) <= {"rank", *MEANS}:
        return ERROR
    end = next((k for k, token in enumerate(tokens) if k and token in ENDS), len(tokens))
    if any(_WORDS.get(token) == SPEED for token in tokens):
        return SPEED
    words = [token for token in tokens[:end] if token not in DROPPED] or tokens[:end]
    if words[-1] == "err" and len(words) > 1 and words[-2] != "n" and "ERR" not in written:
        # top1_err is an error, nERR and ERR are gains
        return ERROR
    if words[-1] == "score" and len(words) > 1 and _WORDS.get(words[-2]) == ERROR:
        return ERROR
    of_clock = tokens[end : end + 1] == ["per"] and set(tokens[end + 1 :]) & CLOCK
    return _WORDS.get(words[-1], "") or (SPEED if of_clock else "")


def is_lower_better(name: str) -> bool:
    """Return whether a measure's name says that lower scores are better.

    >>> is_lower_better("error_rate"), is_lower_better("recip_rank"), is_lower_better("tokens_per_second")
    (True, False, False)
    """
    return classify_measure(name) in (ERROR, AMOUNT)


def find_range(
    name: str, values: Floats, declared: Sequence[float] | None = None, source: str = DECLARED
) -> tuple[tuple[float, float] | None, str]:
    """Return the range of scores and how it is known: declared, by the measure's name, or by the scores.

    0 to 1 where all scores lie in it. Else, where scores repeat (at most half as many values as scores), the smallest
    customary scale that holds them all, or the range seen. No range is guessed for times, costs, losses and speeds.

    >>> find_range("score", np.array([0.0, 0.5, 1.0]))
    ((0.0, 1.0), 'values')
    >>> find_range("grade", np.array([2.0, 4.0, 4.0, 2.0])), find_range("score", np.array([12.0, 31.0]))
    (((1.0, 5.0), 'values'), (None, ''))
    """
    finite = values[np.isfinite(values)]
    lowest, highest = (float(finite.min()), float(finite.max())) if finite.size else UNIT
    if declared is not None:
        limits = _check_range(declared)
        if limits[0] <= lowest and highest <= limits[1]:
            return limits, source
        if source == DECLARED:
            outside = lowest if lowest < limits[0] else highest
            raise InputError(
                f"a score of {outside:g} lies outside the range {limits[0]:g} to {limits[1]:g}",
                remedy=("correct the score, or ", Option("range")),
            )
    if not finite.size or classify_measure(name) in (AMOUNT, SPEED):
        return None, ""
    if UNIT[0] <= lowest and highest <= UNIT[1]:
        return UNIT, BY_VALUES
    if 2 * len(np.unique(finite)) > len(finite):
        return None, ""
    holding = (scale for scale in SCALES if scale[0] <= lowest and highest <= scale[1])
    seen = (lowest, highest) if lowest < highest else None
    taken = next(holding, seen)
    return taken, "" if taken is None else BY_VALUES


def _check_range(limits: Sequence[float]) -> tuple[float, float]:
    low, high = float(limits[0]), float(limits[1])
    if not (np.isfinite([low, high]).all() and low < high):
        raise InputError(
            f"{low:g} to {high:g} is not a range", remedy="give the lowest and the highest score"
        )
    return low, high
