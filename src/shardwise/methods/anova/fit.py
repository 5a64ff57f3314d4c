"""Analysis of variance of scores: table, effects, residuals, and estimates for any claim.

Estimate variance components from scores: each mean square equated with its expectation.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import prod, sqrt
from typing import Any

import numpy as np
from scipy import special

from shardwise.core.arrays import Floats
from shardwise.core.claim import Claim, format_count, pluralize_noun
from shardwise.core.errors import Either, InputError
from shardwise.core.libraries import pd, xr
from shardwise.core.model import MD1, MD6, Model, Term, format_term
from shardwise.core.scores import Scores, as_scores
from shardwise.core.shown import Drawn, Note
from shardwise.core.variance_components import LAYOUTS, VarianceComponents
from shardwise.methods.clusters import by_units
from shardwise.methods.mixed import balanced as mixed_balanced
from shardwise.methods.pairs import Means
from shardwise.stats.balanced import (
    ERROR,
    Decomposition,
    combine_squares,
    decompose,
    error_df,
    error_term,
    rounding_floor,
)
from shardwise.stats.least_squares import IncompleteFit, fit_incomplete

SIZES = ((0.14, "large"), (0.06, "medium"), (0.01, "small"))  # F19 §6


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AnovaFit(Drawn):
    """A linear model of the scores: what each term explains, and what may be said about the systems."""

    model: Model
    scores: Scores
    squares: dict[str, float]  # of the terms, the error and the total
    df: dict[str, int]
    grand_mean: float
    term_effects: dict[str, Floats]  # NaN where missing scores leave an effect undetermined
    notes: tuple[str, ...]  # how the fit was made, where that is not obvious
    incomplete: IncompleteFit | None = None  # the least-squares fit, where scores are missing
    parts: Decomposition | None = None  # the sums of squares, where none is

    @property
    def balanced(self) -> bool:
        """Whether every cell holds a score."""
        return self.incomplete is None

    @property
    def table(self) -> pd.DataFrame:
        """One row a term, the error and the total: ss, df, ms, F, p, omega_sq with its size, partial_eta_sq."""
        ss, df = self.squares, self.df
        # error and total come last
        squares, dfs = (np.array([*figures.values()], np.float64)[:-2] for figures in (ss, df))
        n = df["total"] + 1
        ms = squares / dfs
        ms_error = ss[ERROR] / df[ERROR]  # F19 eq. 1
        with np.errstate(divide="ignore", invalid="ignore"):  # no error at all: F is infinite, or 0/0
            f = ms / np.float64(ms_error)
            p = np.where(np.isinf(f), 0.0, special.fdtrc(dfs, df[ERROR], np.where(np.isinf(f), 1.0, f)))
            omega = np.maximum(1.0 - n / (dfs * (f - 1.0) + n), 0.0)  # F19 eq. 6
            eta = squares / (squares + ss[ERROR])
        blank = [np.nan, np.nan]
        return pd.DataFrame(
            {
                "ss": [*ss.values()],
                "df": [*df.values()],
                "ms": [*ms, ms_error, np.nan],
                "F": [*f, *blank],
                "p": [*p, *blank],
                "omega_sq": [*omega, *blank],
                "size": [*(_name_size(value) for value in omega), "", ""],
                "partial_eta_sq": [*eta, *blank],
            },
            index=pd.Index([*ss], name="term"),
        )

    @property
    def effects(self) -> dict[str, xr.DataArray]:
        """The effects by the names of their terms, with the levels of the scores."""
        labelled = {}
        for name, values in self.term_effects.items():
            dims = self._order_parts(name)
            labels = {dim: list(self.scores.labels[dim]) for dim in dims}
            shape = [len(level) for level in labels.values()]
            labelled[name] = xr.DataArray(values.reshape(shape), dims=dims, coords=labels)
        return labelled

    @property
    def fitted(self) -> xr.DataArray:
        """What the model says each score should be; lazy on Dask, NaN where no score is."""
        return self._label_cells(self.fit_values())

    @property
    def residuals(self) -> xr.DataArray:
        """Scores less fitted values; lazy on Dask."""
        return self._label_cells(self.subtract_fit())

    def fit_values(self) -> Floats:
        """Return what the model says each score should be.

        Returns
        -------
        array
            As the values of the scores.
        """
        fitted = np.zeros_like(self.scores.values)
        if self.incomplete is not None:
            cells = self.incomplete.fitted()
            named = [dim for dim in self.scores.dims if dim in self.incomplete.shape]
            return np.where(np.isnan(self.scores.values), np.nan, fitted) + self._spread(cells, named)
        fitted = fitted + self.grand_mean
        for name, effect in self.term_effects.items():
            fitted = fitted + self._spread(effect, self._order_parts(name))
        return fitted

    def subtract_fit(self) -> Floats:
        """Return the scores less what the model says.

        Returns
        -------
        array
            As the values of the scores.
        """
        if self.incomplete is not None:
            return self.scores.values - self.fit_values()
        remainder = self.scores.values - self.grand_mean
        for name, effect in self.term_effects.items():
            remainder = remainder - self._spread(effect, self._order_parts(name))
        return remainder

    def _order_parts(self, term: str) -> list[str]:
        """The dimensions of a term, in the order of the scores."""
        parts = term.split(":")
        return [dim for dim in self.scores.dims if dim in parts]

    def _spread(self, values: Floats, dims: Sequence[str]) -> Floats:
        """Values along some dimensions with an axis for each dimension of the scores."""
        return values.reshape([n if dim in dims else 1 for dim, n in self.scores.sizes.items()])

    def _label_cells(self, values: Floats) -> xr.DataArray:
        labels = {dim: list(names) for dim, names in self.scores.labels.items()}
        return xr.DataArray(values, dims=self.scores.dims, coords=labels)

    @property
    def r_squared(self) -> float:
        """Share of the total sum of squares that the model explains."""
        error, total = self.squares[ERROR], self.squares["total"]
        return float(1.0 - error / total) if total > 0 else float("nan")

    def estimates(self, *, generalize: Claim | str | Iterable[str] = (), of: str = "system") -> Means:
        """Return the means of the systems with the variance that goes with a claim.

        Parameters
        ----------
        generalize : Claim, str or iterable of str
            A `Claim`, or the dimensions whose levels are a sample of those that it is about: ``()`` for these very
            topics (F19 eq. 1), ``("topic",)`` for topics like these, ``("topic", "shard")`` for shards like these too.
        of : str
            The dimension whose levels are compared.

        Returns
        -------
        Means
            Means of the systems and variances of their differences.
        """
        nouns, sizes = self.scores.nouns, self.scores.sizes
        claim = Claim.of(generalize, nouns)
        signs = error_term(self.model, tuple(sizes), of, claim)
        labels = self.scores.labels[of]
        if len(set(labels)) < len(labels):
            twice = next(name for name in labels if labels.count(name) > 1)
            raise InputError(
                f"two {pluralize_noun(of)} are named {twice!r}", remedy="give them different names"
            )
        # how many scores each level has, and their sample standard deviation (F19 eq. 4)
        axes = tuple(axis for axis, d in enumerate(self.scores.dims) if d != of)
        y, present = self.scores.values, ~np.isnan(self.scores.values)
        number = present.sum(axis=axes, keepdims=True)
        centred = y - np.where(present, y, 0.0).sum(axis=axes, keepdims=True) / number
        counts = np.asarray(number.reshape(-1), np.float64)
        squares = np.asarray((np.where(present, centred, 0.0) ** 2).sum(axis=axes), np.float64)
        sds = np.sqrt(np.divide(squares, counts - 1.0, out=np.full(counts.shape, np.nan), where=counts > 1))
        if self.parts is not None:
            estimates = estimates_of(self.parts, self.model, claim, of)
        else:
            estimates = self._incomplete_estimates(signs, of, len(labels))
        return replace(
            estimates,
            labels=labels,
            claim=claim.sentence(sizes, nouns, of),
            own_sd=sds,
            own_count=counts,
            over=claim,
            nouns=nouns,
            notes=self.notes,
            lower_is_better=self.scores.measure.lower_is_better,
        )

    def _incomplete_estimates(self, signs: dict[str, int], of: str, levels: int) -> Means:
        """Means adjusted for missing scores, each pair with a variance of its own where they miss different ones."""
        # effects, variance of a difference per unit of error variance, and shares of the mean squares
        assert self.incomplete is not None
        effects, unit = self.incomplete.adjusted_effects(of)
        if of in self.incomplete.even:
            unit = np.array(unit[0, 1])
        else:
            np.fill_diagonal(unit, unit.sum() / (unit.size - len(unit)))
        shares: dict[str, float] = {}
        for name in signs:
            if name == ERROR:
                continue
            term = frozenset(name.split(":"))
            weight = self.incomplete.random_weight(term) if len(term) == 2 else None
            if weight is None:
                raise InputError(
                    f"with missing scores, {self.model.short} cannot estimate the variance of {name} separately",
                    remedy=(
                        "fill what is undefined with ",
                        Either("fill_undefined", "--fill"),
                        ", or do not generalise",
                    ),
                )
            shares[name] = 2.0 / prod(self.scores.sizes[d] for d in term if d != of) / weight
        squares = {name: self.squares[name] / df for name, df in self.df.items()}
        dfs = {name: float(df) for name, df in self.df.items()}
        variance, freedom, words = combine_squares(signs, unit, shares, squares, dfs)
        uniform = unit.ndim == 0
        if not uniform:
            np.fill_diagonal(variance, 0.0)
        others = np.broadcast_to(freedom, (levels, levels))[~np.eye(levels, dtype=bool)]
        return Means(
            labels=(),
            values=self.grand_mean + effects,
            variance=float(variance) / 2.0 if uniform else variance,
            df=float(others.mean()) if uniform or np.ptp(others) < 1e-9 else freedom,
            model=self.model.title,
            error=f"{words} (unbalanced data)",
            scale=sqrt(squares[ERROR]),
        )

    def summary(self) -> str:
        """Return the table and what was done, as text.

        Returns
        -------
        str
            Several lines.
        """
        shape = ", ".join(f"{size} {pluralize_noun(str(d))}" for d, size in self.scores.sizes.items())
        table = self.table.rename_axis(None).to_string(
            na_rep="",
            formatters={
                "ss": "{:.4f}".format,
                "df": "{:.0f}".format,
                "ms": "{:.5f}".format,
                "F": "{:.2f}".format,
                "p": lambda p: f"{p:.3g}" if p > 0 else "<1e-300",
                "omega_sq": "{:.4f}".format,
                "partial_eta_sq": "{:.4f}".format,
            },
        )
        head = f"{self.model.title}\n{shape}; R² = {self.r_squared:.4f}"
        return "\n".join([head, table, *(f"note: {note}" for note in self.notes)])

    def __str__(self) -> str:
        return self.summary()


def estimates_of(parts: Decomposition, model: Model, claim: Claim, of: str = "system") -> Means:
    """Means and their variance for a claim, from the sums of squares of one balanced table or of many.

    The error term is the combination of mean squares whose expectation is the variance of a mean of ``of`` under the
    claim, its degrees of freedom Satterthwaite's.
    """
    signs = error_term(model, tuple(parts.shape), of, claim)
    ms: dict[str, Any] = {format_term(term): parts.ss[term] / parts.df[term] for term in model.sets}
    df: dict[str, Any] = {format_term(term): float(parts.df[term]) for term in model.sets}
    ms[ERROR], df[ERROR] = parts.ss_error / parts.df_error, float(parts.df_error)
    unit = np.full(np.shape(parts.grand_mean), 2.0 * parts.shape[of] / parts.n)
    variance, freedom, words = combine_squares(signs, unit, None, ms, df)
    single = not variance.ndim
    return Means(
        labels=tuple(map(str, range(parts.shape[of]))),
        values=parts.means(of),
        variance=float(variance) / 2.0 if single else variance / 2.0,
        df=float(freedom) if single else freedom,
        model=model.title,
        error=words,
        scale=np.sqrt(ms[ERROR]),
        over=claim,
    )


def anova(scores: Any, model: Model | str) -> AnovaFit:
    """Fit a linear model whose factors are the dimensions of the scores.

    Full tables are split in closed form (marginal means; Dask arrays stay where they are). Where scores are NaN, the
    others are fitted by least squares, with type III sums of squares and the error df that the data have.
    A dimension that the model does not name holds replicates.

    Parameters
    ----------
    scores : object
        Any table that `as_scores` takes.
    model : Model or str
        A `Model`, its name, or a formula such as ``topic + system + topic:system``.

    Returns
    -------
    AnovaFit
        The analysis of variance, with its ``table`` and the means of the systems.

    >>> scores = np.array([[.1, .2, .4], [.3, .3, .6], [.2, .5, .6]])
    >>> fit = anova(scores, "topic + system")
    >>> fit.table.loc["system", ["ss", "df", "F"]].to_numpy(float).round(4).tolist()
    [0.1689, 2.0, 13.8182]
    >>> fit.estimates(generalize=("topic",)).claim
    'new topics like these 3'
    """
    model = Model.parse(model) if isinstance(model, str) else model
    table = as_scores(scores, needs=(), keep=model.dimensions)
    table = table.select(**{d: 0 for d, n in table.sizes.items() if n == 1 and d not in model.dimensions})
    check_design(table, model)
    split = decompose(table.values, table.dims, model.sets)
    if split is None:
        return _from_least_squares(replace(table, values=np.asarray(table.values)), model)
    squares, df = _list_squares(
        model, split.ss, split.df, split.ss_error, split.df_error, split.ss_total, split.n
    )
    effects = {format_term(term): values for term, values in split.effects.items()}
    notes = _exact_note(split.ss_error)
    return AnovaFit(model, table, squares, df, split.grand_mean, effects, notes, parts=split)


def _from_least_squares(scores: Scores, model: Model) -> AnovaFit:
    values, labels = scores.values, scores.labels
    if np.isinf(values).any():
        raise InputError("the scores hold infinite values", remedy="correct or remove them")
    for axis, d in enumerate(scores.dims):
        gone = np.flatnonzero(np.isnan(values).all(axis=tuple(a for a in range(values.ndim) if a != axis)))
        if gone.size:
            raise InputError(
                f"{d} {labels[d][int(gone[0])]} has no score at all"
                + f" (nor have {gone.size - 1} more)" * (gone.size > 1),
                remedy=(
                    "drop it",
                    Either(f", as in scores.dropna({d!r}, how='all')", ""),
                    ", or fill what is undefined with ",
                    Either("fill_undefined", "--fill"),
                ),
            )
    fit = fit_incomplete(values, scores.dims, model.sets, dict(labels))
    if fit.df_error <= 0:
        raise InputError(
            f"{model.short} has as many effects as there are scores, and leaves nothing for error",
            remedy="use a model with fewer terms, or add replicates",
        )
    floor = rounding_floor(fit.n, fit.grand_mean, fit.ss_total, ulps=4096)  # solving costs a few digits
    ss = {term: test.ss if test.ss > floor else 0.0 for term, test in fit.tests.items()}
    ss_error = fit.ss_error if fit.ss_error > floor else 0.0
    df = {term: test.df for term, test in fit.tests.items()}
    squares, dfs = _list_squares(model, ss, df, ss_error, fit.df_error, fit.ss_total, fit.n)
    effects = {format_term(term): _expand_effects(fit, term) for term in model.sets}
    notes = _write_notes(fit, values.size) + _exact_note(ss_error)
    return AnovaFit(model, scores, squares, dfs, fit.grand_mean, effects, notes, fit)


def _expand_effects(fit: IncompleteFit, term: Term) -> Floats:
    """Effects with the dimensions of the scores' order, as the strata hold uneven dimensions first."""
    order = [d for d in fit.shape if d in term and d not in fit.even]
    order += [d for d in fit.shape if d in term and d in fit.even]
    lengths = [fit.shape[d] for d in order]
    test = fit.tests[term]
    values = np.full(lengths, np.nan) if test.effects is None else test.effects.reshape(lengths)
    return values.transpose([order.index(d) for d in fit.shape if d in term])


