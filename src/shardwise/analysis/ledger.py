"""A gate for loops: one hold-out, hundreds of candidates, and one error rate for all of them together.

Only PASS or FAIL is revealed of each candidate, tested at a level of `stats.sequential`. A ledger, a file that
lines are added to, records the hold-out, every candidate, and what was revealed.

Of several measures all must pass, each at that level: a candidate that is not better by one of them passes its test
with no higher probability. A slice that is significantly worse fails a candidate, which makes passing rarer still.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from shardwise.analysis.gate import Question, keep_range, select_one, split_items
from shardwise.core import late
from shardwise.core.arrays import Floats, Ints
from shardwise.core.errors import InputError, Option
from shardwise.core.libraries import pd
from shardwise.core.measure import BY_VALUES, UNIT
from shardwise.core.shown import Shown
from shardwise.io.journal import Journal, open_journal, read_journal
from shardwise.methods.tables import bound_scores
from shardwise.stats import intervals
from shardwise.stats.intervals import Range
from shardwise.stats.sequential import Answers, answers_p, detect_gain, differences_p, look_level
from shardwise.stats.student import student_critical

FORMAT = "shardwise ledger 1"
OWN = "ledger"
"""What `base_of` says for the base of the ledger that is written to."""
WORN = 1.5
"""A hold-out is worn out where it detects only gains so many times as large as those of its first candidate."""
PLANNED = (3, 10, 30, 100, 300, 1000)
"""Numbers of candidates that a plan shows."""
PASS, FAIL = "pass", "fail"

Table = Mapping[str, Floats]
"""(n,) scores of one system by each measure, in [0, 1], 1 the best, items in the order of their names."""


class Tested(NamedTuple):
    """Whether a requirement is met, and by which figures: shown only where they are revealed."""

    met: bool
    difference: float
    lower: float
    upper: float
    p: float


class Requirement(NamedTuple):
    """What is asked by one measure, on all items or on a slice, and what may be seen of it."""

    measure: str
    slice: str
    margin: float
    right_wrong: bool
    # true gain with which the next candidate passes with the given power; infinite where none does
    detectable: float
    # whether it is much larger than that of the first candidate
    worn: bool
    # only where they are revealed
    figures: Tested | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LedgerGate(Shown):
    """Verdict on one candidate of a loop: "pass" or "fail", and nothing else of its scores unless that was asked for.

    The probability that any candidate of the ledger ever passes without being better (with a margin: while losing the
    margin or more) by every measure is at most alpha/2, however the candidates were made, if only verdicts were seen.
    """

    verdict: str
    base: str
    new: str
    # number of this candidate
    candidate: int
    # candidates judged and accepted so far
    candidates: int
    accepted: int
    # of this candidate's test, of all tests so far, and what is left of alpha/2
    level: float
    spent: float
    left: float
    power: float
    # None if the ledger stays open
    candidates_declared: int | None
    alpha: float
    items: int
    noun: str
    # columns that make the slices
    by: tuple[str, ...]
    # candidates whose figures were revealed
    revealed: int
    # whether the same candidate was judged before
    repeated: bool
    # hash of the last line of the ledger
    digest: str
    # one a measure, then those of revealed slices; what follows is of the first
    each: tuple[Requirement, ...]
    margin: float
    detectable: float
    # only where they are revealed
    difference: float | None = None
    lower: float | None = None
    upper: float | None = None
    p: float | None = None

    @property
    def passes(self) -> bool:
        """Whether the candidate is accepted."""
        return self.verdict == PASS

    @property
    def measures(self) -> tuple[Requirement, ...]:
        """What is asked by each measure on all items."""
        return tuple(requirement for requirement in self.each if not requirement.slice)

    def to_frame(self) -> pd.DataFrame:
        """Return all figures, one row a measure and revealed slice.

        Returns
        -------
        DataFrame
            Difference, interval and p only where they are revealed; `measure` and `slice` where there are several.
        """
        names = ["base", "new", "verdict", "candidate", "candidates", "accepted", "level", "spent", "left"]
        whole = {name: getattr(self, name) for name in [*names, "items"]}
        rows = [whole | row._asdict() | (row.figures._asdict() if row.figures else {}) for row in self.each]
        named = (["measure"] if len(self.each) > 1 else []) + (["slice"] if self.by else [])
        figures = ["difference", "lower", "upper", "p"] if self.p is not None else []
        return pd.DataFrame(rows)[[*named, *names, "detectable", "items", *figures]]

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
    """The scores of one candidate, and of the base unless the ledger has them, and what is asked of them."""

    # what must not change over the life of a ledger, as its first entry has it
    asked: dict[str, Any]
    new: Table
    base: Table | None
    # (n,) number of each item's cluster
    cluster: Ints | None
    # places of the items of each slice
    slices: Mapping[str, Ints]

    def average_units(self, scores: Floats, label: str = "") -> Floats:
        """Means of the independent units of a slice, or of all items: clusters, or the items themselves."""
        items = self.slices[label] if label else np.arange(len(scores))
        if self.cluster is None:
            return scores[items]
        clusters = np.unique(self.cluster[items], return_inverse=True)[1]
        return np.asarray(np.bincount(clusters, scores[items]) / np.bincount(clusters))


def gate_by_ledger(
    base: str | None,
    new: Sequence[str],
    questions: Sequence[Question],
    path: str | os.PathLike[str],
    *,
    by: Sequence[str] = (),
    reveal: bool = False,
    candidates: int | None = None,
    base_of: str | os.PathLike[str] | None = None,
) -> LedgerGate:
    """Judge one candidate of a loop, and record it in a ledger.

    Parameters
    ----------
    base : str, optional
        The system in use; without it the last accepted candidate (at first the base) of the ledger.
    new : sequence of str
        One new system.
    questions : sequence of Question
        One a measure; with a margin of 0 a candidate passes that is better.
    path : path
        The ledger; made with the first candidate.
    by : sequence of str
        Columns that make the slices.
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
    if candidates is not None and candidates < 1:
        raise InputError(f"{candidates} candidates cannot be judged", remedy="declare 1 or more")
    is_own = base_of is not None and (
        str(base_of) == OWN or Path(base_of).absolute() == Path(path).absolute()
    )
    if is_own and base is not None:
        raise InputError(
            "both a base and that of the ledger are given",
            remedy=("give the new system alone, or remove ", Option("base_of")),
        )
    after = None
    if base_of is not None and not is_own:
        earlier = load_ledger(base_of)
        after = {"ledger": Path(base_of).name, "digest": earlier.digest, "base": earlier.base[0]}
    power = questions[0].power
    with open_journal(path) as journal:
        head, now = _read_head(journal), datetime.now(UTC).isoformat(timespec="seconds")
        data = _take_scores(base, new, questions, by, {} if head is None else head["measures"])
        asked = data.asked | {"declared": candidates, "after": after}
        begun: list[dict[str, Any]] = []
        if head is None:
            if base is None or data.base is None:
                raise InputError(
                    "does not have a base yet", where=str(path), remedy="give the scores of the base too"
                )
            head = {"entry": "begin", "format": FORMAT, **asked, "base": base, "time": now}
            head["scores"] = _list_scores(data.base)
            begun.append(head)
        else:
            _check_question(head, asked, path)
        ledger = Ledger(journal, head)
        base_name, base_scores = ledger.base if base is None or data.base is None else (base, data.base)
        known = {"name": new[0], "scores": _digest_scores(data.new), "base": _digest_scores(base_scores)}
        look = ledger.find_look(known, any_base=base is None)
        repeated = look is not None
        if look is None:
            level = ledger.next_level
            passes = all(tested.met for *_, tested in ledger.test_candidate(data, base_scores, level))
            look = {
                "entry": "candidate", "candidate": len(ledger.looks) + 1, **known, "base_name": base_name,
                "level": level, "spent": ledger.spent + level, "left": ledger.rate - ledger.spent - level,
                "verdict": PASS if passes else FAIL, "accepted": ledger.accepted + passes, "time": now,
            }  # fmt: skip
            if passes:
                look["of"] = _list_scores(data.new)
            begun.append(look)
        elif look["base"] != known["base"]:
            base_scores = ledger.restore_base(look, reveal)
        if reveal:
            begun.append({"entry": "reveal", "candidate": look["candidate"], "time": now})
        # nothing is said before it is on the disk
        if begun:
            journal.append(*begun)
        ledger = Ledger(journal, head)
    each = {name: ledger.describe(name, power) for name in ledger.measures}
    shown, figures = [*each.values()], {}
    if reveal:
        tests = [*ledger.test_candidate(data, base_scores, look["level"])]
        shown = [each[name]._replace(slice=label, figures=tested) for name, label, tested in tests]
        figures = dict(zip(Tested._fields[1:], tests[0][2][1:], strict=True))
    return LedgerGate(
        look["verdict"], look["base_name"], new[0], look["candidate"], len(ledger.looks), ledger.accepted,
        look["level"], ledger.spent, ledger.rate - ledger.spent, power, head["declared"], head["alpha"],
        head["count"], head["noun"], tuple(head["by"]), ledger.revealed, repeated, journal.digest, tuple(shown),
        shown[0].margin, shown[0].detectable, **figures,
    )  # fmt: skip


