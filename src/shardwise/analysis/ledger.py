"""A gate for loops: one hold-out, hundreds of candidates, and one error rate for all of them together.

Only PASS or FAIL is revealed of each candidate, which is tested at the level of `stats.loops`. A ledger, a file that
lines are added to, records the hold-out, every candidate, and what was revealed.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from shardwise.analysis.gate import select_one
from shardwise.core import late
from shardwise.core.arguments import validate_level
from shardwise.core.arrays import Floats
from shardwise.core.errors import InputError, Option
from shardwise.core.libraries import pd
from shardwise.core.measure import BY_VALUES, UNIT
from shardwise.core.shown import Shown
from shardwise.io.journal import Journal, open_journal, read_journal
from shardwise.methods.intervals import bound_scores
from shardwise.stats import intervals
from shardwise.stats.intervals import Range
from shardwise.stats.loops import Answers, answers_p, detect_gain, differences_p, look_level
from shardwise.stats.student import student_critical

FORMAT = "shardwise ledger 1"
OWN = "ledger"
"""What `base_of` says for the base of the ledger that is written to."""
KEPT = ("items", "measure", "range", "margin", "alpha", "declared", "after")
"""What must not change over the life of a ledger."""
WORN = 1.5
"""A hold-out is worn out where it detects only gains so many times as large as those of its first candidate."""
PLANNED = (3, 10, 30, 100, 300, 1000)
"""Numbers of candidates that a plan shows."""
PASS, FAIL = "pass", "fail"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LedgerGate(Shown):
    """Verdict on one candidate of a loop: "pass" or "fail", and nothing else of its scores unless that was asked for.

    The probability that any candidate of the ledger ever passes without being better (with a margin: while losing the
    margin or more) is at most alpha/2, whatever the candidates were made from, if only verdicts were seen.
    """

    verdict: str
    base: str
    new: str
    measure: str
    # number of this candidate
    candidate: int
    # candidates judged and accepted so far
    candidates: int
    accepted: int
    # of this candidate's test, of all tests so far, and what is left of alpha/2
    level: float
    spent: float
    left: float
    # true gain with which the next candidate passes with a probability of `power`; infinite where none does
    detectable: float
    power: float
    # whether it is much larger than that of the first candidate
    worn: bool
    # candidates that were declared, and none if the ledger stays open
    declared: int | None
    margin: float
    alpha: float
    items: int
    noun: str
    right_wrong: bool
    # candidates whose figures were revealed
    revealed: int
    # whether the same candidate was judged before
    repeated: bool
    # hash of the last line of the ledger
    digest: str
    # only where they are revealed
    difference: float | None = None
    lower: float | None = None
    upper: float | None = None
    p: float | None = None

    @property
    def passes(self) -> bool:
        """Whether the candidate is accepted."""
        return self.verdict == PASS

    def to_frame(self) -> pd.DataFrame:
        """Return all figures as one row.

        Returns
        -------
        DataFrame
            One row; difference, interval and p only where they are revealed.
        """
        names = ["base", "new", "verdict", "candidate", "candidates", "accepted", "level", "spent", "left"]
        names += ["detectable", "items"]
        names += ["difference", "lower", "upper", "p"] if self.p is not None else []
        return pd.DataFrame([{name: getattr(self, name) for name in names}])

    def to_sentence(self) -> str:
        """Return the verdict in one sentence.

        Returns
        -------
        str
            What may be said.
        """
        return str(self).splitlines()[0]

    def __str__(self) -> str:
        text: str = late.call_bound("ledger_gate_text", self)
        return text


class HoldOut(NamedTuple):
    """The scores of one candidate, and of the base unless the ledger has them, on items in the order of their names."""

    names: tuple[str, ...]
    # (n,) in [0, 1], 1 the best
    new: Floats
    base: Floats | None
    # (n,) number of each item's cluster
    cluster: Any
    bounds: Range
    measure: str
    items: str
    noun: str

    @property
    def right_wrong(self) -> bool:
        """Whether all scores are right or wrong, item by item."""
        scores = self.new if self.base is None else np.concatenate([self.new, self.base])
        return self.cluster is None and bool(np.isin(scores, (0.0, 1.0)).all())

    def average_units(self, scores: Floats) -> Floats:
        """Means of the independent units: clusters, or the items themselves."""
        if self.cluster is None:
            return scores
        return np.asarray(np.bincount(self.cluster, scores) / np.bincount(self.cluster))


def gate_by_ledger(
    base: Any,
    new: Any,
    path: str | os.PathLike[str],
    *,
    margin: float = 0.01,
    scores: Any = None,
    power: float = 0.8,
    alpha: float = 0.05,
    repeats: str | None = None,
    range: tuple[float, float] | None = None,
    lower_is_better: bool | None = None,
    reveal: bool = False,
    candidates: int | None = None,
    base_of: str | os.PathLike[str] | None = None,
) -> LedgerGate:
    """Judge one candidate of a loop, and record it in a ledger.

    Parameters
    ----------
    base, new, scores, power, alpha, repeats, range, lower_is_better
        As for `gate`; one new system, and no base for the last accepted candidate (at first the base) of the ledger.
    path : path
        The ledger; made with the first candidate.
    margin : float
        The largest loss that does not matter; with 0 a candidate passes that is better.
    reveal : bool
        Whether to show difference, interval and p, and to record that.
    candidates : int, optional
        How many candidates there will be, declared with the first one; the ledger closes then.
    base_of : path, optional
        An earlier ledger that a new one refers to, or "ledger" for the base of this one.

    Returns
    -------
    LedgerGate
        The verdict.
    """
    if not (np.isfinite(margin) and margin >= 0.0):
        raise InputError(f"a margin of {margin} cannot be met", remedy="give 0 or more", argument="margin")
    if candidates is not None and candidates < 1:
        raise InputError(f"{candidates} candidates cannot be judged", remedy="declare 1 or more")
    validate_level(alpha)
    validate_level(power, "power")
    is_own = base_of is not None and (
        str(base_of) == OWN or Path(base_of).absolute() == Path(path).absolute()
    )
    after = None if base_of is None or is_own else _refer_to(base_of)
    if is_own and base is not None:
        raise InputError(
            "both a base and that of the ledger are given",
            remedy=("give the new system alone, or remove ", Option("base_of")),
        )
    pair = select_one(base, new, scores, repeats, "a ledger")
    with open_journal(path) as journal:
        head = _read_head(journal)
        if range is None and head is not None:
            range = (head["range"][0], head["range"][1])
        data = _take_scores(pair, range, lower_is_better)
        names = pair.systems
        width = data.bounds.width
        question = {
            "items": data.items, "measure": data.measure, "range": list(data.bounds), "margin": margin, "alpha": alpha,
            "declared": candidates, "after": after,
        }  # fmt: skip
        if head is None:
            if data.base is None:
                raise InputError(
                    "does not have a base yet", where=str(path), remedy="give the scores of the base too"
                )
            if margin >= width:
                raise InputError(f"a margin of {margin} is the whole range", remedy="give a smaller one")
            head = {
                "entry": "begin", "format": FORMAT, **question, "count": len(data.new), "noun": data.noun,
                "units": len(data.average_units(data.new)), "right_wrong": data.right_wrong, "base": names[1],
                "scores": _list_scores(data.base), "time": _now(),
            }  # fmt: skip
            begun: list[dict[str, Any]] = [head]
        else:
            _check_question(head, question, path, candidates is None, after is None)
            begun = []
        if head["right_wrong"] and not data.right_wrong:
            raise InputError(
                "was begun with right and wrong answers, and now there are other scores",
                where=str(path),
                remedy="begin another ledger with these scores",
            )
        ledger = Ledger(journal, head)
        base_name, base_scores = (names[1], data.base) if data.base is not None else ledger.base
        known = {"name": names[0], "scores": _digest(data.new), "base": _digest(base_scores)}
        look = ledger.find_look(known, any_base=data.base is None)
        repeated = look is not None
        if look is not None and look["base"] != known["base"]:
            base_scores = ledger.restore_base(look, reveal)
        units = [data.average_units(values) for values in (data.new, base_scores)]
        if look is None:
            number, accepted = len(ledger.looks) + 1, ledger.accepted
            if head["declared"] is not None and number > head["declared"]:
                raise InputError(
                    f"closed after the {head['declared']} candidates that were declared",
                    where=str(path),
                    remedy="begin another ledger with fresh items",
                )
            level = ledger.next_level
            passes = _test(units, head, level) <= level
            look = {
                "entry": "candidate", "candidate": number, **known, "base_name": base_name, "level": level,
                "spent": ledger.spent + level, "left": alpha / 2.0 - ledger.spent - level,
                "verdict": PASS if passes else FAIL, "accepted": accepted + passes, "time": _now(),
            }  # fmt: skip
            if passes:
                look["of"] = _list_scores(data.new)
            begun.append(look)
        if reveal:
            begun.append({"entry": "reveal", "candidate": look["candidate"], "time": _now()})
        # nothing is said before it is on the disk
        if begun:
            journal.append(*begun)
        ledger = Ledger(journal, head)
    figures: dict[str, float] = {}
    if reveal:
        figures = _reveal(units, data.bounds, head, look["level"])
    return LedgerGate(
        look["verdict"], look["base_name"], names[0], data.measure, look["candidate"], len(ledger.looks),
        ledger.accepted, look["level"], ledger.spent, alpha / 2.0 - ledger.spent, ledger.detect(power), power,
        ledger.is_worn(power), head["declared"], margin, alpha, head["count"], head["noun"], head["right_wrong"],
        ledger.revealed, repeated, journal.digest, **figures,
    )  # fmt: skip


class Ledger:
    """What the entries of a ledger say."""

    def __init__(self, journal: Journal, head: Mapping[str, Any]) -> None:
        """Read the entries, and refuse those that no gate wrote."""
        self.head = head
        self.path, self.digest = journal.path, journal.digest
        self.looks = [entry for entry in journal.entries if entry["entry"] == "candidate"]
        self.revealed = len({entry["candidate"] for entry in journal.entries if entry["entry"] == "reveal"})
        self.accepted, self.spent = 0, 0.0
        for number, look in enumerate(self.looks, 1):
            level = self._level(number, self.accepted)
            self.accepted += look["verdict"] == PASS
            self.spent += level
            if look["candidate"] != number or not np.isclose(look["level"], level, rtol=1e-9):
                raise InputError(
                    f"candidate {look['candidate']} is not what a gate wrote",
                    where=str(self.path),
                    remedy="restore the file, or begin another one with fresh items",
                )

    def _level(self, number: int, accepted: int) -> float:
        return float(look_level(number, accepted, self.head["alpha"] / 2.0, self.head["declared"]))

    @property
    def next_level(self) -> float:
        """The level of the next candidate."""
        return self._level(len(self.looks) + 1, self.accepted)

    @property
    def closed(self) -> bool:
        """Whether all candidates that were declared have been judged."""
        return self.head["declared"] is not None and len(self.looks) >= self.head["declared"]

    @property
    def base(self) -> tuple[str, Floats]:
        """Name and scores of the last accepted candidate, or of the first base."""
        passed = [look for look in self.looks if look["verdict"] == PASS]
        if passed:
            return str(passed[-1]["name"]), np.array(passed[-1]["of"], np.float64)
        return str(self.head["base"]), np.array(self.head["scores"], np.float64)

    def restore_base(self, look: Mapping[str, Any], needed: bool) -> Floats:
        """Scores that an earlier candidate was compared with, where the ledger has them."""
        kept = [self.head["scores"], *(other["of"] for other in self.looks if other["verdict"] == PASS)]
        base_scores = next(
            (np.array(x, np.float64) for x in kept if _digest(np.array(x)) == look["base"]), None
        )
        if base_scores is None and needed:
            raise InputError(
                f"does not have the scores of {look['base_name']}",
                where=str(self.path),
                remedy="give the scores of the base too",
            )
        return self.base[1] if base_scores is None else base_scores

    def find_look(self, known: Mapping[str, str], any_base: bool) -> dict[str, Any] | None:
        """The last look at the same candidate, against the same base where one is given; None if there was none."""
        asked = [name for name in known if not (any_base and name == "base")]
        same = [look for look in self.looks if all(look[name] == known[name] for name in asked)]
        return same[-1] if same else None

    def detect(self, power: float, level: float | None = None) -> float:
        """The true gain with which a candidate passes with this power, at the next level unless one is given."""
        if level is None and self.closed:
            return float("inf")
        low, high, _ = self.head["range"]
        gain = detect_gain(
            self.head["units"], self.next_level if level is None else level, power=power,
            margin=self.head["margin"] / (high - low), right_wrong=self.head["right_wrong"],
        )  # fmt: skip
        return gain * float(high - low)

    def plan(self, power: float) -> pd.DataFrame:
        """Return a table of candidates to come: level, and gain that is detected, by acceptances until then."""
        now, declared = len(self.looks), self.head["declared"]
        numbers = [now + 1, *(t for t in PLANNED if t > now + 1 and t <= (declared or t))]
        rows = [
            {"candidate": t, "accepted": k, "level": level, "detectable": self.detect(power, level)}
            for t in ([] if self.closed else numbers)
            for k in (self.accepted + more for more in (0, 1, 3))
            if k < t and k - self.accepted < t - now
            for level in [self._level(t, k)]
        ]
        return pd.DataFrame(rows, columns=["candidate", "accepted", "level", "detectable"])

    def is_worn(self, power: float) -> bool:
        """Whether much less can be shown than by the first candidate."""
        margin = float(self.head["margin"])
        return self.detect(power) + margin >= WORN * (self.detect(power, self._level(1, 0)) + margin)


def load_ledger(path: str | os.PathLike[str]) -> Ledger:
    """Load a ledger that is there, to look at it."""
    journal = read_journal(path)
    head = _read_head(journal)
    if head is None:
        raise InputError("has no candidates yet", where=str(path), remedy="judge one first")
    return Ledger(journal, head)


def _read_head(journal: Journal) -> dict[str, Any] | None:
    """The first entry; None of a ledger that is begun now."""
    if not journal.entries:
        return None
    head = journal.entries[0]
    if head.get("format") != FORMAT:
        raise InputError("is not a ledger", where=str(journal.path), remedy="name another file")
    return head


def _take_scores(pair: Any, range: tuple[float, float] | None, lower_is_better: bool | None) -> HoldOut:
    """The scores of a candidate and perhaps the base, checked: bounded, complete, of one task."""
    declared = pair.declare(range=range, lower_is_better=lower_is_better)
    measure, bounded = declared.measure, bound_scores(declared)
    guessed = measure.range_from == BY_VALUES and measure.range != UNIT
    if bounded is None or guessed:
        raise InputError(
            f"a ledger needs the range of {measure.name}",
            remedy=("add ", Option("range", "0,100" if guessed else "…")),
        )
    if bounded.task is not None:
        raise InputError("a ledger judges items of one task", remedy="give one task")
    if missing := int((~np.isfinite(bounded.scores)).any(axis=1).sum()):
        raise InputError(f"{missing} items lack a score, and a ledger needs all", remedy="score all items")
    labels = pair.topics
    order = np.array(sorted(np.arange(len(labels)), key=lambda k: labels[k]))
    columns = bounded.scores[order].T
    clusters = None if bounded.cluster is None else bounded.cluster[order]
    described = [[labels[k] for k in order], None if clusters is None else clusters.tolist()]
    return HoldOut(
        pair.systems, columns[0], columns[1] if len(columns) > 1 else None, clusters, bounded.bounds,
        measure.name, hashlib.sha256(json.dumps(described).encode()).hexdigest(), pair.nouns.get("topic", "topic"),
    )  # fmt: skip


def _check_question(
    head: Mapping[str, Any], question: Mapping[str, Any], path: Any, open_number: bool, no_reference: bool
) -> None:
    """Refuse a question that is not the one the ledger was begun with."""
    unasked = {"declared": open_number, "after": no_reference}
    words = {"declared": "candidates", "after": "earlier ledger"}
    for name in KEPT:
        before, now = head[name], question[name]
        if name == "after":
            # which may have gone on since
            before, now = (value and value["ledger"] for value in (before, now))
        if before == now or unasked.get(name):
            continue
        if name == "items":
            raise InputError(
                "was begun with other items",
                where=str(path),
                remedy="score the same items, or begin another ledger",
            )
        raise InputError(
            f"was begun with {words.get(name, name)} {before}, and now it is {now}",
            where=str(path),
            remedy="keep it, or begin another ledger",
        )


def _refer_to(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What a new ledger keeps of an earlier one: its file, its last hash, and the base that it led to."""
    earlier = load_ledger(path)
    return {"ledger": Path(path).name, "digest": earlier.digest, "base": earlier.base[0]}


