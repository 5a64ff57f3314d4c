"""``df.sw``: compare the systems of a data frame."""

from __future__ import annotations

from typing import Any

import pandas as pd

from shardwise.analysis.analysis import Analysis
from shardwise.analysis.analyze import analyze
from shardwise.comparing.compare import compare
from shardwise.comparing.comparisons import Comparisons


class ScoresAccessor:
    """Methods of ``df.sw``, for a data frame of scores: wide (a column a system) or long (item, system, score).

    Parameters
    ----------
    frame : DataFrame
        The data frame.
    """

    def __init__(self, frame: pd.DataFrame) -> None:
        self._frame = frame

    def compare(self, method: str | None = None, **choices: Any) -> Comparisons:
        """Compare the systems, corrected for the number of pairs.

        Parameters
        ----------
        method : str, optional
            A method as for `compare`; without it the one recommended for the data.
        choices : Any
            What else `compare` takes, or without a method `analyze`.

        Returns
        -------
        Comparisons
            The pairs.
        """
        if method is None:
            return analyze(self._frame, **choices).comparisons
        return compare(self._frame, method, **choices)

    def analyze(self, **choices: Any) -> Analysis:
        """Say which systems differ and what may be claimed.

        Parameters
        ----------
        choices : Any
            What `analyze` takes.

        Returns
        -------
        Analysis
            The answer.
        """
        return analyze(self._frame, **choices)