def _list_squares(
    model: Model,
    ss: dict[Term, float],
    df: dict[Term, int],
    ss_error: float,
    df_error: int,
    ss_total: float,
    n: int,
) -> tuple[dict[str, float], dict[str, int]]:
    """Sums of squares and degrees of freedom by the names of terms, the error and the total."""
    squares = {name: float(ss[term]) for name, term in zip(model.terms, model.sets, strict=True)}
    dfs = {name: int(df[term]) for name, term in zip(model.terms, model.sets, strict=True)}
    return squares | {ERROR: ss_error, "total": ss_total}, dfs | {ERROR: df_error, "total": n - 1}


def _name_size(omega_sq: float) -> str:
    if np.isnan(omega_sq):
        return ""
    return next((word for least, word in SIZES if omega_sq >= least), "negligible")


def _exact_note(ss_error: float) -> tuple[str, ...]:
    if ss_error != 0:
        return ()
    return (Note("the model fits the scores exactly: there is no error to test against", "no error"),)


def _write_notes(fit: IncompleteFit, cells: int) -> tuple[str, ...]:
    notes: list[str] = [
        Note(f"{cells - fit.n} of {cells} scores are missing and left out: least squares, type III", "gaps")
    ]
    second = [format_term(term) for term, test in fit.tests.items() if test.kind == "II"]
    if second:
        notes.append(f"type II for {', '.join(second)}: empty cells leave no type III hypothesis")
    short = [
        format_term(term)
        for term, test in fit.tests.items()
        if test.kind == "III" and test.df < prod(fit.shape[d] - 1 for d in term)
    ]
    if short:
        notes.append(f"empty cells leave {', '.join(short)} fewer df than the full table has")
    if not fit.level_estimable:
        notes.append(
            "the level of the means is that of the defined scores, as some cells of the model are empty"
        )
    return tuple(notes)


