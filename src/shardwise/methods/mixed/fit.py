"""Mixed models of systems that give different results each time: topics and instances are samples (J15 §3).

Scores with instances -> arrays: who has how many instances, who is deterministic, what is missing.

Mixed models with any crossed or nested random factors: judges, prompts, annotators, users, passages.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shardwise.core import late
from shardwise.core.arguments import validate_choice
from shardwise.core.arrays import Bools, Floats, Ints
from shardwise.core.claim import Claim, format_count, pluralize_noun, translate_term
from shardwise.core.errors import Either, InputError, Option
from shardwise.core.libraries import pd
from shardwise.core.model import format_term
from shardwise.core.scores import ROLE_OF, Scores, as_scores, is_labelled
from shardwise.core.shown import Drawn
from shardwise.core.variance_components import PARTS, VarianceComponents
from shardwise.methods.mixed import balanced
from shardwise.methods.mixed.balanced import DIMENSIONS, BalancedFit, Design
from shardwise.methods.mixed.reml import (
    Convergence,
    RestrictedFigures,
    describe_figures,
    fit_restricted,
    refuse_without_error,
    singular_note,
)
from shardwise.methods.pairs import Means


@dataclass(frozen=True, slots=True, eq=False)
class Observations:
    """One row a score: its value and the codes of its system, topic, system:topic and instance."""

    y: Floats
    system: Ints
    topic: Ints
    system_topic: Ints
    instance: Ints  # -1 for a deterministic system of a nested design


FREEDOMS = {"satterthwaite": "Satterthwaite", "kenward-roger": "Kenward–Roger", "paper": "J15"}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MixedFit(Drawn, RestrictedFigures):
    """A linear mixed model with systems fixed and factors random, by restricted likelihood.

    >>> rng = np.random.default_rng(1)
    >>> y = rng.normal(0, 0.2, (40, 1, 1)) + rng.normal(0, 0.1, (40, 2, 1)) + rng.normal(0, 0.05, (40, 2, 3))
    >>> import xarray as xr
    >>> scores = xr.DataArray(y, dims=("topic", "system", "judge"), coords={"system": ["a", "b"]})
    >>> fit = mixed(scores, random=["topic", "judge"])
    >>> list(fit.variance_components)
    ['topic', 'topic:system', 'judge', 'system:judge', 'residual']
    >>> fit.estimates().claim
    'new topics like these 40, any judge (3 seen)'
    """

    systems: tuple[str, ...]
    n: int  # scores
    variance_components: VarianceComponents
    notes: tuple[str, ...]
    nouns: Mapping[str, str]  # the user's own words for dimensions
    lower_is_better: bool
    claim: str  # what a significant difference is about, in words
    over: Claim  # the random factors
    shape: str  # sizes of what was fitted, in words
    design: Design | None = None  # of instances; None where factors were named
    instances: tuple[int, ...] = ()  # of each system
    deterministic: Bools | None = None
    data: Observations | None = None  # of a design
    balanced: BalancedFit | None = None  # complete data: the closed form

    @property
    def singular(self) -> tuple[str, ...]:
        """Terms whose variance is estimated as 0."""
        return tuple(name for name, v in self.variance_components.items() if v == 0.0)

    @property
    def criterion(self) -> float:
        """The REML criterion, -2 log restricted likelihood."""
        return -2.0 * self.log_likelihood

    @property
    def aic(self) -> float:
        """Akaike's criterion; compare only among models with the same systems."""
        return self.criterion + 2.0 * (len(self.systems) + len(self.variance_components))

    @property
    def bic(self) -> float:
        """Schwarz's criterion, counting every score."""
        return self.criterion + float(np.log(self.n)) * (len(self.systems) + len(self.variance_components))

    @property
    def means(self) -> pd.Series:
        """Mean of each system as the model sees it."""

        return pd.Series(self.values, index=pd.Index(self.systems, name="system"), name="mean")

    def _choose_df(self, df: str) -> str:
        """Return the degrees of freedom that are meant: Kenward and Roger's where Satterthwaite's would explode."""
        return ("kenward-roger" if self.singular else "satterthwaite") if df == "auto" else df

    def describe_df(self, df: str) -> str:
        """Return the degrees of freedom in words.

        Parameters
        ----------
        df : str
            As for `estimates`.

        Returns
        -------
        str
            Such as ``Satterthwaite df``.
        """
        return f"{FREEDOMS[self._choose_df(df)]} df"

    def estimates(self, *, df: str = "auto", generalize: Claim | str | Iterable[str] | None = None) -> Means:
        """Return system means for `compare`; what all systems share cancels from a difference.

        Parameters
        ----------
        df : str
            "satterthwaite", "kenward-roger", "paper" (number of scores less one, J15 §3.1.2) or "auto", which is
            Satterthwaite's unless a variance is 0, where it explodes and Kenward and Roger's is taken.
        generalize : Claim, str or iterable of str, optional
            The claim; the model speaks of all its random factors at once, and of nothing less.

        Returns
        -------
        Means
            Means of the systems and variances of their differences.
        """
        if generalize is not None and Claim.of(generalize, self.nouns) != self.over:
            factors = [pluralize_noun(self.nouns.get(name, name)) for name in self.over]
            raise InputError(
                f"the model generalises over {' and '.join(factors)}",
                remedy=("name other random factors", Either("", ", or compare by another method")),
                argument="generalize",
            )
        kind = self._choose_df(validate_choice(df, "df", ("auto", *FREEDOMS)))
        freedom = {
            "satterthwaite": self.satterthwaite,
            "kenward-roger": self.kenward_roger,
            "paper": np.full_like(self.difference_variance, self.n - 1.0),
        }[kind]
        variance = self.small_sample_variance if kind == "kenward-roger" else self.difference_variance
        pairs, alike = np.triu_indices(len(self.systems), 1), self.balanced is not None
        terms = [
            translate_term(name, self.nouns)
            for name in self.variance_components
            if name == "residual" or "system" in name.split(":")
        ]
        return Means(
            labels=self.systems,
            values=self.values,
            variance=float(variance[pairs].mean()) / 2.0 if alike else variance,
            df=float(np.median(freedom[pairs])) if alike else freedom,
            claim=self.claim,
            model=f"mixed, {self.design} instances" if self.design else "mixed, random factors",
            error=f"{' + '.join(terms)}, {self.describe_df(df)}",
            scale=float(np.sqrt(self.variance_components["residual"])),
            # instances that all systems share cancel too
            over=Claim("topic") if self.design == "crossed" else self.over,
            nouns=self.nouns,
            lower_is_better=self.lower_is_better,
        )

    def __str__(self) -> str:
        total = sum(self.variance_components.values())
        return "\n".join(
            [
                f"mixed model, {self.shape}, {self.n} scores; {self.convergence}",
                *(
                    f"  {translate_term(name, self.nouns):<16} sd {np.sqrt(v):.5f}  {v / total:6.1%} of the variance"
                    for name, v in self.variance_components.items()
                ),
                f"  REML criterion {self.criterion:.4f}, AIC {self.aic:.4f}, BIC {self.bic:.4f}",
                *self.notes,
            ]
        )


