"""What every mixed model by restricted likelihood hands over: system means, variances, errors of differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import linalg

from shardwise.core.arrays import Floats, Ints
from shardwise.core.claim import Claim, translate_term
from shardwise.core.errors import InputError, Option
from shardwise.core.variance_components import VarianceComponents
from shardwise.methods.base import Estimates
from shardwise.methods.mixed import reml
from shardwise.methods.mixed.blocks import Problem, prepare_problem
from shardwise.methods.mixed.information import (
    Information,
    difference_df,
    fixed_covariance,
    to_residual,
    variance_information,
)
from shardwise.methods.mixed.reml import Convergence, State, local_products

FREEDOMS = ("auto", "satterthwaite", "kenward-roger", "paper")
WORDS = {"satterthwaite": "Satterthwaite", "kenward-roger": "Kenward–Roger", "paper": "J15"}
TINY = 1e-12  # a mean square this small against the others is rounding


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """What a maximum of the restricted likelihood says."""

    values: Floats  # (L,) system means
    variances: Floats  # (K + 1,) of the random terms, the residual one last
    log_likelihood: float  # restricted
    difference_variance: Floats  # (L, L)
    small_sample_variance: Floats  # (L, L) with Kenward and Roger's correction, to which their df belong
    satterthwaite: Floats  # (L, L) df of each difference
    kenward_roger: Floats
    convergence: Convergence


def fit_restricted(y: Floats, system: Ints, factors: Sequence[Ints], systems: int) -> Parts:
    """Maximise the restricted likelihood, given each score's system and its level of each random term (-1: none)."""
    centre = y.mean()
    data = prepare_problem(y - centre, np.eye(systems)[system], factors)
    state, convergence = reml.maximise_likelihood(data)
    sigma2 = state.q / (data.n - data.p)
    refuse_without_error(sigma2, float(y.var()))
    info = variance_information(data, state, sigma2)
    phi, slopes = fixed_covariance(data, state, sigma2)
    var, slope = _difference_variances(phi), _difference_variances(slopes)
    off = np.where(np.eye(systems, dtype=bool), np.inf, var)  # a system against itself: any df will do
    return Parts(
        values=(state.k @ state.h)[-data.p :] + centre,
        variances=info.variances,
        log_likelihood=-0.5 * reml.profiled_deviance(data, state),
        difference_variance=var,
        small_sample_variance=var + _difference_variances(small_sample(data, state, sigma2, info)),
        satterthwaite=difference_df(off, slope, info, observed=True),
        kenward_roger=difference_df(off, slope, info, observed=False),
        convergence=convergence,
    )


def _difference_variances(phi: Floats) -> Floats:
    """(…, L, L) c'Φc for all differences of two systems."""
    diagonal = np.diagonal(phi, axis1=-2, axis2=-1)
    return np.asarray(diagonal[..., :, None] + diagonal[..., None, :] - phi - np.swapaxes(phi, -1, -2))


def refuse_without_error(error: float, spread: float) -> None:
    """Refuse scores that leave no residual."""
    if not error > TINY * spread:
        raise InputError(
            "the scores of a system's instances differ by nothing but a constant, which leaves no residual",
            remedy=("if the instances are copies, keep one and name the system in ", Option("deterministic")),
        )


