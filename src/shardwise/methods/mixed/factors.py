"""Mixed models with any crossed or nested random factors: judges, prompts, annotators, users, passages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from shardwise.core.arrays import Ints
from shardwise.core.claim import Claim, format_count, translate_term
from shardwise.core.errors import InputError
from shardwise.core.model import format_term
from shardwise.core.scores import ROLE_OF, as_scores, level_names, measure_of, nouns_of
from shardwise.core.variance_components import PARTS, VarianceComponents
from shardwise.io.scores import read_scores
from shardwise.methods.base import Estimates
from shardwise.methods.mixed.restricted import RestrictedFit, fit_restricted, singular_note


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FactorFit(RestrictedFit):
    """A linear mixed model with systems fixed and any factors random, by restricted likelihood.

    >>> rng = np.random.default_rng(1)
    >>> y = rng.normal(0, 0.2, (40, 1, 1)) + rng.normal(0, 0.1, (40, 2, 1)) + rng.normal(0, 0.05, (40, 2, 3))
    >>> scores = xr.DataArray(y, dims=("topic", "system", "judge"), coords={"system": ["a", "b"]})
    >>> fit = fit_factors(scores, ["topic", "judge"])
    >>> list(fit.variance_components)
    ['topic', 'topic:system', 'judge', 'system:judge', 'residual']
    >>> fit.estimates().claim
    'new topics like these 40, any judge (3 seen)'
    """

    sizes: dict[str, int]  # levels of every factor, and of what is held fixed
    over: Claim  # the factors that are random

    @property
    def claim(self) -> str:
        """What a significant difference is about, in words."""
        return self.over.sentence(self.sizes, self.nouns)

    def estimates(
        self, *, df: str = "auto", generalize: Claim | str | Iterable[str] | None = None
    ) -> Estimates:
        """System means for `compare`.

        Parameters
        ----------
        df
            "satterthwaite", "kenward-roger", "paper" (number of scores less one) or "auto", which is Satterthwaite's
            unless a variance is 0, where Kenward and Roger's is taken.
        generalize
            The claim; the model speaks of all its random factors at once, and of nothing less.
        """
        if generalize is not None and Claim.of(generalize, self.nouns) != self.over:
            raise InputError(
                f"the model generalises over {', '.join(self.over)}",
                remedy="name other random factors",
                argument="generalize",
            )
        shared = [name for name in self.variance_components if "system" not in name.split(":")]
        return self._build_estimates(
            df,
            claim=self.claim,
            over=self.over,
            model="mixed, random factors",
            alike=False,
            shared=[name for name in shared if name != "residual"],
        )

    def __repr__(self) -> str:
        return f"<FactorFit of {self.n} scores: {len(self.systems)} systems, random {', '.join(self.over)}>"

    def __str__(self) -> str:
        sizes = " × ".join(format_count(n, self.nouns.get(name, name)) for name, n in self.sizes.items())
        return "\n".join(self.lines(f"mixed model, {sizes}"))


def fit_factors(scores: Any, random: Sequence[str]) -> FactorFit:
    """Fit scores with systems fixed and the factors named random; NaN is missing.

    Parameters
    ----------
    scores
        Any table that `as_scores` takes, with any further dimensions, and labels along them; columns of a long table
        that are called as the factors.
    random
        Factors, each with an effect of its own and one with each system, and further terms such as "topic:judge".
    """
    named = [random] if isinstance(random, str) else [str(name) for name in random]
    if not named:
        raise InputError("no random factor is named", remedy="name some, such as topic")
    if not isinstance(scores, xr.DataArray | xr.Dataset | np.ndarray):
        scores = read_scores(scores, factors=named)
    table = as_scores(scores, keep=_keep_names(named))
    words = {word: name for name, word in nouns_of(table).items()}
    terms = dict.fromkeys(
        term
        for name in named
        for term in _expand_name(":".join(words.get(part, part) for part in name.split(":")))
    )
    y = np.asarray(table.to_numpy(), dtype=float)
    present = np.nonzero(np.isfinite(y))
    indices = {str(d): index for d, index in zip(table.dims, present, strict=True)}
    codes = {
        name: _code_levels(table, name, indices)
        for name in dict.fromkeys(p for t in terms for p in t.split(":"))
    }
    factors = [_join_codes([codes[part] for part in term.split(":")]) for term in terms]
    _check_levels(y, indices, terms, factors)
    parts = fit_restricted(y[present], indices["system"], factors, table.sizes["system"])
    components = VarianceComponents(
        dict(zip([*terms, "residual"], map(float, parts.variances), strict=True)),
        mean=float(parts.values.mean()),
        where="restricted likelihood, random factors",
        further=tuple(name for name in codes if name not in PARTS),
    )
    over = Claim(*(name for name in codes if name != "system"))
    fixed = {str(d): int(n) for d, n in table.sizes.items() if d not in over}
    return FactorFit(
        systems=level_names(table, "system"),
        n=len(present[0]),
        variance_components=components,
        parts=parts,
        notes=singular_note(
            [translate_term(name, nouns_of(table)) for name, v in components.items() if v == 0.0]
        ),
        nouns=nouns_of(table),
        lower_is_better=measure_of(table).lower_is_better,
        sizes={**{name: int(codes[name].max()) + 1 for name in over}, **fixed},
        over=over,
    )


def _keep_names(named: Sequence[str]) -> tuple[str, ...]:
    """Names that stay as they are: of several words for one dimension, all but the first."""
    seen: set[str] = set()
    kept = []
    for word in dict.fromkeys(part for name in named for part in name.split(":")):
        role = ROLE_OF.get(word.lower())
        if role is not None and role in seen:
            kept.append(word)
        seen |= {role} if role is not None else set()
    return tuple(kept)


def _expand_name(name: str) -> tuple[str, ...]:
    """The terms that a name stands for, their parts in the usual order."""
    if ":" in name:
        return (format_term(frozenset(name.split(":"))),)
    if name == "system":
        raise InputError("system cannot be random: its levels are compared", remedy="name other factors")
    return name, format_term(frozenset((name, "system")))


def _code_levels(table: xr.DataArray, name: str, indices: dict[str, Ints]) -> Ints:
    """Level of a factor for each score: a dimension, or a label along one."""
    if name in indices:
        return np.unique(indices[name], return_inverse=True)[1] if name != "system" else indices[name]
    if name in table.coords and table[name].ndim == 1:
        labels = np.unique(np.asarray(table[name].values).astype(str), return_inverse=True)[1]
        return np.unique(labels[indices[str(table[name].dims[0])]], return_inverse=True)[1]
    known = [*indices, *(str(c) for c in table.coords if c not in indices and table[c].ndim == 1)]
    raise InputError(
        f"the scores have no factor {name!r}",
        remedy=f"they have {', '.join(known)}",
        argument="random",
        value=name,
        choices=known,
    )


def _join_codes(codes: Sequence[Ints]) -> Ints:
    """Number of each combination of levels that occurs."""
    combined = codes[0]
    for code in codes[1:]:
        combined = np.unique(combined * (int(code.max()) + 1) + code, return_inverse=True)[1]
    return combined.astype(np.int64)


def _check_levels(y: Any, indices: dict[str, Ints], terms: Iterable[str], factors: Sequence[Ints]) -> None:
    n = len(indices["system"])
    absent = np.setdiff1d(np.arange(y.shape[list(indices).index("system")]), indices["system"])
    if absent.size:
        raise InputError(f"system number {absent[0]} has no scores", remedy="leave it out")
    levels = [int(code.max()) + 1 for code in factors]
    for term, count in zip(terms, levels, strict=True):
        if count == n:
            raise InputError(
                f"{term} takes up every score and leaves nothing for a residual",
                remedy="leave it out: with one score a level it is the residual",
            )
        if count < 2:
            raise InputError(
                f"{term} has one level only",
                remedy="leave it out, or give several: how they vary shows only then",
            )
    for k, term in enumerate(terms):
        for j, other in enumerate(terms):
            if j < k and levels[j] == levels[k] == int(_join_codes([factors[j], factors[k]]).max()) + 1:
                raise InputError(
                    f"{term} and {other} are one and the same here", remedy="leave one of them out"
                )