def check_design(scores: Scores, model: Model) -> None:
    """Refuse, with the reason, what the model cannot be fitted to."""
    shape = scores.sizes
    has = ", ".join(shape) or "no dimensions"
    absent = [d for d in model.dimensions if d not in shape]
    if absent:
        remedy = (
            "score on shards, or use MD1" if absent == ["shard"] else "name dimensions that the scores have"
        )
        raise InputError(
            f"{model.short} names {' and '.join(absent)}, but the scores have {has}", remedy=remedy
        )
    if "split" in shape and "split" not in model.dimensions:
        raise InputError(
            f"the scores hold {shape['split']} splits of the same documents, which are not replicates",
            remedy=("choose one", Either(", as in scores.isel(split=0)", ""), ", or name split in the model"),
        )
    if model.on_shards is not None and model.on_shards != ("shard" in shape):
        raise InputError(
            f"{model.name} is for {'shards' if model.on_shards else 'the whole collection'}, but the scores have {has}",
            remedy="use MD1" if model.on_shards else "use MD2 to MD6, or score without splits",
        )
    for d in model.dimensions:
        if shape[d] == 0:
            raise InputError(f"the scores have no {d}", remedy="read or select some")
        if shape[d] == 1:
            raise InputError(
                f"the scores have one {d} only, so {model.short} has no {d} effect",
                remedy=f"add {pluralize_noun(d)}, or leave {d} out of the model",
            )
    if error_df(shape, model.sets) == 0:
        full = format_term(frozenset(shape))
        extra = (
            " or ".join(pluralize_noun(d) for d in ("shard", "instance") if d not in shape) or "replicates"
        )
        raise InputError(
            f"{model.short} needs replicates: {full} takes up every score and leaves nothing for error",
            remedy=f"add {extra}, or leave {full} out of the model",
        )