def _test(units: list[Floats], head: Mapping[str, Any], level: float) -> float:
    """p of a candidate, valid at this level."""
    differences = units[0] - units[1]
    margin = head["margin"] / (head["range"][1] - head["range"][0])
    if head["right_wrong"]:
        gains, losses = (
            np.array(float(count)) for count in ((differences > 0).sum(), (differences < 0).sum())
        )
        return float(answers_p(Answers(gains, losses, float(len(differences))), margin, level))
    return float(differences_p(differences, margin, level))


def _reveal(units: list[Floats], bounds: Range, head: Mapping[str, Any], level: float) -> dict[str, float]:
    """Difference, interval and p of one candidate, as if it were the only one."""
    moments = intervals.pair_moments(*units)
    limits = intervals.difference_limits(moments, student_critical(head["alpha"], len(units[0]) - 1.0))
    lower, upper = bounds.restore_differences(*limits)
    difference = float(moments.mean) * bounds.width * (-1.0 if bounds.lower_is_better else 1.0)
    return {
        "difference": difference, "lower": float(lower), "upper": float(upper), "p": _test(units, head, level),
    }  # fmt: skip


def _digest(scores: Floats) -> str:
    """Fingerprint of scores, rounding apart."""
    return hashlib.sha256((np.round(scores, 12) + 0.0).astype("<f8").tobytes()).hexdigest()


def _list_scores(scores: Floats) -> list[float]:
    """Scores as JSON holds them, whole numbers short."""
    return [int(x) if x == int(x) else float(x) for x in scores]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