def fit_factors(scores: Any, random: Sequence[str]) -> MixedFit:
    """Fit scores with systems fixed and the factors named random; NaN is missing."""
    named = [random] if isinstance(random, str) else [str(name) for name in random]
    if not named:
        raise InputError("no random factor is named", remedy="name some, such as topic")
    if not isinstance(scores, Scores | np.ndarray) and not is_labelled(scores):
        scores = late.call_bound("scores", scores, factors=named)
    table = as_scores(scores, keep=_keep_names(named))
    words = {word: name for name, word in table.nouns.items()}
    # a factor alone stands for its own effect and for that with each system
    terms: dict[str, None] = {}
    for name in named:
        spelled = [words.get(part, part) for part in name.split(":")]
        if spelled == ["system"]:
            raise InputError("system cannot be random: its levels are compared", remedy="name other factors")
        sets = [spelled, [*spelled, "system"]] if len(spelled) == 1 else [spelled]
        terms |= {part[0] if len(part) == 1 else format_term(frozenset(part)): None for part in sets}
    y = np.asarray(table.values, dtype=float)
    present = np.nonzero(np.isfinite(y))
    indices = dict(zip(table.dims, present, strict=True))
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
    sizes = {name: int(codes[name].max()) + 1 for name in over}
    sizes |= {d: n for d, n in table.sizes.items() if d not in over}
    return MixedFit(
        **describe_figures(parts),
        systems=table.systems,
        n=len(present[0]),
        variance_components=components,
        notes=singular_note(
            [translate_term(name, table.nouns) for name, v in components.items() if v == 0.0]
        ),
        nouns=table.nouns,
        lower_is_better=table.measure.lower_is_better,
        claim=over.sentence(sizes, table.nouns),
        over=over,
        shape=" × ".join(format_count(n, table.nouns.get(name, name)) for name, n in sizes.items()),
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


def _code_levels(table: Scores, name: str, indices: dict[str, Ints]) -> Ints:
    """Level of a factor for each score: a dimension, or a label along one."""
    if name in indices:
        return np.unique(indices[name], return_inverse=True)[1] if name != "system" else indices[name]
    along = table.list_labels()
    if name in along:
        dim, labels = along[name]
        return np.unique(labels.astype(str)[indices[dim]], return_inverse=True)[1]
    known = [*indices, *along]
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


def arrange_cells(
    scores: Scores, design: Design, deterministic: Sequence[str] = ()
) -> tuple[Floats, tuple[int, ...], Bools]:
    """Return (L, M, N) scores in the order of a design, NaN where there is none; instances and flag of each system.

    Nested: the instances of a system are its own, so empty places are closed up. Crossed: the same label is the same
    instance for all systems, and a deterministic system is copied to all instances (J15 §3.1.2).
    """
    y = np.array(scores.values.transpose(scores.over(*DIMENSIONS)), dtype=float)
    systems, topics = scores.systems, scores.topics
    flags = (
        np.zeros(len(systems), dtype=bool) if scores.deterministic is None else scores.deterministic.copy()
    )
    for name in [deterministic] if isinstance(deterministic, str) else deterministic:
        flags[systems.index(validate_choice(name, "system", systems))] = True
    present = np.isfinite(y)
    for index, system in enumerate(systems):
        if not present[index].any():
            raise InputError(f"system {system!r} has no scores", remedy="leave it out")
    empty = ~present.any(axis=(0, 1))
    if empty.any():
        raise InputError(
            f"topic {topics[int(empty.argmax())]!r} has no scores",
            remedy=("drop it", Either(": scores.dropna('topic')", "")),
        )
    rows = [_instances_of(y[k], system, bool(flags[k])) for k, system in enumerate(systems)]
    if design == "crossed":
        kept = np.unique(np.concatenate([row for k, row in enumerate(rows) if not flags[k]] or rows))
        crossed = y[:, kept]
        for k in map(int, np.flatnonzero(flags)):
            crossed[k] = y[k, rows[k]]
        return crossed, (len(kept),) * len(systems), flags
    counts = tuple(map(len, rows))
    nested = np.full((len(systems), max(counts), len(topics)), np.nan)
    for k, row in enumerate(rows):
        nested[k, : len(row)] = y[k, row]
    return nested, counts, flags


def _instances_of(y: Floats, system: str, deterministic: bool) -> Ints:
    """Places of the instances that a system has; of a deterministic one, which may come as copies, the first."""
    row = np.flatnonzero(np.isfinite(y).any(axis=1))
    if not deterministic:
        return row
    if not all(np.array_equal(y[row[0]], y[m], equal_nan=True) for m in row[1:]):
        raise InputError(
            f"system {system!r} is flagged deterministic, but its {len(row)} instances differ",
            remedy="remove the flag",
        )
    return row[:1]


def mixed(
    scores: Any,
    design: Design | None = None,
    *,
    deterministic: Sequence[str] = (),
    random: Sequence[str] | None = None,
) -> MixedFit:
    """Fit y = γ + system + topic + system:topic + instance + ε, systems fixed, the rest random (J15 eq. 9).

    Complete tables are fitted in closed form, others by profiled restricted likelihood.

    Parameters
    ----------
    scores : object
        Any table that `as_scores` takes, by topic, system and instance; NaN is missing.
    design : {"nested", "crossed"}, optional
        "nested": every system has instances of its own (variance "system:instance"); "crossed": instance m is the same
        for all systems (variance "instance").
    deterministic : sequence of str
        Systems, beside those flagged by a coordinate of that name, that have a single instance without an effect
        (nested) or are copied to all instances (crossed, as in J15).
    random : sequence of str, optional
        Any other random factors instead: dimensions of the scores, or labels along one of them, such as topic, judge,
        prompt, annotator or cluster. Each brings an effect of its own and one with each system; terms such as
        "topic:judge" or "system:instance" are taken as they are.

    Returns
    -------
    MixedFit
        The fit.

    >>> import xarray as xr
    >>> rng = np.random.default_rng(1)
    >>> y = 0.3 + rng.normal(0, 0.2, 30) + rng.normal(0, 0.1, (2, 1, 30)) + rng.normal(0, 0.05, (2, 5, 30))
    >>> fit = mixed(xr.DataArray(y, dims=("system", "instance", "topic"), coords={"system": ["a", "b"]}))
    >>> [f"{name} {v ** 0.5:.2f}" for name, v in fit.variance_components.items()]
    ['topic 0.15', 'system:topic 0.10', 'system:instance 0.00', 'residual 0.05']
    """
    if random is not None:
        given = (design is not None, bool(len(deterministic)))
        if any(given):
            named = ("design", "deterministic")[given.index(True)]
            raise InputError(
                (Option(named), " has no effect where random factors are named"),
                remedy="leave it out",
                argument=named,
            )
        return fit_factors(scores, random)
    design = validate_choice(design or "nested", "design", ("nested", "crossed"))
    checked = as_scores(scores, needs=DIMENSIONS, only=True)
    y, counts, fixed = arrange_cells(checked, design, deterministic)
    l, m, n = y.shape  # noqa: E741
    if l < 2 or n < 2:
        raise InputError(
            f"{format_count(l, 'system')} and {format_count(n, 'topic')} are too few",
            remedy="give at least two of each",
        )
    if m < 2:
        raise InputError(
            "no system has a second instance, so nothing shows how instances vary",
            remedy=(
                "give more instances, or use ",
                Either("anova or paired_tests", "shardwise compare"),
                " for deterministic systems",
            ),
        )
    # a row a score that is there
    system, instance, topic = np.nonzero(np.isfinite(y))
    values = y[system, instance, topic]
    if design == "nested":
        starts = np.concatenate(([0], np.cumsum(np.where(fixed, 0, counts))))
        instance = np.where(fixed[system], -1, starts[system] + instance)
    present = np.isfinite(y).any(axis=1)  # (L, N)
    code = np.cumsum(present).reshape(present.shape) - 1
    data = Observations(values, system, topic, code[system, topic], instance)
    complete = np.isfinite(y).all() and not (design == "nested" and fixed.any())
    names = ("topic", "system:topic", "system:instance" if design == "nested" else "instance", "residual")
    if complete:
        centre = y.mean()
        lines = balanced.split_lines(y - centre, design)
        refuse_without_error(float(lines.ms[balanced.E]), float(lines.ms.max()))
        closed = balanced.restricted_maximum(lines)
        square = np.ones((l, l))
        var = float(closed.difference_variance) * (square - np.eye(l))
        parts = RestrictedFigures(
            values=lines.means + centre,
            variances=closed.components,
            log_likelihood=float(closed.log_likelihood),
            difference_variance=var,
            small_sample_variance=var,
            satterthwaite=float(closed.satterthwaite()) * square,
            kenward_roger=float(closed.kenward_roger()) * square,
            convergence=Convergence("closed form"),
        )
    else:
        closed = None
        parts = fit_restricted(data.y, data.system, (data.topic, data.system_topic, data.instance), l)
    components = VarianceComponents(
        dict(zip(names, map(float, parts.variances), strict=True)),
        mean=float(parts.values.mean()),
        where=f"restricted likelihood, {design} instances",
    )
    singular = singular_note([name for name, v in components.items() if v == 0.0])
    return MixedFit(
        **describe_figures(parts),
        systems=checked.systems,
        n=len(data.y),
        variance_components=components,
        notes=(*_write_notes(counts, checked.systems, fixed, design), *singular),
        nouns=checked.nouns,
        lower_is_better=checked.measure.lower_is_better,
        claim=_write_claim(design, checked.nouns, n, counts, fixed),
        over=Claim("topic", "instance"),
        shape=f"{l} systems × {n} topics, {design} instances",
        design=design,
        instances=counts,
        deterministic=fixed,
        data=data,
        balanced=closed,
    )


def _write_claim(
    design: Design, nouns: Mapping[str, str], topics: int, instances: tuple[int, ...], fixed: Bools
) -> str:
    """Return what a significant difference is about, in words."""
    topic, system, instance = (nouns.get(name, name) for name in ("topic", "system", "instance"))
    new = f"new {pluralize_noun(topic)} like these {topics}"
    if design == "crossed":
        shared = f"{pluralize_noun(instance)} shared by all {pluralize_noun(system)}"
        return f"{new}, exactly these {max(instances)} {shared}"
    counts = sorted(set(np.array(instances)[~fixed].tolist()))
    some = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return f"{new}, any {instance} ({some} seen of each {system})"


def _write_notes(
    counts: tuple[int, ...], systems: tuple[str, ...], fixed: Bools, design: Design
) -> list[str]:
    notes = []
    if fixed.any():
        names = ", ".join(np.array(systems)[fixed])
        how = "has no instance effect" if design == "nested" else "is copied to all instances (J15 §3.1.2)"
        notes.append(f"deterministic: {names} {how}")
    lone = [s for s, m, f in zip(systems, counts, fixed, strict=True) if m == 1 and not f]
    if lone and design == "nested":
        notes.append(
            f"one instance only: {', '.join(lone)}; the variance of its instances is taken from the others"
        )
    return notes
