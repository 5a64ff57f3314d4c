"""A gate that may be asked after every batch of new items, with its state in a small file."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from shardwise.analysis.gate import PASSING, arrange_systems
from shardwise.core import late
from shardwise.core.arrays import Floats
from shardwise.core.errors import InputError, Option
from shardwise.core.scores import declare_measure, level_names, nouns_of
from shardwise.core.shown import Shown
from shardwise.io.atomic import write_atomically
from shardwise.methods.intervals import BoundedScores, bound_scores
from shardwise.methods.repeats.unified import infer_repeats
from shardwise.stats.intervals import Range
from shardwise.stats.sequential import SequentialState, update_state

FORMAT = "shardwise gate 1"
"""What a file of a sequential gate begins with."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SequentialGate(Shown):
    """A gate that may be asked after every batch of new items; its error rates hold for all looks together."""

    base: str
    new: str
    measure: str
    state: SequentialState
    # of the scores, as declared or assumed at the first look
    bounds: Range
    # digests of the names of the units that were counted
    seen: frozenset[str]
    # units of this look
    added: int
    noun: str

    @property
    def verdict(self) -> str:
        """One of "better", "no worse", "worse" and "continue"."""
        return self.state.verdict

    @property
    def margin(self) -> float:
        """The largest loss that does not matter, on the scale of the scores."""
        return self.state.margin * self.bounds.width

    @property
    def passes(self) -> bool:
        """Whether the new system was shown to be better or no worse at some look."""
        return self.verdict in PASSING

    def to_frame(self) -> pd.DataFrame:
        """Return all figures as one row.

        Returns
        -------
        DataFrame
            One row.
        """
        row: dict[str, Any] = {
            "base": self.base,
            "new": self.new,
            "verdict": self.verdict,
            "units": self.state.units,
        }
        row |= {"added": self.added, "threshold": self.state.threshold}
        for name, value in self.state.evidence.items():
            row[f"evidence_{name.replace(' ', '_')}"] = value
        return pd.DataFrame([row])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state, for the next look.

        Parameters
        ----------
        path : path
            A JSON file.
        """
        content = {
            "format": FORMAT,
            **{name: getattr(self, name) for name in ("base", "new", "measure", "noun")},
            "range": list(self.bounds),
            "state": self.state.to_dict(),
            "seen": sorted(self.seen),
        }
        write_atomically(path, (json.dumps(content, indent=1) + "\n").encode())

    def __repr__(self) -> str:
        return f"<SequentialGate: {self}>"

    def __str__(self) -> str:
        text: str = late.call_bound("sequential_gate_text", self)
        return text


def gate_sequentially(
    base: Any,
    new: Any,
    path: str | os.PathLike[str],
    *,
    margin: float = 0.01,
    scores: Any = None,
    alpha: float = 0.05,
    repeats: str | None = None,
    range: tuple[float, float] | None = None,
    lower_is_better: bool | None = None,
) -> SequentialGate:
    """Add new items to a gate that may be asked again and again, and keep its state in a small file.

    Items that were counted at an earlier look do not count again. Where items come in clusters, the mean of a cluster
    counts once, when it is first seen.

    Parameters
    ----------
    base, new, scores, alpha, lower_is_better
        As for `gate`; one new system.
    path : path
        JSON file of the state; made at the first look.
    margin : float
        The largest loss that does not matter; the same at all looks.
    repeats : str, optional
        "samples"; seeds are refused, as items are not independent given the seeds.
    range : (float, float), optional
        As for `gate`; scores without known bounds are refused.

    Returns
    -------
    SequentialGate
        The verdict so far.
    """
    table, base_name, candidates = arrange_systems(base, new, scores)
    if len(candidates) != 1:
        raise InputError("a sequential gate tries one new system", remedy="give one, with a file of its own")
    new_name = candidates[0]
    names = level_names(table, "system")
    two = table.isel(system=[names.index(new_name), names.index(base_name)])
    kind = (repeats or infer_repeats(two)) if "instance" in two.dims else ""
    if kind == "seeds":
        raise InputError(
            "items are not independent given the seeds, so that a sequential gate cannot count them",
            remedy=("use a gate without ", Option("sequential"), ", or ", Option("repeats", "samples")),
        )
    previous = _load_state(Path(path)) if Path(path).exists() else None
    if previous is not None and range is None:
        range = (previous.bounds.low, previous.bounds.high)
    bounded = bound_scores(declare_measure(two, range, lower_is_better))
    if bounded is None:
        raise InputError("a sequential gate needs bounded scores", remedy=("give ", Option("range")))
    scaled = margin / bounded.bounds.width
    if not 0.0 < scaled < 1.0:
        raise InputError(f"a margin of {margin} cannot be met", remedy="give a small positive number")
    started = SequentialGate(
        base_name, new_name, str(table.name or "score"), SequentialState(scaled, alpha), bounded.bounds, frozenset(), 0,
        nouns_of(two).get("topic", "topic"),
    )  # fmt: skip
    if previous is not None:
        _check_same(previous, started, Path(path))
        started = previous
    units, gaps = _list_units(two, bounded)
    digests = [hashlib.sha256(unit.encode()).hexdigest()[:16] for unit in units]
    fresh = np.array([digest not in started.seen for digest in digests], dtype=bool)
    state = replace(
        started,
        state=update_state(started.state, gaps[fresh]),
        seen=started.seen | set(digests),
        added=int(fresh.sum()),
    )
    state.save(path)
    return state


def _list_units(two: xr.DataArray, bounded: BoundedScores) -> tuple[list[str], Floats]:
    """Names and mean differences of independent units: items, or clusters."""
    gaps = bounded.scores[:, 0] - bounded.scores[:, 1]
    known = np.isfinite(gaps)
    names = np.array(level_names(two, "topic"), dtype=object)[known]
    gaps = gaps[known]
    if bounded.cluster is None:
        return [str(name) for name in names], gaps
    labels, code = np.unique(np.asarray(two["cluster"].values).astype(str)[known], return_inverse=True)
    return [str(label) for label in labels], np.bincount(code, gaps) / np.bincount(code)


def _load_state(path: Path) -> SequentialGate:
    """Load the state of the looks so far, or refuse with the name of the file."""
    try:
        saved: Mapping[str, Any] = json.loads(path.read_text("utf-8"))
        if saved["format"] != FORMAT:
            raise ValueError("another format")
        low, high, turned = saved["range"]
        return SequentialGate(
            str(saved["base"]), str(saved["new"]), str(saved["measure"]),
            SequentialState.from_dict(saved["state"]), Range(float(low), float(high), bool(turned)),
            frozenset(map(str, saved["seen"])), 0, str(saved["noun"]),
        )  # fmt: skip
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(
            "is not the state of a sequential gate",
            where=str(path),
            remedy="name another file, or remove it to begin anew",
        ) from None


def _check_same(previous: SequentialGate, now: SequentialGate, path: Path) -> None:
    """Refuse a state of another question: what is asked must not change between looks."""
    facts: tuple[tuple[str, Any, Any], ...] = (
        ("base", previous.base, now.base),
        ("new", previous.new, now.new),
        ("measure", previous.measure, now.measure),
        ("range", tuple(previous.bounds), tuple(now.bounds)),
        ("margin", previous.margin, now.margin),
        ("alpha", previous.state.alpha, now.state.alpha),
    )
    for name, before, after in facts:
        if before != after:
            raise InputError(
                f"was begun with {name} {before}, and now it is {after}",
                where=str(path),
                remedy="keep it, or name another file to begin anew",
            )
