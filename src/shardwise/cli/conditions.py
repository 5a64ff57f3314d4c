"""Conditions under which an option has an effect, and the one function that refuses options without any."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shardwise.core.errors import InputError, Option, Part, Words


@dataclass(frozen=True, slots=True)
class Situation:
    """What a command has at hand.

    Parameters
    ----------
    options : Options
        The options of the command.
    runs : bool or None
        Whether the inputs are runs (True) or scores (False); None for a command without inputs.
    dims : frozenset of str or None
        Dimensions of the scores; None before they are read.
    streamed : bool
        Whether the input is read block by block, so that only its moments are kept.
    """

    options: Any
    runs: bool | None = None
    dims: frozenset[str] | None = None
    streamed: bool = False

    def value(self, name: str, default: Any = None) -> Any:
        """Return the value of an option, or a default where the command has no such option."""
        return self.options.values.get(name, default)

    def has(self, dim: str) -> bool:
        """Return whether the scores have a dimension; True before they are read."""
        return self.dims is None or dim in self.dims

    @property
    def kind(self) -> str:
        """How documents are split."""
        return str(self.value("kind")).partition(":")[0]

    @property
    def format(self) -> str:
        """How the result is written."""
        return str(self.options.chosen_format) if "format" in self.options.values else "text"


@dataclass(frozen=True, slots=True)
class Condition:
    """What must be true for an option to have an effect.

    Parameters
    ----------
    holds : callable
        Whether it is true in a situation; True where that is not known yet.
    otherwise : text or tuple
        Why the option has no effect, as the end of "--option has no effect …".
    remedy : text or tuple
        What to do; "{them}" stands for the options.
    """

    holds: Callable[[Situation], bool]
    otherwise: Words
    remedy: Words = "remove {them}"


def split_variances(texts: Sequence[str]) -> tuple[list[str], str]:
    """Return the variances that are stated, and how they are estimated from scores where that is said.

    >>> split_variances(["AP=0.05"]), split_variances(["two-way"])
    ((['AP=0.05'], ''), ([], 'two-way'))
    """
    stated = [text for text in texts if "=" in text or text[:1] in "+-.0123456789"]
    named = [text for text in texts if text not in stated]
    return stated, named[-1] if named else ""


RUNS = Condition(
    lambda now: now.runs is not False,
    "with a table of scores",
    "remove {them}, or give a qrels file and runs",
)
SCORES = Condition(lambda now: now.runs is not True, "with runs", "remove {them}, or give a table of scores")
REPEATS = Condition(
    lambda now: now.has("instance"),
    "without repeated scores (seeds or samples)",
    "remove {them}, or name the column of the repeats: --columns instance=seed",
)
WHOLE_ITEMS = Condition(
    lambda now: (
        now.value("shards", 1) in (1, [1]) and (now.dims is None or not now.dims & {"shard", "split"})
    ),
    "with scores in shards",
    "remove {them}, or score the whole collection",
)
ONE_DIRECTION = Condition(
    lambda now: not (now.value("lower_is_better") and now.value("higher_is_better")),
    "beside its opposite",
    "remove one of the two",
)
IN_MEMORY = Condition(
    lambda now: not now.streamed,
    "with moments, which keep means and cross-products only",
    ("remove {them}, or read the table whole with ", Option("max_memory")),
)
SHARDS = Condition(
    lambda now: now.value("shards", 2) not in (1, [1]) or now.kind in ("attribute", "uneven"),
    "with one shard",
    ("add ", Option("n_shards", 5)),
)
COUNTED_SHARDS = Condition(
    lambda now: now.kind != "uneven",
    ("with ", Option("kind", "uneven")),
    "remove {them}: the proportions set the number",
)
RANDOM_SHARDS = Condition(
    lambda now: now.kind != "attribute",
    ("with ", Option("kind", "attribute")),
    "remove {them}: document names decide",
)
SAMPLED_SHARDS = Condition(
    lambda now: now.kind != "topical", ("with ", Option("kind", "topical")), "remove {them}: the texts decide"
)
NO_BOOTSTRAP = Condition(
    lambda now: not str(now.value("method")).startswith("bootstrap"),
    ("with ", Option("method", "bootstrap")),
    "remove one of the two",
)
NO_FACTORS = Condition(
    lambda now: not now.value("random"), ("with ", Option("random")), "remove one of the two"
)
WHOLE_TABLE = Condition(
    lambda now: not (str(now.value("table")).startswith("items") and (now.streamed or now.value("random"))),
    "with moments or random factors, which keep no items",
)
REPORT = Condition(
    lambda now: now.value("report") is not None or now.format == "html",
    "without a report",
    ("add ", Option("report", "report.html")),
)
PAGE = Condition(lambda now: now.format == "html", "in this format", ("add ", Option("format", "html")))
LEDGER = Condition(
    lambda now: now.value("ledger") is not None, "without a ledger", ("add ", Option("ledger", "gate.jsonl"))
)
ONE_LOOK = Condition(
    lambda now: now.value("sequential") is None, ("with ", Option("sequential")), "remove one of the two"
)
ESTIMATED = Condition(
    lambda now: not split_variances(now.value("variance", []))[0],
    ("with ", Option("variance")),
    "remove one of the two",
)
WITHOUT_TOPICS = Condition(
    lambda now: not now.value("topics"), ("with ", Option("topics")), "remove one of the two"
)
WITHOUT_WIDTH = Condition(
    lambda now: not (now.value("width") and now.options.command.rows["width"].default == []),
    ("with ", Option("width")),
    "remove one of the two",
)


def unless_table(*tables: str) -> Condition:
    """Return the condition that none of these tables is shown, which ignore the option."""
    return Condition(
        lambda now: now.value("table") not in tables,
        ("with this ", Option("table")),
        "remove {them}, or choose another table",
    )


def refuse_idle(given: Collection[str], rows: Mapping[str, Any], now: Situation, where: str = "") -> None:
    """Refuse options that the caller named and that have no effect in this situation.

    Parameters
    ----------
    given : collection of str
        Names of the options that the caller gave.
    rows : mapping of Row
        The options of the command by name.
    now : Situation
        What is at hand.
    where : str
        The input, where it is the reason.

    Raises
    ------
    InputError
        For the first condition that does not hold, with all options that fail it.
    """
    conditions = {name: rows[name].conditions for name in sorted(given)}
    for condition in dict.fromkeys(condition for each in conditions.values() for condition in each):
        if condition.holds(now):
            continue
        idle = [name for name, each in conditions.items() if condition in each]
        them = "it" if len(idle) == 1 else "them"
        listed = [part for name in idle for part in (", ", Option(name))][1:]
        verb = "has" if len(idle) == 1 else "have"
        raise InputError(
            (*listed, f" {verb} no effect ", *_split_words(condition.otherwise, them)),
            where=where if condition is RUNS else "",
            remedy=_split_words(condition.remedy, them),
        )


def idle_options(rows: Mapping[str, Any], now: Situation) -> list[str]:
    """Return the options that have no effect in a situation, whether they were given or not."""
    return [name for name, row in rows.items() if not all(each.holds(now) for each in row.conditions)]


def _split_words(words: Words, them: str) -> tuple[Part, ...]:
    parts = words if isinstance(words, tuple) else (words,)
    return tuple(part.replace("{them}", them) if isinstance(part, str) else part for part in parts)
