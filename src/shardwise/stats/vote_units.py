"""What units of votes (prompts, voters) add to the errors of the strengths that were fitted to the votes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shardwise.core.arrays import Floats, Ints


@dataclass(frozen=True, slots=True)
class WinShare:
    """The expected share of wins that a difference of strengths means.

    Parameters
    ----------
    tie : float
        κ of Davidson's model, the logarithm of the weight of ties; -∞ without ties.
    unit : float
        What a strength of 1 is in the units of the scores.

    >>> round(float(WinShare(-np.inf).of_difference(np.log(3.0))), 6)
    0.75
    """

    tie: float
    unit: float = 1.0

    def of_difference(self, difference: Floats | float) -> Floats:
        """Return the expected share of wins, ties counting half, with neither system shown first.

        Parameters
        ----------
        difference : array
            Differences of scores, first less second.

        Returns
        -------
        array
            P(first wins) + P(tie)/2.
        """
        half = np.exp(np.clip(np.asarray(difference, np.float64) / self.unit, -600.0, 600.0) / 2.0)
        tied = np.exp(self.tie)
        return np.asarray((half + tied / 2.0) / (half + 1.0 / half + tied))


@dataclass(frozen=True, slots=True, eq=False)
class VoteUnits:
    """What the units of votes add to the errors of strengths.

    Parameters
    ----------
    lead : array
        (G, R) influence of the units of the leading way, adding up to 0.
    lead_counts : array
        (G, R) votes of each unit on each system.
    other : array, optional
        (V, R) influence of the units of the other way, where two are crossed.
    other_counts : array, optional
        (V, R) its votes.
    shared : array, optional
        (R, R) sum of outer products over the cells of both ways.
    model : array
        (R, R) covariances of the strengths, were votes independent.
    share : WinShare, optional
        What differences mean in shares of wins, where scores are strengths.
    """

    lead: Floats
    lead_counts: Floats
    model: Floats
    share: WinShare | None = None
    other: Floats | None = None
    other_counts: Floats | None = None
    shared: Floats | None = None

    def select_systems(self, systems: Ints) -> VoteUnits:
        """Return the units with these systems, in this order.

        Parameters
        ----------
        systems : array of int
            Numbers of systems.

        Returns
        -------
        VoteUnits
            Their columns.
        """
        square = np.ix_(systems, systems)
        return VoteUnits(
            self.lead[:, systems],
            self.lead_counts[:, systems],
            self.model[square],
            self.share,
            None if self.other is None else self.other[:, systems],
            None if self.other_counts is None else self.other_counts[:, systems],
            None if self.shared is None else self.shared[square],
        )

    def scale_systems(self, jacobian: Floats, share: WinShare | None = None) -> VoteUnits:
        """Return the units of a smooth function of the strengths.

        Parameters
        ----------
        jacobian : array
            (R, R) derivatives of the function by the strengths.
        share : WinShare, optional
            What its differences mean in shares of wins.

        Returns
        -------
        VoteUnits
            What the units add to the errors of that function.
        """
        turned = jacobian.T
        return VoteUnits(
            self.lead @ turned,
            self.lead_counts,
            jacobian @ self.model @ turned,
            share,
            None if self.other is None else self.other @ turned,
            self.other_counts,
            None if self.shared is None else jacobian @ self.shared @ turned,
        )
