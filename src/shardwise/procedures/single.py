"""The estimates of many tables read as those of the only one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shardwise.core.arrays import Bools, Floats, Ints
from shardwise.methods.base import Estimates, Joint, Outcome


@dataclass(frozen=True, slots=True, eq=False)
class _Single:
    """A test of many tables read as that of the only one."""

    test: Any

    @property
    def name(self) -> str:
        return str(self.test.name)

    def outcome(self, ia: Ints, ib: Ints) -> Outcome:
        found = self.test.outcome(ia, ib)
        return Outcome(
            found.difference[0],
            found.se[0],
            found.df[0],
            found.statistic[0],
            found.p[0],
            None if found.joint is None else _SingleJoint(found.joint),
            None if found.ends is None else _single_ends(found.ends),
        )


def _single_ends(
    ends: Callable[[Floats], tuple[Floats, Floats]],
) -> Callable[[Floats], tuple[Floats, Floats]]:
    def of_one(level: Floats) -> tuple[Floats, Floats]:
        lower, upper = ends(np.asarray(level)[None])
        return lower[0], upper[0]

    return of_one


@dataclass(frozen=True, slots=True, eq=False)
class _SingleJoint:
    """The joint laws of many tables read as that of the only one."""

    joint: Joint

    @property
    def p_adjusted(self) -> Floats:
        return np.asarray(self.joint.p_adjusted[0])

    def half_width(self, alpha: float) -> Floats:
        return np.asarray(self.joint.half_width(alpha)[0])

    def top(self, alpha: float) -> Bools | None:
        found = self.joint.top(alpha)
        return None if found is None else np.asarray(found[0])


@dataclass(frozen=True, slots=True, eq=False)
class _SingleLaw:
    """The laws of many tables read as that of the only one."""

    law: Any

    @property
    def name(self) -> str:
        return str(self.law.name)

    def p_values(self, differences: Floats) -> Floats:
        return np.asarray(self.law.p_values(differences[None])[0])

    def critical(self, level: Floats) -> Floats:
        return np.asarray(self.law.critical(np.atleast_1d(level))[0])


def single(estimates: Estimates) -> Estimates:
    """The estimates of a batch of one without its axis."""

    def lowered(x: Any) -> Any:
        return None if x is None else np.asarray(x, np.float64)[0]

    arrays = ("values", "difference_variance", "difference_df", "own_sd", "own_count", "topic_sd")
    numbers = ("variance", "df", "scale")
    lower: dict[str, Any] = {name: lowered(getattr(estimates, name)) for name in arrays}
    lower |= {name: float(np.atleast_1d(getattr(estimates, name))[0]) for name in numbers}
    return replace(
        estimates,
        **lower,
        test=None if estimates.test is None else _Single(estimates.test),
        law=None if estimates.law is None else _SingleLaw(estimates.law),
    )