class Ledger:
    """What the entries of a ledger say."""

    def __init__(self, journal: Journal, head: Mapping[str, Any]) -> None:
        """Read the entries, and refuse those that no gate wrote."""
        self.head, self.measures, self.rate = head, head["measures"], head["alpha"] / 2.0
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
        return float(look_level(number, accepted, self.rate, self.head["declared"]))

    @property
    def closed(self) -> bool:
        """Whether all candidates that were declared have been judged."""
        return self.head["declared"] is not None and len(self.looks) >= self.head["declared"]

    @property
    def next_level(self) -> float:
        """The level of the next candidate; refused where the ledger is closed."""
        if self.closed:
            raise InputError(
                f"closed after the {self.head['declared']} candidates that were declared",
                where=str(self.path),
                remedy="begin another ledger with fresh items",
            )
        return self._level(len(self.looks) + 1, self.accepted)

    @property
    def base(self) -> tuple[str, Table]:
        """Name and scores of the last accepted candidate, or of the first base."""
        passed = [look for look in self.looks if look["verdict"] == PASS]
        if passed:
            return str(passed[-1]["name"]), _take_lists(passed[-1]["of"])
        return str(self.head["base"]), _take_lists(self.head["scores"])

    def restore_base(self, look: Mapping[str, Any], needed: bool) -> Table:
        """Scores that an earlier candidate was compared with, where the ledger has them."""
        kept = [self.head["scores"], *(other["of"] for other in self.looks if other["verdict"] == PASS)]
        for scores in map(_take_lists, kept):
            if _digest_scores(scores) == look["base"]:
                return scores
        if needed:
            raise InputError(
                f"does not have the scores of {look['base_name']}",
                where=str(self.path),
                remedy="give the scores of the base too",
            )
        return self.base[1]

    def find_look(self, known: Mapping[str, str], any_base: bool) -> dict[str, Any] | None:
        """The last look at the same candidate, against the same base where one is given; None if there was none."""
        asked = [name for name in known if not (any_base and name == "base")]
        same = [look for look in self.looks if all(look[name] == known[name] for name in asked)]
        return same[-1] if same else None

    def test_candidate(self, data: HoldOut, base: Table, level: float) -> Iterator[tuple[str, str, Tested]]:
        """Test by each measure whether a candidate is better, and on each slice whether it is worse.

        Yields measure, slice (empty for all items) and result. Slices share alpha as in a gate without a
        ledger, and not the level of the candidate: a slice can only fail it.
        """
        shared = self.rate / max(len(data.slices) * len(self.measures), 1)
        for name, asked in self.measures.items():
            for label in ("", *data.slices):
                bounds, limit = Range(*asked["range"]), shared if label else level
                units = [data.average_units(table[name], label) for table in (data.new, base)]
                gaps = units[0] - units[1]
                p = _test(gaps, asked["margin"] / bounds.width, asked["right_wrong"], limit)
                met = p <= limit
                if label:
                    # a loss within the margin does not matter here either
                    p = _test(-gaps, 0.0, asked["right_wrong"], limit)
                    met = met or p > limit
                moments = intervals.pair_moments(*units)
                critical = student_critical(2.0 * self.rate, max(len(gaps) - 1.0, 1.0))
                limits = bounds.restore_differences(*intervals.difference_limits(moments, critical))
                difference = float(moments.mean) * bounds.width * (-1.0 if bounds.lower_is_better else 1.0)
                yield name, label, Tested(met, difference, float(limits[0]), float(limits[1]), p)

    def detect(self, measure: str, power: float, level: float | None = None) -> float:
        """The true gain with which a candidate passes by a measure, at the next level unless one is given."""
        if level is None and self.closed:
            return float("inf")
        asked = self.measures[measure]
        width = Range(*asked["range"]).width
        gain = detect_gain(
            self.head["units"], self.next_level if level is None else level, power=power,
            margin=asked["margin"] / width, right_wrong=asked["right_wrong"],
        )  # fmt: skip
        return float(gain * width)

    def describe(self, measure: str, power: float) -> Requirement:
        """What is asked by a measure, and what the hold-out can still show: much less where it is worn out."""
        asked, gain = self.measures[measure], self.detect(measure, power)
        first = self.detect(measure, power, self._level(1, 0))
        worn = gain + asked["margin"] >= WORN * (first + asked["margin"])
        return Requirement(measure, "", asked["margin"], asked["right_wrong"], gain, worn)

    def plan(self, power: float) -> pd.DataFrame:
        """Return a table of candidates to come: level, and gain that is detected, by acceptances until then."""
        now, declared = len(self.looks), self.head["declared"]
        numbers = [now + 1, *(t for t in PLANNED if t > now + 1 and t <= (declared or t))]
        rows = [
            (name, t, k, level, self.detect(name, power, level))
            for name in self.measures
            for t in ([] if self.closed else numbers)
            for k in (self.accepted + more for more in (0, 1, 3))
            if k < t and k - self.accepted < t - now
            for level in [self._level(t, k)]
        ]
        table = pd.DataFrame(rows, columns=["measure", "candidate", "accepted", "level", "detectable"])
        return table if len(self.measures) > 1 else table.drop(columns="measure")


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


