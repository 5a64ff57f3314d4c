"""How far a ranking of systems can be trusted: generalizability theory for a topic × system table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import special

from shardwise.core import late
from shardwise.core.arguments import resolve_alpha, validate_choice
from shardwise.core.arguments import validate_level as check_level
from shardwise.core.arrays import Floats
from shardwise.core.errors import InputError
from shardwise.core.shown import Shown
from shardwise.core.variance_components import VarianceComponents
from shardwise.methods.anova.variance_components import components_of, mean_squares
from shardwise.planning.variances import TWO_WAY, table_of


@dataclass(frozen=True, slots=True, repr=False)
class Generalizability(Shown):
    """Variance components of a topic × system table, and the two coefficients they give for n topics.

    Eρ² says how well differences between systems would repeat on new topics, Φ how well the scores
    themselves would. An estimated component below 0 counts as 0 and is named in ``components.negative``.
    """

    mean_squares: Mapping[str, float]
    components: VarianceComponents
    topics: int
    systems: int

    def erho_sq(self, topics: npt.ArrayLike | None = None) -> float | Floats:
        """Return Eρ² = σ²_s / (σ²_s + σ²_e/n).

        Parameters
        ----------
        topics : array_like, optional
            Number of topics n, or several; as many as were observed, if None.

        Returns
        -------
        float or array of float
            The coefficient, one for each number of topics.
        """
        return self.coefficient(self.components["error"], topics)

    def phi(self, topics: npt.ArrayLike | None = None) -> float | Floats:
        """Return Φ = σ²_s / (σ²_s + (σ²_t + σ²_e)/n).

        Parameters
        ----------
        topics : array_like, optional
            Number of topics n, or several; as many as were observed, if None.

        Returns
        -------
        float or array of float
            The coefficient, one for each number of topics.
        """
        return self.coefficient(self.components["topic"] + self.components["error"], topics)

    def coefficient(self, noise: float, topics: npt.ArrayLike | None) -> float | Floats:
        """Return the share of the system variance when the noise is averaged over topics.

        Parameters
        ----------
        noise : float
            Variance on one topic of what is no difference between systems.
        topics : array_like or None
            Number of topics, or several; as many as were observed, if None.

        Returns
        -------
        float or array of float
            The coefficient, one for each number of topics.
        """
        n = np.asarray(self.topics if topics is None else topics, dtype=float)
        if not (n >= 1).all():
            raise InputError("a coefficient needs 1 topic or more", remedy="give a positive number of topics")
        system = self.components["system"]
        share = system / (system + noise / n) if system > 0 else np.zeros_like(n)
        return float(share) if n.ndim == 0 else np.asarray(share)

    def topics_for(self, target: float, coefficient: str = "phi") -> int:
        """Return the smallest number of topics that brings a coefficient to the target.

        Parameters
        ----------
        target : float
            The coefficient to reach, between 0 and 1.
        coefficient : str
            ``phi`` (scores) or ``erho_sq`` (differences).

        Returns
        -------
        int
            Number of topics.
        """
        check_level(target, "target")
        validate_choice(coefficient, "coefficient", ("phi", "erho_sq"))
        parts = self.components
        if parts["system"] <= 0:
            raise InputError("the systems do not differ", remedy="give scores of systems that differ")
        noise = parts["error"] + (parts["topic"] if coefficient == "phi" else 0.0)
        # the least n ≥ 1 with n·ratio / (1 + n·ratio) ≥ target, where ratio is signal to noise of one topic
        return max(1, int(np.ceil(target * noise / ((1.0 - target) * parts["system"]) - 1e-9)))

    def intervals(
        self, topics: int | None = None, level: float | None = None, *, alpha: float | None = None
    ) -> pd.DataFrame:
        """Estimate and confidence limits of both coefficients for n topics.

        Eρ²: exact under normality (Feldt 1965). Φ: Arteaga, Jeyaratnam and Franklin (1982).

        Parameters
        ----------
        topics : int, optional
            Number of topics; as many as were observed, if None.
        level : float, optional
            Confidence of the limits, above 0.5; 0.95 without it.
        alpha : float, optional
            1 - level, in its place.

        Returns
        -------
        DataFrame
            One row a coefficient: ``estimate, low, high``.
        """
        tail = resolve_alpha(alpha, level) / 2.0
        if self.components["error"] == 0:
            raise InputError("the table has no error variance", remedy="give scores that vary")
        n = self.topics if topics is None else topics
        rows = {}
        for name, ratio, estimate in (
            ("erho_sq", self._erho_ratio, self.erho_sq(n)),
            ("phi", self._phi_ratio, self.phi(n)),
        ):
            limits = [max(0.0, ratio(p)) for p in (1.0 - tail, tail)]
            rows[name] = [estimate, *(n * r / (1.0 + n * r) for r in limits)]
        return pd.DataFrame.from_dict(rows, orient="index", columns=["estimate", "low", "high"])

    def _erho_ratio(self, p: float) -> float:
        """Limit of σ²_s/σ²_e from F = MS_s/MS_e at probability p (Feldt 1965)."""
        ms, df = self.mean_squares, self.systems - 1
        f = special.fdtri(df, df * (self.topics - 1), p)
        return float((ms["system"] / (ms["error"] * f) - 1.0) / self.topics)

    def _phi_ratio(self, p: float) -> float:
        """Limit of σ²_s/(σ²_t + σ²_e) at probability p (Arteaga, Jeyaratnam and Franklin 1982)."""
        df_s, df_t = self.systems - 1, self.topics - 1
        f_inf = special.chdtri(df_s, 1.0 - p) / df_s
        f_e = special.fdtri(df_s, df_s * df_t, p)
        f_t = special.fdtri(df_s, df_t, p)
        s, t, e = (self.mean_squares[name] for name in ("system", "topic", "error"))
        above = s**2 - f_inf * s * e + (f_inf - f_e) * f_e * e**2
        below = df_s * f_inf * s * e + f_t * s * t
        return float(self.systems * above / (self.topics * below))

    def plot(self, level: float = 0.95) -> Any:
        """Draw both coefficients against the number of topics: an altair chart.

        Parameters
        ----------
        level : float
            Confidence of the limits.

        Returns
        -------
        Chart
            The chart, an altair object.
        """
        return late.call_bound("chart", self, level=level)

    def __str__(self) -> str:
        parts = self.components
        negative = ", ".join(parts.negative)
        note = f"; set to 0 as its estimate was negative: {negative}" if negative else ""
        return (
            f"{self.systems} systems on {self.topics} topics: Eρ² {self.erho_sq():.3f} (differences), "
            f"Φ {self.phi():.3f} (scores); variance of system {parts['system']:.4g}, "
            f"topic {parts['topic']:.4g}, topic:system and error {parts['error']:.4g}{note}"
        )


def generalizability(scores: Any) -> Generalizability:
    """Split the variance of scores into system, topic and the rest, from two-way mean squares.

    σ²_s = (MS_s - MS_e)/n, σ²_t = (MS_t - MS_e)/m, σ²_e = MS_e, for n topics and m systems (Brennan 2001).

    Parameters
    ----------
    scores : object
        Topic × system scores in any form that `as_scores` takes, complete.

    Returns
    -------
    Generalizability
        The variances and both coefficients.

    >>> import numpy as np
    >>> g = generalizability(np.array([[.1, .3, .5], [.2, .4, .5], [.6, .7, .9], [.2, .2, .5]]))
    >>> print(g)
    3 systems on 4 topics: Eρ² 0.972 (differences), Φ 0.698 (scores); variance of system 0.02611,
    topic 0.04222, topic:system and error 0.003056
    >>> g.topics_for(.95)
    33
    """
    _, y = table_of(scores)
    return Generalizability(mean_squares(y, TWO_WAY), components_of(y, TWO_WAY), *y.shape)
