"""Right and wrong answers: a logistic mixed model with systems fixed and items a sample."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from shardwise.core.arrays import Floats
from shardwise.core.claim import Claim
from shardwise.core.errors import InputError
from shardwise.core.scores import as_scores, level_names, nouns_of
from shardwise.methods.base import Estimates
from shardwise.methods.mixed.logistic import logistic


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LogisticFit:
    """logit P(right) = log-odds of the system + effect of the item, which is normal (lme4's glmer, one point).

    >>> rng = np.random.default_rng(1)
    >>> hard = rng.normal(0, 1, (200, 1))
    >>> y = (rng.random((200, 2)) < special.expit([0.2, 1.2] + hard)).astype(int)
    >>> fit = fit_logistic(pd.DataFrame(y, columns=["a", "b"]))
    >>> fit.table["log_odds"].round(2).to_dict(), round(fit.item_sd, 2)
    ({'a': 0.39, 'b': 1.01}, 0.72)
    """

    systems: tuple[str, ...]
    n: int  # answers
    items: int
    log_odds: Floats  # (L,) on an item of average difficulty
    covariance: Floats  # (L, L)
    item_sd: float  # of the log-odds of items
    log_likelihood: float  # by Laplace's approximation
    nouns: Mapping[str, str]

    @property
    def table(self) -> pd.DataFrame:
        """One row a system: `log_odds, se`, and `share`, the chance to be right on an item of average difficulty."""
        columns = {
            "log_odds": self.log_odds,
            "se": np.sqrt(np.diag(self.covariance)),
            "share": special.expit(self.log_odds),
        }
        return pd.DataFrame(columns, index=pd.Index(self.systems, name="system"))

    def estimates(self, *, generalize: Claim | str | Iterable[str] = ("topic",)) -> Estimates:
        """Log-odds for `compare`: a difference is the logarithm of an odds ratio, and its law is normal.

        Parameters
        ----------
        generalize
            The claim; the model speaks of items like these alone.
        """
        if Claim.of(generalize, self.nouns) != Claim("topic"):
            raise InputError("the model generalises over topics", argument="generalize")
        own = np.diag(self.covariance)
        variance = own[:, None] + own[None, :] - 2.0 * self.covariance
        pairs = np.triu_indices(len(self.systems), 1)
        claim = Claim("topic").sentence({"topic": self.items, "system": len(self.systems)}, self.nouns)
        return Estimates(
            labels=self.systems,
            values=self.log_odds,
            variance=float(variance[pairs].mean()) / 2.0,
            df=np.inf,
            claim=f"{claim}, in log-odds",
            model="logistic mixed",
            difference_variance=variance,
            over=Claim("topic"),
            nouns=self.nouns,
        )

    def __repr__(self) -> str:
        return f"<LogisticFit of {self.n} answers: {len(self.systems)} systems, {self.items} items>"


def fit_logistic(scores: Any) -> LogisticFit:
    """Fit scores of 0 and 1, NaN where missing, by topic and system; other dimensions are further answers.

    Parameters
    ----------
    scores
        Any table that `as_scores` takes.
    """
    table = as_scores(scores)
    y = np.asarray(table.to_numpy(), dtype=float)
    there = np.nonzero(np.isfinite(y))
    right = y[there]
    if not ((right == 0.0) | (right == 1.0)).all():
        raise InputError(
            "a logistic model is of right and wrong, and some scores are neither 0 nor 1",
            remedy="use a linear model",
        )
    place = {str(d): index for d, index in zip(table.dims, there, strict=True)}
    if len(np.unique(place["system"])) < table.sizes["system"] or table.sizes["system"] < 2:
        raise InputError(
            "a system has no scores, or there is one only", remedy="give at least two with scores"
        )
    item = np.unique(place["topic"], return_inverse=True)[1]
    found = logistic(right, place["system"], item)
    return LogisticFit(
        level_names(table, "system"),
        right.size,
        int(item.max()) + 1,
        found.beta,
        found.covariance,
        found.sd,
        found.log_likelihood,
        nouns_of(table),
    )
