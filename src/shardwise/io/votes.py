"""Votes as readers of files hold them: two systems, which of them won, the prompt and the voter."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from shardwise.core.arrays import Bools, Floats, Ints
from shardwise.core.claim import format_count, pluralize_noun
from shardwise.core.errors import InputError, refuse_unknown


@dataclass(frozen=True, slots=True, eq=False)
class Way:
    """One of the ways in which votes come in groups: by prompt, or by voter.

    Parameters
    ----------
    codes : array of int
        (n,) number of each vote's group.
    names : tuple of str
        Names of the groups.
    noun : str
        The user's word for one of them.
    """

    codes: Ints
    names: tuple[str, ...]
    noun: str

    @classmethod
    def of_labels(cls, labels: Iterable[str], noun: str) -> Way:
        """Give labels codes in the order in which they first appear.

        Parameters
        ----------
        labels : iterable of str
            A label for each vote.
        noun : str
            The word for what they name.

        Returns
        -------
        Way
            Codes and names.

        >>> Way.of_labels(["q2", "q1", "q2"], "question").codes.tolist()
        [0, 1, 0]
        """
        names: dict[str, int] = {}
        codes = np.array([names.setdefault(label, len(names)) for label in labels], dtype=np.int64)
        return cls(codes, tuple(names), noun)

    def keep_rows(self, rows: Ints | Bools) -> Way:
        """Return the groups of some votes, without groups that none of them is in."""
        used, codes = np.unique(self.codes[rows], return_inverse=True)
        return Way(codes.astype(np.int64), tuple(self.names[k] for k in used.tolist()), self.noun)


@dataclass(frozen=True, slots=True, eq=False)
class Votes:
    """Votes on pairs of systems.

    Parameters
    ----------
    source : str
        The file, for refusals.
    systems : tuple of str
        Names of the systems.
    first, second : array of int
        (n,) numbers of the systems shown first and second.
    outcome : array
        (n,) 1 where the first won, 0 for a tie, -1 where the second won; or grades, positive in favour of the first.
    prompt, voter : Way, optional
        What was asked, and who voted.
    graded : bool
        Whether outcomes are grades.
    ordered : bool
        Whether the first system is known to have been shown first.
    system_noun : str
        The user's word for a system.
    notes : tuple of str
        What was left out or decided while reading.
    """

    source: str
    systems: tuple[str, ...]
    first: Ints
    second: Ints
    outcome: Floats
    prompt: Way | None = None
    voter: Way | None = None
    graded: bool = False
    ordered: bool = True
    system_noun: str = "system"
    notes: tuple[str, ...] = field(default=())

    def __len__(self) -> int:
        return len(self.first)

    def keep_rows(self, rows: Bools) -> Votes:
        """Return some of the votes, without systems that have none left.

        Parameters
        ----------
        rows : array of bool
            (n,) whether a vote is kept.

        Returns
        -------
        Votes
            The votes kept.
        """
        if rows.all():
            return self
        used = np.unique(np.concatenate([self.first[rows], self.second[rows]]))
        number = np.full(len(self.systems), -1, dtype=np.int64)
        number[used] = np.arange(len(used))
        return replace(
            self,
            systems=tuple(self.systems[k] for k in used.tolist()),
            first=number[self.first[rows]],
            second=number[self.second[rows]],
            outcome=self.outcome[rows],
            prompt=None if self.prompt is None else self.prompt.keep_rows(rows),
            voter=None if self.voter is None else self.voter.keep_rows(rows),
        )

    def leave_out(self, names: Sequence[str]) -> Votes:
        """Return the votes without some systems or prompts.

        Parameters
        ----------
        names : sequence of str
            Names of systems or prompts.

        Returns
        -------
        Votes
            All other votes.
        """
        if not names:
            return self
        prompts = () if self.prompt is None else self.prompt.names
        for name in names:
            if name not in self.systems and name not in prompts:
                raise refuse_unknown("exclude", name, self.systems, what=f"{self.system_noun} or prompt")
        dropped = np.array([k for k, name in enumerate(self.systems) if name in names], dtype=np.int64)
        kept = ~(np.isin(self.first, dropped) | np.isin(self.second, dropped))
        if self.prompt is not None:
            gone = [k for k, name in enumerate(self.prompt.names) if name in names]
            kept &= ~np.isin(self.prompt.codes, gone)
        if not kept.any():
            raise InputError(
                "all votes are left out", where=self.source, remedy="keep some", argument="exclude"
            )
        return self.keep_rows(kept)

    def describe(self) -> str:
        """Return what was read, in a line."""
        ways = [way for way in (self.prompt, self.voter) if way is not None]
        counts = [format_count(len(way.names), way.noun) for way in ways]
        names = ", ".join(self.systems[:4]) + (", …" if len(self.systems) > 4 else "")
        what = "graded votes" if self.graded else "votes"
        by = f" by {' and '.join(counts)}" if counts else ""
        head = f"read as {len(self):,} {what}{by} on {format_count(len(self.systems), self.system_noun)} ({names})"
        return "; ".join([head, *self.notes])


def join_votes(parts: Sequence[Votes]) -> Votes:
    """Put the votes of several files together.

    Parameters
    ----------
    parts : sequence of Votes
        Votes of one kind; systems, prompts and voters of one name are the same.

    Returns
    -------
    Votes
        All of them.
    """
    if len(parts) == 1:
        return parts[0]
    head = parts[0]
    for part in parts[1:]:
        if part.graded != head.graded:
            raise InputError(
                f"holds {'grades' if part.graded else 'wins'}, and {head.source} does not",
                where=part.source,
                remedy="read the files apart",
            )
    names = {name: k for k, name in enumerate(dict.fromkeys(name for part in parts for name in part.systems))}
    number = [np.array([names[name] for name in part.systems], dtype=np.int64) for part in parts]
    return Votes(
        source=head.source,
        systems=tuple(names),
        first=np.concatenate([own[part.first] for own, part in zip(number, parts, strict=True)]),
        second=np.concatenate([own[part.second] for own, part in zip(number, parts, strict=True)]),
        outcome=np.concatenate([part.outcome for part in parts]),
        prompt=_join_ways([part.prompt for part in parts]),
        voter=_join_ways([part.voter for part in parts]),
        graded=head.graded,
        ordered=all(part.ordered for part in parts),
        system_noun=head.system_noun,
        notes=tuple(dict.fromkeys(note for part in parts for note in part.notes)),
    )


def _join_ways(ways: Sequence[Way | None]) -> Way | None:
    """Groups of several files; none where a file does not say them."""
    known = [way for way in ways if way is not None]
    if len(known) < len(ways):
        return None
    names = {name: k for k, name in enumerate(dict.fromkeys(name for way in known for name in way.names))}
    codes = [np.array([names[name] for name in way.names], dtype=np.int64)[way.codes] for way in known]
    return Way(np.concatenate(codes), tuple(names), known[0].noun)


def list_names(names: Sequence[str], noun: str, most: int = 3) -> str:
    """Return some names and the number of the others.

    >>> list_names(["a", "b", "c", "d", "e"], "model")
    'a, b, c and 2 more models'
    """
    if len(names) <= most + 1:
        return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
    return f"{', '.join(names[:most])} and {len(names) - most:,} more {pluralize_noun(noun)}"
