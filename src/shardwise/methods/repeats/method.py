"""Tests of systems that give another result each time, every pair of them (J15)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, get_args

import numpy as np

from shardwise.core.arrays import Floats, Ints, make_generator
from shardwise.core.claim import Claim
from shardwise.core.errors import Either, InputError, Option
from shardwise.methods.method import TOPICS, read_methods
from shardwise.methods.mixed import balanced
from shardwise.methods.mixed.balanced import draw_ordered
from shardwise.methods.moderated.moments import pair_moments
from shardwise.methods.paired import kernels
from shardwise.methods.paired import statistics as paired
from shardwise.methods.paired.method import describe_resamples, estimate_means
from shardwise.methods.pairs import Means, Pairs, ranked_pairs, student_pairs
from shardwise.methods.repeats.unified import (
    InstanceSpread,
    Moments,
    complete_moments,
    instance_spread,
    run_unified,
    unified_order,
)
from shardwise.methods.tables import Tables
from shardwise.stats import student
from shardwise.stats.student import NOISE

if TYPE_CHECKING:
    from shardwise.methods.mixed.posterior import Mixture

TINY = 1e-12  # a mean square this small against the others is rounding
NUMBERS = 4_000_000  # of one block of pairs
BOTH = Claim("topic", "instance")


def spread_of(tables: Tables) -> InstanceSpread:
    """How the scores of each system vary over instances and topics, found once for all tests."""
    flags = np.array(tables.deterministic) if any(tables.deterministic) else None
    return tables.once("instance spread", lambda: instance_spread(tables.y, flags))


def copy_deterministic(tables: Tables) -> Floats:
    """(B, T, R, M) complete scores, those of a deterministic system copied to all instances."""
    fixed = spread_of(tables).fixed
    y = tables.y
    if fixed.any():
        first = np.take_along_axis(y, np.isfinite(y).argmax(axis=-1)[..., None], axis=-1)
        y = np.where(fixed[:, None, :, None], first, y)
    if not np.isfinite(y).all():
        raise InputError(
            "the systems have different numbers of instances, which this test cannot pair",
            remedy="use the unified test, or a mixed model with nested instances",
        )
    return y


def moments_of(tables: Tables, ia: Ints, ib: Ints) -> Moments:
    """Differences of pairs on the topics that both have, instances averaged."""
    y = tables.topic_means()
    if np.isfinite(y).all():
        return complete_moments(y, ia, ib)
    topics, mean, variance = pair_moments(np.ascontiguousarray(y), ia, ib)
    if (topics < 2).any():
        raise InputError("two systems have fewer than two topics in common", remedy="leave out one of them")
    return Moments(mean, np.sqrt(variance / topics), topics)


def unified_test(tables: Tables, claim: Claim, ia: Ints, ib: Ints) -> Pairs:
    """Variance over topics and over each system's own instances, Satterthwaite df."""
    members = np.union1d(ia, ib)
    require_runs(tables if members.size == tables.systems else tables.select_systems(members))
    return student_pairs(*run_unified(moments_of(tables, ia, ib), spread_of(tables), ia, ib))


def samples_test(tables: Tables, claim: Claim, ia: Ints, ib: Ints) -> Pairs:
    """Instances drawn anew for each topic: t of the topic means, which hold them already.

    y = γ + system + topic + system:topic + ε (J15 eq. 7): a difference has the variance 2 MS(system:topic)/(MN), which
    for two systems is s_d²/N on N - 1 degrees of freedom.
    """
    mean, se, topics = moments_of(tables, ia, ib)
    return student_pairs(mean, se, topics - 1.0)