def _take_scores(
    base: str | None,
    new: Sequence[str],
    questions: Sequence[Question],
    by: Sequence[str],
    before: Mapping[str, Mapping[str, Any]],
) -> HoldOut:
    """The scores of a candidate and perhaps the base, checked: bounded, complete, of one task, on the same items."""
    # in the order of the ledger
    questions = sorted(questions, key=lambda question: [*before, question.measure].index(question.measure))
    measures: dict[str, dict[str, Any]] = {}
    tables: list[dict[str, Floats]] = [{}, {}]
    described: list[str] = []
    for question in questions:
        name, pair = question.measure, select_one(base, new, question, "a ledger")
        pair = pair.select(topic=sorted(range(len(pair.topics)), key=lambda k: pair.topics[k]))
        if name in before:
            pair = keep_range(pair, before[name]["range"])
        bounded = bound_scores(pair)
        guessed = pair.measure.range_from == BY_VALUES and pair.measure.range != UNIT
        if bounded is None or guessed:
            raise InputError(
                f"a ledger needs the range of {name}",
                remedy=("add ", Option("range", "0,100" if guessed else "…")),
            )
        if bounded.task is not None:
            raise InputError("a ledger judges items of one task", remedy="give one task")
        if missing := int((~np.isfinite(bounded.scores)).any(axis=1).sum()):
            raise InputError(
                f"{missing} items lack a score, and a ledger needs all", remedy="score all items"
            )
        if question.margin >= bounded.bounds.width:
            raise InputError(
                f"a margin of {question.margin} is the whole range of {name}", remedy="give a smaller one"
            )
        cluster = bounded.cluster
        columns, slices = split_items(pair, by)[:2] if by else ((), {})
        clusters = None if cluster is None else cluster.tolist()
        places = {label: items.tolist() for label, items in slices.items()}
        described.append(json.dumps([pair.topics, clusters, places]))
        for table, scores in zip(tables, bounded.scores.T, strict=False):
            table[name] = scores
        right_wrong = clusters is None and bool(np.isin(bounded.scores, (0.0, 1.0)).all())
        measures[name] = {
            "range": list(bounded.bounds),
            "margin": question.margin,
            "right_wrong": right_wrong,
        }
    if len(set(described)) > 1:
        raise InputError("the measures are of different items", remedy="score the same items by each")
    asked = {
        "items": hashlib.sha256(described[0].encode()).hexdigest(), "measures": measures, "by": list(columns),
        "alpha": question.alpha, "count": len(pair.topics), "units": len(set(clusters or pair.topics)),
        "noun": pair.nouns.get("topic", "topic"),
    }  # fmt: skip
    return HoldOut(asked, tables[0], tables[1] if base is not None else None, cluster, slices)


