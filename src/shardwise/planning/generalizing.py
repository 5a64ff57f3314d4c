"""How far a ranking of systems can be trusted: generalizability theory for a topic × system table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import special

from shardwise.core import late
from shardwise.core.arrays import Floats
from shardwise.core.errors import InputError
from shardwise.planning.variances import Matrix, MeanSquares, mean_squares, score_matrix


@dataclass(frozen=True, slots=True)
class Generalizability:
    """Variance components of a topic × system table, and the two coefficients they give for n topics.

    Eρ² says how well differences between systems would repeat on new topics, Φ how well the scores
    themselves would. An estimated component below 0 counts as 0 and is named in ``negative``.
    """

    mean_squares: MeanSquares
    system: float  # variance components
    topic: float
    error: float
    negative: tuple[str, ...]

    def erho_sq(self, topics: npt.ArrayLike | None = None) -> float | Floats:
        """Eρ² = σ²_s / (σ²_s + σ²_e/n), for n topics or for as many as were observed."""
        return self.coefficient(self.error, topics)

    def phi(self, topics: npt.ArrayLike | None = None) -> float | Floats:
        """Φ = σ²_s / (σ²_s + (σ²_t + σ²_e)/n), for n topics or for as many as were observed."""
        return self.coefficient(self.topic + self.error, topics)

    def coefficient(self, noise: float, topics: npt.ArrayLike | None) -> float | Floats:
        """Share of the system variance when the noise is averaged over topics."""
        n = np.asarray(self.mean_squares.topics if topics is None else topics, dtype=float)
        if not (n >= 1).all():
            raise InputError("a coefficient needs 1 topic or more", remedy="give a positive number of topics")
        share = self.system / (self.system + noise / n) if self.system > 0 else np.zeros_like(n)
        return float(share) if n.ndim == 0 else np.asarray(share)

    def topics_for(self, target: float, coefficient: str = "phi") -> int:
        """Smallest number of topics that brings ``phi`` or ``erho_sq`` to the target."""
        if not 0 < target < 1:
            raise InputError(f"target {target:g}: it must lie between 0 and 1", remedy="try .95")
        if coefficient not in ("phi", "erho_sq"):
            raise InputError(f"no coefficient {coefficient!r}", remedy="choose phi or erho_sq")
        if self.system <= 0:
            raise InputError(
                "the systems show no variance of their own", remedy="no number of topics can rank them"
            )
        noise = self.error + (self.topic if coefficient == "phi" else 0.0)
        return topics_needed(self.system / noise if noise > 0 else np.inf, target)

    def intervals(self, topics: int | None = None, level: float = 0.95) -> pd.DataFrame:
        """Estimate and confidence limits of both coefficients for n topics.

        Eρ²: exact under normality (Feldt 1965). Φ: Arteaga, Jeyaratnam and Franklin (1982).
        """
        if not 0 < level < 1:
            raise InputError(f"level {level:g}: it must lie between 0 and 1", remedy="try .95")
        if self.error == 0:
            raise InputError("the table has no error variance", remedy="intervals need some")
        n = self.mean_squares.topics if topics is None else topics
        tail = (1.0 - level) / 2.0
        rows = {}
        for name, ratio, estimate in (
            ("erho_sq", erho_ratio, self.erho_sq(n)),
            ("phi", phi_ratio, self.phi(n)),
        ):
            limits = [max(0.0, ratio(self.mean_squares, p)) for p in (1.0 - tail, tail)]
            rows[name] = [estimate, *(n * r / (1.0 + n * r) for r in limits)]
        return pd.DataFrame.from_dict(rows, orient="index", columns=["estimate", "low", "high"])

    def plot(self, level: float = 0.95) -> Any:
        """Draw both coefficients against the number of topics: an altair chart."""
        return late.call("chart", self, level=level)

    def __str__(self) -> str:
        ms = self.mean_squares
        note = f"; set to 0 as its estimate was negative: {', '.join(self.negative)}" if self.negative else ""
        return (
            f"{ms.systems} systems on {ms.topics} topics: Eρ² {self.erho_sq():.3f} (differences), "
            f"Φ {self.phi():.3f} (scores); variance of system {self.system:.4g}, topic {self.topic:.4g}, "
            f"topic:system and error {self.error:.4g}{note}"
        )


def topics_needed(ratio: float, target: float) -> int:
    """Smallest n ≥ 1 with n·ratio / (1 + n·ratio) ≥ target, where ratio is signal to noise of one topic."""
    return max(1, int(np.ceil(target / ((1.0 - target) * ratio) - 1e-9)))


def erho_ratio(ms: MeanSquares, p: float) -> float:
    """Limit of σ²_s/σ²_e from F = MS_s/MS_e at probability p (Feldt 1965)."""
    f = special.fdtri(ms.systems - 1, (ms.systems - 1) * (ms.topics - 1), p)
    return float((ms.system / (ms.error * f) - 1.0) / ms.topics)


def phi_ratio(ms: MeanSquares, p: float) -> float:
    """Limit of σ²_s/(σ²_t + σ²_e) at probability p (Arteaga, Jeyaratnam and Franklin 1982)."""
    df_s, df_t = ms.systems - 1, ms.topics - 1
    f_inf = special.chdtri(df_s, 1.0 - p) / df_s
    f_e = special.fdtri(df_s, df_s * df_t, p)
    f_t = special.fdtri(df_s, df_t, p)
    s, t, e = ms.system, ms.topic, ms.error
    above = s**2 - f_inf * s * e + (f_inf - f_e) * f_e * e**2
    below = (ms.systems - 1) * f_inf * s * e + f_t * s * t
    return float(ms.systems * above / (ms.topics * below))


def generalizability(scores: Matrix) -> Generalizability:
    """Split the variance of scores into system, topic and the rest, from two-way mean squares.

    σ²_s = (MS_s - MS_e)/n, σ²_t = (MS_t - MS_e)/m, σ²_e = MS_e, for n topics and m systems (Brennan 2001).

    >>> import numpy as np
    >>> g = generalizability(np.array([[.1, .3, .5], [.2, .4, .5], [.6, .7, .9], [.2, .2, .5]]))
    >>> print(g)
    3 systems on 4 topics: Eρ² 0.972 (differences), Φ 0.698 (scores); variance of system 0.02611,
    topic 0.04222, topic:system and error 0.003056
    >>> g.topics_for(.95)
    33
    """
    ms = mean_squares(score_matrix(scores))
    raw = {
        "system": (ms.system - ms.error) / ms.topics,
        "topic": (ms.topic - ms.error) / ms.systems,
        "error": ms.error,
    }
    return Generalizability(
        mean_squares=ms,
        **{name: max(0.0, value) for name, value in raw.items()},
        negative=tuple(name for name, value in raw.items() if value < 0),
    )