def mixed_test(tables: Tables, claim: Claim, ia: Ints, ib: Ints, *, df: str) -> Pairs:
    """A mixed model of each pair: nested instances, or crossed where one system is deterministic (J15 §3.1).

    Two deterministic systems, or seeds that are identical, have the limit of that model: the error of a paired t-test.
    """
    y, fixed = copy_deterministic(tables), spread_of(tables).fixed
    mean, _ = paired.pair_moments(tables.topic_means(), ia, ib)
    some = fixed[:, ia] | fixed[:, ib]
    step = max(1, NUMBERS // (2 * y.shape[0] * y.shape[1] * y.shape[3]))
    se, freedom = np.empty(mean.shape), np.empty(mean.shape)
    for first in range(0, ia.size, step):
        part = slice(first, first + step)
        both = np.stack([y[:, :, ia[part]], y[:, :, ib[part]]], axis=-1)  # (B, T, P, M, 2)
        both = both.transpose(0, 2, 4, 3, 1)
        for kind in get_args(balanced.Design):
            mine = some[:, part] == (kind == "crossed")
            if mine.any():
                own_se, own_freedom = difference_of(balanced.split_lines(both, kind), df)
                se[:, part] = np.where(mine, own_se, se[:, part])
                freedom[:, part] = np.where(mine, own_freedom, freedom[:, part])
    return student_pairs(mean, se, freedom)


def difference_of(lines: balanced.Lines, df: str) -> tuple[Floats, Floats]:
    """Return standard error and df of a difference; identical seeds give the limit, the error of the paired t-test."""
    # a mean square of mere rounding is 0: the limit of the model as its residual vanishes
    ss = np.where(lines.ms > TINY * lines.ms.max(axis=-1, keepdims=True), lines.ss, 0.0)
    fit = balanced.restricted_maximum(replace(lines, ss=ss))
    variance = fit.difference_variance
    with np.errstate(invalid="ignore", divide="ignore"):
        if df == "paper":
            freedom = np.full(fit.phi.shape[:-1], float(np.prod(lines.shape)) - 1.0)
        elif df == "satterthwaite":
            freedom = fit.satterthwaite()
        else:
            singular = (fit.components == 0.0).any(axis=-1)
            freedom = np.where(singular, fit.kenward_roger(), fit.satterthwaite())
    return np.sqrt(variance), np.where(variance > 0.0, freedom, 1.0)


def one_instance(tables: Tables, claim: Claim, ia: Ints, ib: Ints) -> Pairs:
    """Paired t on the first instance of each system, which J15 warns of."""
    mean, se = paired.pair_moments(copy_deterministic(tables)[..., 0], ia, ib)
    return student_pairs(mean, se, np.full((len(mean), 1), tables.topics - 1.0))


def run_independent(tables: Tables, claim: Claim, ia: Ints, ib: Ints) -> Pairs:
    """Paired t on the differences of all instances and topics as if none depended on another."""
    y = copy_deterministic(tables).transpose(0, 1, 3, 2).reshape(len(tables), -1, tables.systems)
    mean, se = paired.pair_moments(y, ia, ib)
    return student_pairs(mean, se, np.full((len(mean), 1), y.shape[1] - 1.0))


def run_pooled(tables: Tables, claim: Claim, ia: Ints, ib: Ints, *, own_t: bool) -> Pairs:
    """J15 Algorithm 2: resamples of every instance against the t of the averages, or against its own t."""
    fixed = spread_of(tables).fixed
    y = np.ascontiguousarray(copy_deterministic(tables).transpose(0, 3, 1, 2))  # (B, M, T, R)
    m, n = y.shape[1], tables.n_resamples
    mean, se = paired.pair_moments(tables.topic_means(), ia, ib)
    t = student.t_statistic(mean, se)
    if own_t:
        each_mean, each_se = paired.pair_moments(y.reshape(-1, *y.shape[2:]), ia, ib)
        against = student.t_statistic(each_mean, each_se).reshape(len(tables), m, -1)
    else:
        against = np.repeat(t[:, None, :], m, axis=1)
    as_large = np.zeros(mean.shape, dtype=np.int64)
    kernels.pooled_bootstrap(y, ia, ib, against, tables.keys, n, as_large)
    p = (as_large + 1) / (m * n + 1)
    both = fixed[:, ia] & fixed[:, ib]
    if both.any():
        p = np.where(both, paired.bootstrap_p(tables.topic_means(), ia, ib, t, se, tables.keys, n), p)
    return replace(ranked_pairs(mean, t, p, se), words=describe_resamples(tables))


def estimate_repeats(tables: Tables, claim: Claim) -> Means:
    """Estimate system means over topics and instances, with effect sizes."""
    estimates = estimate_means(tables)
    notes = (NOTE,) if claim == TOPICS else ()
    return add_effect_sizes(replace(estimates, notes=(*estimates.notes, *notes)), tables)


def add_effect_sizes(estimates: Means, tables: Tables) -> Means:
    """The same, differences measured by the residual (J15), and by their own spread over topics (eq. 8).

    Where the residual is rounding, as with identical seeds, the common spread of the differences stands for it.
    """
    unlike = np.sqrt(2.0) * estimates.scale  # of per-topic differences, J15 eq. 8
    residual = np.zeros(len(tables))
    if tables.y.shape[-1] > 1:
        with suppress(InputError):  # single runs alone
            # variance of scores around topics and instances
            residual = np.sqrt(np.nan_to_num(spread_of(tables).residual_variance))
    scale = np.where(residual > NOISE * np.nanmax(np.abs(tables.y), axis=(1, 2, 3)), residual, unlike)
    return replace(estimates, scale=scale, topic_sd=topic_sd(tables))


def topic_sd(tables: Tables) -> Floats:
    """(B, R, R) standard deviation of the per-topic differences of each pair (J15 eq. 8), NaN where it is rounding."""
    y = tables.topic_means()
    ia, ib = np.triu_indices(y.shape[-1], 1)
    _, _, variance = pair_moments(np.ascontiguousarray(y), ia, ib)
    out = np.full((len(y), y.shape[-1], y.shape[-1]), np.nan)
    out[:, ia, ib] = out[:, ib, ia] = np.where(variance > 0.0, np.sqrt(variance), np.nan)
    return out


def require_runs(tables: Tables) -> InstanceSpread:
    """Return how scores vary over instances, or refuse systems of which a single instance shows nothing of it."""
    spread = spread_of(tables)
    single = np.flatnonzero(spread.borrowed.any(axis=0))
    if not single.size:
        return spread
    some = [tables.names[k] for k in single] if tables.names else []
    who = (
        "a system"
        if not some
        else repr(some[0])
        if len(some) == 1
        else f"{some[0]!r} and {len(some) - 1} others"
    )
    has = "have" if len(some) > 1 else "has"
    raise InputError(
        f"{who} {has} a single instance, which does not show how instances vary",
        remedy=(
            "give two or more of each system, say that it is deterministic (",
            Either("flag_deterministic", "--deterministic"),
            "), leave it out, or say that scores were sampled anew for each topic, ",
            Option("repeats", "samples"),
        ),
    )


NOTE = "instances are averaged, not sampled: their variance is left out, which matters when they are few"


def unified_posterior(
    tables: Tables, labels: tuple[str, ...], claim: Claim
) -> Callable[[str, str, int, int], Mixture]:
    """The posterior distribution of a difference that belongs to the unified test, of a batch of one."""
    # Loaded here, since few comparisons ask for a posterior.
    from shardwise.methods.mixed.posterior import Mixture

    spread = spread_of(tables)

    def posterior(a: str, b: str, draws: int, seed: int) -> Mixture:
        ia, ib = labels.index(a), labels.index(b)
        mean, se, topics = moments_of(tables, np.array([ia]), np.array([ib]))
        if not se[0, 0] > 0.0:
            raise InputError(
                "the differences do not vary over topics", remedy="there is nothing to draw from"
            )
        order, weights = unified_order(float(se[0, 0]), float(topics[0, 0]), spread, ia, ib)
        variance = draw_ordered(order, draws, make_generator(seed)) @ weights
        centres = np.full(draws, float(mean[0, 0]))
        return Mixture(centres, np.sqrt(np.maximum(variance, 0.0)), np.full(draws, 1.0 / draws))

    return posterior


def estimate_jointly(tables: Tables, claim: Claim) -> Means:
    """Estimate system means by one mixed model of all, with the variance that it gives a difference."""
    if spread_of(tables).fixed.any():
        raise InputError(
            "a deterministic system has no repeats of its own for one nested model",
            remedy="use unified or mixed, which take each pair by itself",
        )
    y = copy_deterministic(tables).transpose(0, 2, 3, 1)
    lines = tables.once("lines", lambda: balanced.split_lines(y, "nested"))
    se, freedom = difference_of(lines, "auto")
    return Means(
        labels=tuple(map(str, range(tables.systems))),
        values=lines.means,
        variance=se**2 / 2.0,
        df=freedom,
        scale=np.sqrt(lines.ms[..., balanced.E]),
    )


METHODS = read_methods(
    "repeats",
    {
        "unified": unified_test,
        "samples": samples_test,
        **{f"mixed {df}": partial(mixed_test, df=df) for df in ("paper", "satterthwaite", "auto")},
        "bootstrap pooled": partial(run_pooled, own_t=False),
        "bootstrap per-instance": partial(run_pooled, own_t=True),
        "t-single": one_instance,
        "t-independent": run_independent,
    },
    {"joint mixed": estimate_jointly},
    means=estimate_repeats,
    posterior={"unified": unified_posterior},
)