def variance_components(scores: Any) -> VarianceComponents:
    """Estimate the variance of every effect from mean squares, each equated with its expectation.

    Takes topic × system, topic × system × shard, topic × system × instance (instances a system's own) and splits of
    topic × system × shard, whose variances are averaged over the splits. Without shards or instances topic:system
    cannot be told from the error and is counted there. An estimate below 0 counts as 0 and is named.

    >>> import xarray as xr
    >>> y = np.random.default_rng(1).normal(size=(60, 8, 5))
    >>> found = variance_components(xr.DataArray(y, dims=("topic", "system", "shard")))
    >>> round(found["error"], 1), found["topic"] < .04, found.where
    (1.0, True, 'mean squares of 60 topics × 8 systems × 5 shards')
    """
    table, y = complete_table(scores)
    if table.has_copies:
        raise InputError(
            "deterministic systems do not show how instances vary",
            remedy=(
                "estimate from the others",
                Either(": scores.sel(system=~scores.deterministic)", ", in a table without it"),
            ),
        )
    return components_of(y, table.dims)


def complete_table(scores: Any) -> tuple[Scores, Floats]:
    """Return scores that passed the gate, and their numbers in the canonical order, of a layout with components."""
    table, _ = by_units(as_scores(scores))
    if table.dims not in LAYOUTS:
        raise InputError(
            f"scores by {', '.join(table.dims)} have no components that are known here",
            remedy=f"use one of {'; '.join(', '.join(layout) for layout in LAYOUTS)}",
        )
    return table, table.require_complete()