def singular_note(singular: Sequence[str]) -> tuple[str, ...]:
    """What a variance of 0 means, where there is one."""
    if not singular:
        return ()
    return (
        f"singular fit: the variance of {' and '.join(singular)} is estimated as 0, that is, the data show no more "
        "variation there than chance; it need not be 0 in truth",
    )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RestrictedFit:
    """A linear mixed model with systems fixed, by restricted likelihood."""

    systems: tuple[str, ...]
    n: int  # scores
    variance_components: VarianceComponents
    parts: Parts
    notes: tuple[str, ...]
    nouns: Mapping[str, str]  # the user's own words for dimensions
    lower_is_better: bool

    @property
    def values(self) -> Floats:
        """(L,) system means."""
        return self.parts.values

    @property
    def log_likelihood(self) -> float:
        """The restricted one."""
        return self.parts.log_likelihood

    @property
    def difference_variance(self) -> Floats:
        """(L, L) variances of the differences."""
        return self.parts.difference_variance

    @property
    def satterthwaite(self) -> Floats:
        """(L, L) Satterthwaite's df of each difference."""
        return self.parts.satterthwaite

    @property
    def kenward_roger(self) -> Floats:
        """(L, L) Kenward and Roger's df of each difference."""
        return self.parts.kenward_roger

    @property
    def small_sample_variance(self) -> Floats:
        """(L, L) variances of the differences with Kenward and Roger's correction, to which their df belong."""
        return self.parts.small_sample_variance

    @property
    def convergence(self) -> Convergence:
        """How the optimisation went."""
        return self.parts.convergence

    @property
    def singular(self) -> tuple[str, ...]:
        """Terms whose variance is estimated as 0."""
        return tuple(name for name, v in self.variance_components.items() if v == 0.0)

    @property
    def residual_sd(self) -> float:
        """Spread that neither system, topic nor instance explains."""
        return float(np.sqrt(self.variance_components["residual"]))

    @property
    def criterion(self) -> float:
        """The REML criterion, -2 log restricted likelihood."""
        return -2.0 * self.log_likelihood

    @property
    def n_parameters(self) -> int:
        """System means and variances."""
        return len(self.systems) + len(self.variance_components)

    @property
    def aic(self) -> float:
        """Akaike's criterion; compare only among models with the same systems."""
        return self.criterion + 2.0 * self.n_parameters

    @property
    def bic(self) -> float:
        """Schwarz's criterion, counting every score."""
        return self.criterion + float(np.log(self.n)) * self.n_parameters

    @property
    def means(self) -> pd.Series:
        """Mean of each system as the model sees it."""
        return pd.Series(self.values, index=pd.Index(self.systems, name="system"), name="mean")

    def _choose_df(self, df: str) -> str:
        """Return the degrees of freedom that are meant: Kenward and Roger's where Satterthwaite's would explode."""
        return ("kenward-roger" if self.singular else "satterthwaite") if df == "auto" else df

    def describe_df(self, df: str) -> str:
        """Return the degrees of freedom in words."""
        return f"{WORDS[self._choose_df(df)]} df"

    def _build_estimates(
        self, df: str, *, claim: str, over: Claim, model: str, alike: bool, shared: Sequence[str]
    ) -> Estimates:
        """Means with the errors and df asked for; what all systems share cancels from a difference."""
        if df not in FREEDOMS:
            raise InputError(f"unknown df {df!r}", remedy=f"choose one of {', '.join(FREEDOMS)}")
        kind = self._choose_df(df)
        table = {
            "satterthwaite": self.satterthwaite,
            "kenward-roger": self.kenward_roger,
            "paper": np.full_like(self.difference_variance, self.n - 1.0),
        }[kind]
        variance = self.small_sample_variance if kind == "kenward-roger" else self.difference_variance
        pairs = np.triu_indices(len(self.systems), 1)
        blurs = [name for name in self.variance_components if name not in shared]
        return Estimates(
            labels=self.systems,
            values=self.values,
            variance=float(variance[pairs].mean()) / 2.0,
            df=float(np.median(table[pairs])),
            claim=claim,
            model=model,
            error=f"{' + '.join(translate_term(name, self.nouns) for name in blurs)}, {self.describe_df(df)}",
            scale=self.residual_sd,
            difference_variance=None if alike else variance,
            difference_df=None if alike else table,
            over=over,
            nouns=self.nouns,
            lower_is_better=self.lower_is_better,
        )

    def lines(self, heading: str) -> list[str]:
        """What was fitted and where the variance comes from, in lines."""
        total = sum(self.variance_components.values())
        return [
            f"{heading}, {self.n} scores; {self.convergence}",
            *(
                f"  {translate_term(name, self.nouns):<16} sd {np.sqrt(v):.5f}  {v / total:6.1%} of the variance"
                for name, v in self.variance_components.items()
            ),
            f"  REML criterion {self.criterion:.4f}, AIC {self.aic:.4f}, BIC {self.bic:.4f}",
            *self.notes,
        ]


def small_sample(data: Problem, state: State, sigma2: float, info: Information) -> Floats:
    """(p, p) 2Λ, to be added to Φ: Λ = Σ_jk C_jk (Q_jk - P_j Φ P_k) between two Φ, C the inverse expected information.

    With A_k = Z_k'V⁻¹XΦ each term is A_j'(Z_j'P Z_k)A_k, P = V⁻¹ - V⁻¹XΦX'V⁻¹. The direction V itself, of which the
    residual is made, adds nothing, as PX = 0. Complete data have Λ = 0.
    """
    kappa = state.k[:, -data.p :]
    near = local_products(data, state)
    g_kappa = state.g @ kappa
    n = np.eye(len(state.h)) - state.k @ state.g
    pi = n.T @ state.g  # U'PU
    size = data.factors + 1
    terms = np.zeros((size, size, data.p, data.p))
    a = near.zu @ kappa  # (P, m, p) Z'W_b⁻¹U K, of which the columns of X are taken
    for j, s_j in near.s.items():
        for k, s_k in near.s.items():
            mine, theirs = data.own[j], data.own[k]
            terms[j, k] = np.einsum(
                "p,pma,pmn,pnb->ab",
                data.count,
                a[:, mine],
                near.zz[:, mine, theirs],
                a[:, theirs],
                optimize=True,
            )
            terms[j, k] -= (s_j @ kappa).T @ state.k @ (s_k @ kappa)
        for columns, i in zip(data.rest, data.others, strict=True):
            terms[j, i] = kappa.T @ s_j @ n[:, columns] @ g_kappa[columns]
            terms[i, j] = terms[j, i].T
    for columns, i in zip(data.rest, data.others, strict=True):
        for two, k in zip(data.rest, data.others, strict=True):
            terms[i, k] = g_kappa[columns].T @ pi[columns, two] @ g_kappa[two]
    turn = to_residual(state.gamma, sigma2)
    weights = turn.T @ linalg.pinvh(info.expected, check_finite=False) @ turn
    return np.asarray(2.0 * np.einsum("jk,jkab->ab", weights, terms) / sigma2)
