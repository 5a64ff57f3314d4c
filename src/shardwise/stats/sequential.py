"""A gate that may be asked after every batch of items: betting against "worse by the margin".

The capital of a bettor who stakes a share λ on every item's difference d (new - base, in units of the range) is
W = Π (1 + λ(d + margin)). If new loses at least the margin, no bet wins on average, and W reaches 2/α with probability
α/2 at most, however often one looks (Ville 1939; Waudby-Smith & Ramdas 2024). The capital here is the mean over twelve
bets, so that no λ has to be chosen; "better" is the same with margin 0, "worse" the same with -d.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import special

from shardwise.core.arrays import Floats

BETS = tuple(float(x) for x in np.geomspace(0.02, 0.98, 12))
HYPOTHESES = ("better", "no worse", "worse")
# capitals of a new state: every bet holds 1
START = {name: (0.0,) * len(BETS) for name in HYPOTHESES}


@dataclass(frozen=True, slots=True)
class SequentialState:
    """What a sequential gate remembers between looks; plain numbers only, so that any file can hold it."""

    margin: float
    alpha: float = 0.05
    # systems that are tried against the same base
    candidates: int = 1
    # independent units seen: items, or clusters
    units: int = 0
    # log capital of each bet, by hypothesis
    capital: Mapping[str, tuple[float, ...]] = field(default_factory=lambda: dict(START))
    # hypotheses that were shown at some look, the units at which they were first
    shown: Mapping[str, int] = field(default_factory=dict)

    @property
    def threshold(self) -> float:
        """Capital that shows a hypothesis."""
        return 2.0 * self.candidates / self.alpha

    @property
    def evidence(self) -> dict[str, float]:
        """Capital of each hypothesis by the last look."""
        return {name: float(np.exp(log_evidence(np.array(self.capital[name])))) for name in HYPOTHESES}

    @property
    def verdict(self) -> str:
        """The first hypothesis shown of better, no worse and worse; "continue" where none is.

        A system may be worse by less than the margin; then "no worse" decides.
        """
        return next((name for name in HYPOTHESES if name in self.shown), "continue")

    def to_dict(self) -> dict[str, Any]:
        """Return the state as JSON holds it."""
        return {
            "margin": self.margin,
            "alpha": self.alpha,
            "candidates": self.candidates,
            "units": self.units,
            "capital": {name: list(self.capital[name]) for name in HYPOTHESES},
            "shown": dict(self.shown),
        }

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> SequentialState:
        """Restore a state that `to_dict` made.

        >>> state = update_state(SequentialState(0.05), np.zeros(30))
        >>> SequentialState.from_dict(state.to_dict()) == state
        True
        """
        capital = {name: tuple(float(x) for x in saved["capital"][name]) for name in HYPOTHESES}
        if any(len(values) != len(BETS) for values in capital.values()):
            raise ValueError(f"a state has {len(BETS)} bets")
        return cls(
            margin=float(saved["margin"]),
            alpha=float(saved["alpha"]),
            candidates=int(saved["candidates"]),
            units=int(saved["units"]),
            capital=capital,
            shown={str(name): int(units) for name, units in saved["shown"].items()},
        )


def update_state(state: SequentialState, differences: Floats) -> SequentialState:
    """Add a batch of new items and look.

    The order of the items within a batch does not matter.

    >>> update_state(SequentialState(margin=0.05), np.zeros(150)).verdict
    'no worse'
    >>> update_state(SequentialState(margin=0.01), np.zeros(100)).verdict
    'continue'
    """
    differences = np.asarray(differences, np.float64)
    capital = {
        name: tuple(np.array(state.capital[name]) + grown)
        for name, grown in zip(HYPOTHESES, log_growth(differences, state.margin), strict=True)
    }
    units = state.units + differences.size
    level = np.log(state.threshold)
    shown = dict(state.shown)
    for name in HYPOTHESES:
        if name not in shown and log_evidence(np.array(capital[name])) >= level:
            shown[name] = units
    return replace(
        state,
        units=units,
        capital={name: tuple(float(x) for x in values) for name, values in capital.items()},
        shown=shown,
    )


def log_growth(
    differences: Floats, margin: float, bets: Floats | Sequence[float] = BETS
) -> tuple[Floats, Floats, Floats]:
    """Compute by how much log capitals grow over a batch.

    >>> better, no_worse, worse = log_growth(np.full(10, 0.1), 0.0)
    >>> bool((better == no_worse).all() and (better > 0).all() and (worse < 0).all())
    True
    """
    bets = np.asarray(bets)
    better = np.log1p(bets * differences[..., None]).sum(axis=-2)
    worse = np.log1p(-bets * differences[..., None]).sum(axis=-2)
    no_worse = np.log1p(bets / (1.0 - margin) * (differences[..., None] + margin)).sum(axis=-2)
    return better, no_worse, worse


def log_evidence(log_capital: Floats) -> Floats:
    """Compute the log of the mean capital over bets.

    >>> log_evidence(np.zeros(12))
    np.float64(0.0)
    """
    return np.asarray(special.logsumexp(log_capital, axis=-1) - np.log(log_capital.shape[-1]))[()]