def components_of(y: Floats, dims: tuple[str, ...]) -> VarianceComponents:
    """Return the components of a complete array."""
    if dims[0] == "split":
        each = [_of_shards(table) for table in y]
        raw = {name: float(np.mean([components[name] for components in each])) for name in each[0]}
    elif dims[-1] == "shard":
        raw = _of_shards(y)
    elif dims[-1] == "instance":
        raw = _of_instances(y)
    else:
        # MD1: E[MS_t] = σ²_e + Rσ²_t, E[MS_s] = σ²_e + Tσ²_s
        t, r = y.shape
        ms = mean_squares(y, ("topic", "system"))
        error = ms["error"]
        raw = {"topic": (ms["topic"] - error) / r, "system": (ms["system"] - error) / t, "error": error}
    sizes = " × ".join(format_count(size, dim) for dim, size in zip(dims, y.shape, strict=True))
    return VarianceComponents(
        {name: max(0.0, value) for name, value in raw.items()},
        mean=float(y.mean()),
        negative=tuple(name for name, value in raw.items() if value < 0),
        where=f"mean squares of {sizes}",
    )


def mean_squares(y: Floats, dims: tuple[str, ...]) -> dict[str, float]:
    """Return the mean squares of all terms of MD1, or of MD6 on shards, by name, and that of the error."""
    parts = decompose(y, dims, (MD1 if len(dims) == 2 else MD6).sets)
    assert parts is not None, "the gate refuses tables with gaps"
    named = {format_term(term): parts.ss[term] / parts.df[term] for term in parts.ss}
    return {**named, "error": parts.ss_error / parts.df_error}


