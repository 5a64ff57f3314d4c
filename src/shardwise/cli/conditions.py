"""When options have an effect: what each condition of `options.toml` means, and the refusal of options without any."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shardwise.core.errors import InputError, Option, Part


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

    @property
    def kind(self) -> str:
        """How documents are split."""
        return str(self.value("kind")).partition(":")[0]

    @property
    def format(self) -> str:
        """How the result is written."""
        return str(self.options.chosen_format) if "format" in self.options.values else "text"


def split_variances(texts: Sequence[str]) -> tuple[list[str], str]:
    """Return the variances that are stated, and how they are estimated from scores where that is said.

    >>> split_variances(["AP=0.05"]), split_variances(["two-way"])
    ((['AP=0.05'], ''), ([], 'two-way'))
    """
    stated = [text for text in texts if "=" in text or text[:1] in "+-.0123456789"]
    named = [text for text in texts if text not in stated]
    return stated, named[-1] if named else ""


ONE_SHARD = (1, [1])
PREDICATES: dict[str, Callable[[Situation], bool]] = {
    "runs": lambda now: now.runs is not False,
    "scores": lambda now: now.runs is not True,
    "repeats": lambda now: now.dims is None or "instance" in now.dims,
    "whole_items": lambda now: (
        now.value("shards", 1) in ONE_SHARD and not (now.dims or frozenset()) & {"shard", "split"}
    ),
    "one_direction": lambda now: not (now.value("lower_is_better") and now.value("higher_is_better")),
    "in_memory": lambda now: not now.streamed,
    "shards": lambda now: now.value("shards", 2) not in ONE_SHARD or now.kind in ("attribute", "uneven"),
    "counted_shards": lambda now: now.kind != "uneven",
    "random_shards": lambda now: now.kind != "attribute",
    "sampled_shards": lambda now: now.kind != "topical",
    "no_bootstrap": lambda now: not str(now.value("method")).startswith("bootstrap"),
    "no_factors": lambda now: not now.value("random"),
    "whole_table": lambda now: (
        not (str(now.value("table")).startswith("items") and (now.streamed or now.value("random")))
    ),
    "report": lambda now: now.value("report") is not None or now.format == "html",
    "page": lambda now: now.format == "html",
    "ledger": lambda now: now.value("ledger") is not None,
    "one_look": lambda now: now.value("sequential") is None,
    "estimated": lambda now: not split_variances(now.value("variance", []))[0],
    "without_topics": lambda now: not now.value("topics"),
    "without_width": lambda now: not (now.value("width") and now.options.command.rows["width"].default == []),
}
"""Whether a condition holds in a situation; True where that is not known yet."""


@dataclass(frozen=True, slots=True)
class Condition:
    """What must be true for an option to have an effect, and what is said where it is not."""

    name: str
    otherwise: str
    remedy: str = "remove {them}"
    tables: tuple[str, ...] = ()

    def holds(self, now: Situation) -> bool:
        """Return whether it is true; of tables, whether none of those is shown that ignore the option."""
        return now.value("table") not in self.tables if self.tables else PREDICATES[self.name](now)


def refuse_idle(given: Collection[str], rows: Mapping[str, Any], now: Situation, where: str = "") -> None:
    """Refuse options that the caller named and that have no effect; ``where`` is the input, if it is the reason."""
    conditions = {name: rows[name].only_with for name in sorted(given)}
    for condition in dict.fromkeys(condition for each in conditions.values() for condition in each):
        if condition.holds(now):
            continue
        idle = [name for name, each in conditions.items() if condition in each]
        them, verb = ("it", "has") if len(idle) == 1 else ("them", "have")
        listed = [part for name in idle for part in (", ", Option(name))][1:]
        raise InputError(
            (*listed, f" {verb} no effect ", *_name_options(condition.otherwise, them)),
            where=where if condition.name == "runs" else "",
            remedy=_name_options(condition.remedy, them),
        )


def idle_options(rows: Mapping[str, Any], now: Situation) -> list[str]:
    """Return the options that have no effect in a situation, whether they were given or not."""
    return [name for name, row in rows.items() if not all(each.holds(now) for each in row.only_with)]


def _name_options(text: str, them: str) -> tuple[Part, ...]:
    """Return a text whose options stand in braces, perhaps with a value, as parts of a refusal."""
    pieces = re.split(r"\{(\w+)(?:=([^}]*))?\}", text.replace("{them}", them))
    options = [Option(name, value) for name, value in zip(pieces[1::3], pieces[2::3], strict=True)]
    parts: list[Part] = [pieces[0]]
    for option, after in zip(options, pieces[3::3], strict=True):
        parts += [option, after]
    return tuple(part for part in parts if part)