def _check_question(head: Mapping[str, Any], asked: Mapping[str, Any], path: Any) -> None:
    """Refuse a question that is not the one the ledger was begun with."""
    now = _list_facts(asked)
    for fact, before in _list_facts(head).items():
        # a number of candidates and an earlier ledger need not be said again
        unsaid = now.get(fact) is None and fact in ("candidates", "earlier ledger")
        if before != now.get(fact) and not unsaid:
            raise InputError(
                f"was begun with {fact} {before}, and now it is {now.get(fact)}",
                where=str(path),
                remedy="keep it, or begin another ledger",
            )
    if head["items"] != asked["items"]:
        raise InputError(
            "was begun with other items",
            where=str(path),
            remedy="score the same items, or begin another ledger",
        )
    if any(
        one["right_wrong"] > asked["measures"][name]["right_wrong"] for name, one in head["measures"].items()
    ):
        raise InputError(
            "was begun with right and wrong answers, and now there are other scores",
            where=str(path),
            remedy="begin another ledger with these scores",
        )


def _list_facts(question: Mapping[str, Any]) -> dict[str, Any]:
    """What must not change over the life of a ledger, beside its items, by the word for it."""
    measures, after = question["measures"], question["after"]
    facts = {
        "measure": ", ".join(measures), "slices": ", ".join(question["by"]) or None, "alpha": question["alpha"],
        # which may have gone on since
        "candidates": question["declared"], "earlier ledger": after and after["ledger"],
    }  # fmt: skip
    for name, asked in measures.items():
        of = f" of {name}" if len(measures) > 1 else ""
        facts |= {f"{fact}{of}": asked[fact] for fact in ("range", "margin")}
    return facts


def _test(differences: Floats, margin: float, right_wrong: bool, level: float) -> float:
    """p against a loss of the margin or more, valid at this level."""
    if not right_wrong:
        return float(differences_p(differences, margin, level))
    gains, losses = (np.array(float(count)) for count in ((differences > 0).sum(), (differences < 0).sum()))
    return float(answers_p(Answers(gains, losses, float(len(differences))), margin, level))


def _digest_scores(scores: Table) -> str:
    """Fingerprint of scores, rounding apart."""
    every = np.concatenate(list(scores.values()))
    return hashlib.sha256((np.round(every, 12) + 0.0).astype("<f8").tobytes()).hexdigest()


def _list_scores(scores: Table) -> dict[str, list[float]]:
    """Scores as JSON holds them, whole numbers short."""
    return {name: [int(x) if x == int(x) else float(x) for x in values] for name, values in scores.items()}


def _take_lists(scores: Mapping[str, Sequence[float]]) -> Table:
    """Scores as they were before they were written."""
    return {name: np.array(values, np.float64) for name, values in scores.items()}
