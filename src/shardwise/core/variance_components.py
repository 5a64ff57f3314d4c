"""What scores vary by: the variance of every effect, given or estimated, and what it does to a difference of systems.

y = mean + topic + system + shard + topic:system + topic:shard + system:shard + system:instance + error (F19, MD6;
instances nested in systems as in J15 eq. 9).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import isfinite, prod, sqrt
from typing import Any, Literal

import numpy as np

from shardwise.core.arguments import validate_choice
from shardwise.core.arrays import Floats
from shardwise.core.claim import Claim, translate_term
from shardwise.core.errors import InputError
from shardwise.core.model import format_term
from shardwise.core.shown import Drawn

EFFECTS = ("topic", "shard", "topic:system", "topic:shard", "system:shard", "system:instance")
TERMS = ("system", *EFFECTS, "error")  # EFFECTS are random, as is the error, which has all dimensions
LAYOUTS = (
    ("topic", "system"),
    ("topic", "system", "shard"),
    ("topic", "system", "instance"),
    ("split", "topic", "system", "shard"),
)  # tables whose components can be told from mean squares
ERROR = ("error", "residual")
PARTS = {"topic", "system", "shard", "instance"}

Size = Floats | float


def canonicalize_term(term: str, further: Iterable[str] = ()) -> str:
    """Return the one name of a term: its parts in the usual order, and ``error`` for the residual.

    Parts may be ``further`` factors beside those that scores usually have.

    >>> canonicalize_term("system:topic"), canonicalize_term("topic_shard"), canonicalize_term("residual")
    ('topic:system', 'topic:shard', 'error')
    """
    if term in ERROR:
        return ERROR[0]
    plain = frozenset(str(term).split(":"))
    if plain <= PARTS.union(further):
        return format_term(plain)
    parts = frozenset(str(term).replace("_", ":").split(":"))
    if not parts <= PARTS:
        raise InputError(
            f"unknown effect {term!r}",
            remedy=f"name some of {', '.join(TERMS)}",
            value=term,
            choices=TERMS,
        )
    return format_term(parts)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class VarianceComponents(Drawn, Mapping[str, float]):
    """Variances of the effects that make up a score; a mapping from their names.

    The parts of a name come in any order, ``residual`` is ``error``, and ``instance`` finds ``system:instance``.

    Parameters
    ----------
    variances
        The variance of each effect by its name, such as ``topic`` or ``topic:system``; ``system`` is that of the true
        means of systems.
    mean
        The grand mean of the scores, where it is known.
    negative
        Effects whose variance was estimated below 0 and counts as 0.
    where
        Where the variances come from, in words.
    random
        How many of two systems that are compared give another result each time, 2 or 1: a deterministic system has
        neither instances nor an error.
    further
        Further random factors, such as judge or prompt, that effects are of.

    >>> parts = VarianceComponents({"topic": .04, "topic:system": .0064, "error": .0036}, mean=.3)
    >>> parts["system:topic"], parts["residual"], parts.sd("topic")
    (0.0064, 0.0036, 0.2)
    >>> variance, df = parts.variance_of_difference("topic", {"topic": 50, "system": 10})
    >>> round(float(variance), 5), float(df)
    (0.0004, 441.0)
    """

    variances: Mapping[str, float]
    mean: float | None = None
    negative: tuple[str, ...] = ()
    where: str = ""
    random: int = 2
    further: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        seen: set[str] = set()
        for term, variance in self.variances.items():
            if not (isfinite(variance) and variance >= 0):
                raise InputError(
                    f"{term} = {variance:g}: a variance cannot be below 0",
                    remedy="give 0 or more",
                    value=variance,
                )
            name = canonicalize_term(term, self.further)
            if name in seen:
                raise InputError(f"the variance of {name} is given twice", remedy="give it once")
            seen.add(name)
        if self.mean is not None and not isfinite(self.mean):
            raise InputError(f"mean = {self.mean:g} is not a number", remedy="give one, such as 0.3")
        if self.random not in (1, 2):
            raise InputError(f"{self.random} of two systems are random", remedy="give 1 or 2")
        object.__setattr__(self, "variances", dict(self.variances))

    @classmethod
    def of(cls, values: Mapping[str, float], kind: Literal["sd", "variance"]) -> VarianceComponents:
        """Read a mapping from effects to their standard deviations or variances; ``mean`` may stand among them.

        Parameters
        ----------
        values : mapping of str to float
            Numbers by name: ``topic:system`` or ``topic_system``, the parts in any order; ``instance`` is
            ``system:instance``, the instances being each system's own.
        kind : {"sd", "variance"}
            What the numbers are: ``sd`` or ``variance``.

        Returns
        -------
        VarianceComponents
            The variances.

        >>> print(VarianceComponents.of({"topic": .2, "topic:system": .08, "error": .06, "mean": .3}, kind="sd"))
        mean 0.3; standard deviations topic 0.2, topic:system 0.08, error 0.06
        """
        validate_choice(kind, "kind", ("sd", "variance"))
        variances: dict[str, float] = {}
        for name, value in values.items():
            if name == "mean":
                continue
            term = canonicalize_term("system:instance" if name == "instance" else name)
            if not (isfinite(value) and value >= 0):
                what = "standard deviation" if kind == "sd" else "variance"
                raise InputError(f"{term} = {value:g}: a {what} cannot be below 0", remedy="give 0 or more")
            variances[term] = float(value) ** 2 if kind == "sd" else float(value)
        return cls(variances, mean=float(values["mean"]) if "mean" in values else None)

    def __getitem__(self, term: str) -> float:
        name = self._find_name(term)
        if name is None:
            raise InputError(f"unknown variance {term!r}", remedy=f"there are {', '.join(self)}")
        return self.variances[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.variances)

    def __len__(self) -> int:
        return len(self.variances)

    def __contains__(self, term: object) -> bool:
        return isinstance(term, str) and self._find_name(term) is not None

    def get(self, term: str, default: Any = None) -> Any:
        """Return the variance of an effect, or something else where it is not there.

        Parameters
        ----------
        term : str
            Name of the effect.
        default : object
            What to return where it is not there.

        Returns
        -------
        object
            The variance, or ``default``.
        """
        name = self._find_name(term)
        return default if name is None else self.variances[name]

    def _find_name(self, term: str) -> str | None:
        """Return how a term is spelt here, None if it is absent."""
        if term in self.variances:
            return term
        try:
            wanted = canonicalize_term(term, self.further)
        except InputError:
            return None
        spellings = {canonicalize_term(name, self.further): name for name in self.variances}
        return spellings.get(wanted, spellings.get("system:instance") if wanted == "instance" else None)

    def variance(self, term: str) -> float:
        """Return the variance of an effect, 0 for one that is not there.

        Parameters
        ----------
        term : str
            Name of the effect.

        Returns
        -------
        float
            The variance.
        """
        return float(self.get(term, 0.0))

    def sd(self, term: str) -> float:
        """Return the standard deviation of an effect, 0 for one that is not there.

        Parameters
        ----------
        term : str
            Name of the effect.

        Returns
        -------
        float
            The standard deviation.
        """
        return sqrt(self.variance(term))

    def only(self, terms: Iterable[str]) -> VarianceComponents:
        """Return the components of some effects alone.

        Parameters
        ----------
        terms : iterable of str
            Names of these effects; those that are not there are left out.

        Returns
        -------
        VarianceComponents
            Those of the effects that are there.
        """
        return replace(self, variances={term: self[term] for term in terms if term in self})

    def variance_of_difference(
        self, claim: Claim | str | Iterable[str] | None, sizes: Mapping[str, Size]
    ) -> tuple[Floats, Floats]:
        """Return the variance of the difference of two system means, and the df of its usual estimate.

        Parameters
        ----------
        claim : Claim, str, iterable of str or None
            What the difference is about: effects of systems with what it generalises over blur it.
        sizes : mapping of str to float or array
            Numbers of topics and, where there are any, of shards or instances; of systems too (2 unless said), whose
            number decides the df. Arrays are broadcast.

        Returns
        -------
        tuple of array of float
            Variance and degrees of freedom, in the shape of the sizes.

        Notes
        -----
        With T topics and S shards, a difference on these topics and shards has the variance 2σ²_e/(TS). For topics like
        these 2σ²_ts/T is added, for shards like these 2σ²_sk/S, and for M instances like these
        2σ²_i/M. It is estimated by mean squares: MS_e; MS_ts; MS_ts + MS_sk - MS_e with Satterthwaite's df.
        """
        over = Claim.of(claim)
        n = {dim: np.asarray(size, dtype=float) for dim, size in sizes.items()}
        systems = n.pop("system", np.asarray(2.0))
        over.check(("system", *n))
        random_systems = (
            systems if self.random == 2 else np.asarray(1.0)
        )  # systems that show how instances vary
        noisy = float(self.random) if "instance" in n else 2.0
        error = np.asarray(noisy * self.variance("error") / prod(n.values()))
        lines: list[tuple[Floats, Floats]] = []  # what each mean square adds, and its df
        for dim in over:
            nested = dim == "instance"
            spread = self.variance("system:instance" if nested else f"{dim}:system")
            if nested and not spread and lines:  # the unified test leaves out instances that show no variance
                continue
            df = (n[dim] - 1.0) * (random_systems if nested else systems - 1.0)
            lines.append(((noisy if nested else 2.0) * spread / n[dim] + error, df))
        df_error = prod(
            (size - 1.0 for size in n.values()), start=random_systems if "instance" in n else systems - 1.0
        )
        if not lines:
            return _broadcast_both(error, np.asarray(df_error))
        variance = np.asarray(sum(part for part, _ in lines) - (len(lines) - 1.0) * error)
        if len(lines) == 1:
            return _broadcast_both(variance, lines[0][1])
        with np.errstate(divide="ignore", invalid="ignore"):
            blur = sum(part**2 / df for part, df in lines) + ((len(lines) - 1.0) * error) ** 2 / df_error
            df = variance**2 / blur
        return _broadcast_both(variance, np.where(df > 0, df, lines[0][1]))

    def __str__(self) -> str:
        return self.describe_components({})

    def describe_components(self, nouns: Mapping[str, str]) -> str:
        """Return mean and standard deviations in a line.

        Parameters
        ----------
        nouns : mapping of str to str
            The user's own words for dimensions.

        Returns
        -------
        str
            Such as ``mean 0.3; standard deviations topic 0.2, error 0.06``.
        """
        mean = [] if self.mean is None else [f"mean {self.mean:.3g}"]
        parts = (
            ", ".join(f"{translate_term(term, nouns)} {sqrt(v):.3g}" for term, v in self.items() if v)
            or "all 0"
        )
        below = ", ".join(translate_term(term, nouns) for term in self.negative)
        note = f" (estimated below 0, counted as 0: {below})" if below else ""
        return "; ".join([*mean, f"standard deviations {parts}{note}"])


def _broadcast_both(variance: Floats, df: Floats) -> tuple[Floats, Floats]:
    """Broadcast both to the shape of all sizes together."""
    both = np.broadcast_arrays(variance, df)
    return np.asarray(both[0], dtype=float), np.asarray(both[1], dtype=float)