def _of_shards(y: Floats) -> dict[str, float]:
    """MD6, every effect random: an interaction's mean square over the error, a main effect's over its interactions."""
    t, r, s = y.shape
    ms = mean_squares(y, ("topic", "system", "shard"))
    ts, tk, sk, error = ms["topic:system"], ms["topic:shard"], ms["system:shard"], ms["error"]
    return {
        "topic": (ms["topic"] - ts - tk + error) / (r * s),
        "system": (ms["system"] - ts - sk + error) / (t * s),
        "shard": (ms["shard"] - tk - sk + error) / (t * r),
        "topic:system": (ts - error) / s,
        "topic:shard": (tk - error) / r,
        "system:shard": (sk - error) / t,
        "error": error,
    }


def _of_instances(y: Floats) -> dict[str, float]:
    """J15 eq. 9 with nested instances, from the four lines and the mean square of the systems."""
    n, l, m = y.shape  # noqa: E741
    lines = mixed_balanced.split_lines(y.transpose(1, 2, 0), "nested")
    topic, topic_system, instance, error = map(float, lines.ms)
    system = float(m * n * lines.means.var(ddof=1))
    return {
        "topic": (topic - topic_system) / (l * m),
        "system": (system - topic_system - instance + error) / (m * n),
        "topic:system": (topic_system - error) / m,
        "system:instance": (instance - error) / n,
        "error": error,
    }
