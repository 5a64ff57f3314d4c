"""Compare two systems of which one or both give another result each time (J15).

Join the scores of two systems, matched by topic: who has which instances, who is deterministic.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from shardwise.comparing.compare import run_procedure
from shardwise.comparing.comparisons import Comparisons, compare_estimates
from shardwise.core.arguments import validate_choice, validate_count, validate_level
from shardwise.core.arrays import Bools, Floats
from shardwise.core.errors import Either, InputError, Option, Part
from shardwise.core.libraries import pd
from shardwise.core.measure import MeasureFacts
from shardwise.core.scores import DETERMINISTIC, Scores, as_scores, is_labelled
from shardwise.methods.method import TOPICS
from shardwise.methods.mixed.fit import mixed
from shardwise.methods.mixed.posterior import posterior
from shardwise.methods.names import parse_procedure
from shardwise.methods.paired import statistics as paired
from shardwise.methods.repeats.method import NOTE
from shardwise.methods.repeats.unified import KINDS
from shardwise.stats.student import t_statistic, two_sided


class OneSystem(NamedTuple):
    """The scores of one system."""

    name: str
    topics: tuple[str, ...]
    # names of the instances that it has, and (M, N) scores at these
    instances: tuple[str, ...]
    values: Floats
    deterministic: bool
    lower_is_better: bool


def join_pair(a: Any, b: Any, *complete: Part, replicated: bool = False) -> Scores:
    """Return the scores of two systems by topic, system and instance, NaN where one lacks an instance.

    A deterministic system has its scores at one instance, and a flag. Missing scores are refused where ``complete``
    says what else to use; ``replicated`` asks for a second instance of a system that is not deterministic.
    """
    same = getattr(a, "name", None) == getattr(b, "name", None)  # the measure's then, not the systems'
    systems = _read_system(a, "a", not same), _read_system(b, "b", not same)
    first, second = systems
    topics = first.topics
    if first.name == second.name:
        raise InputError(f"both systems are called {first.name!r}", remedy="give each its own name")
    if set(topics) != set(second.topics):
        odd = sorted(set(topics) ^ set(second.topics))
        raise InputError(
            f"the systems do not have the same topics: {', '.join(odd[:5])} is in one only",
            remedy="select the topics that both have",
        )
    if len(topics) < 2:
        raise InputError(f"{len(topics)} topic is too few for a test over topics", remedy="give at least two")
    instances = list(dict.fromkeys([*first.instances, *second.instances]))
    y = np.full((len(topics), 2, len(instances)), np.nan)
    for k, system in enumerate(systems):
        lost = ~np.isfinite(system.values)
        if complete and lost.any():
            topic = system.topics[int(lost.any(axis=0).argmax())]
            raise InputError(
                f"{int(lost.sum())} scores of {system.name} are missing, first topic {topic}",
                remedy=("drop these topics, or use ", *complete),
            )
        rows = [system.topics.index(topic) for topic in topics]
        y[:, k, [instances.index(label) for label in system.instances]] = system.values[:, rows].T
    counts = [len(system.instances) for system in systems]
    alone = [s.name for s, count in zip(systems, counts, strict=True) if count < 2 and not s.deterministic]
    if replicated and alone and max(counts) < 2:
        raise InputError(
            f"{alone[0]} has a single instance, which does not show how instances vary",
            remedy=(
                "give more; if it is deterministic, ",
                Either("drop the dimension: scores.squeeze('instance')", "name it with --deterministic"),
                "; if each score was sampled independently, say ",
                Option("repeats", "samples"),
            ),
        )
    return Scores(
        y,
        ("topic", "system", "instance"),
        {"topic": topics, "system": (first.name, second.name), "instance": tuple(instances)},
        measure=MeasureFacts(lower_is_better=first.lower_is_better and second.lower_is_better),
        deterministic=np.array([system.deterministic for system in systems]),
    )


def find_copies(scores: Scores) -> Bools:
    """(R,) whether each system has one instance, or copies of one."""
    flags = scores.deterministic
    return np.zeros(len(scores.systems), dtype=np.bool_) if flags is None else flags


def own_scores(both: Scores) -> list[Floats]:
    """(M, N) scores of each of two systems at the instances that it has."""
    return [y[np.isfinite(y).any(axis=1)] for y in both.values.transpose(1, 2, 0)]


def subtract_instances(both: Scores) -> Floats:
    """(M, N) differences instance by instance; a deterministic system meets all of the other's."""
    a, b = own_scores(both)
    if not both.has_copies and len(a) != len(b):
        raise InputError(
            f"{len(a)} and {len(b)} instances cannot be paired",
            remedy=(
                "use ",
                Either("reading='averaged' or method='mixed', which need", "--method mixed, which needs"),
                " no pairs",
            ),
        )
    return a - b


def _read_system(source: Any, name: str, own_name: bool) -> OneSystem:
    """Return the scores of a system by instance and topic, under its name and with a flag if it is deterministic."""
    title, lower, flag = name, False, False
    if type(source).__name__ in ("DataFrame", "Series"):
        topics, y = tuple(map(str, source.index)), np.asarray(source, dtype=float).T
        labels = tuple(map(str, getattr(source, "columns", ())))
    elif is_labelled(source) and set(source.dims) in ({"topic"}, {"topic", "instance"}):
        topics = tuple(map(str, source.get_index("topic")))
        y = np.asarray(source.transpose(..., "topic").to_numpy(), dtype=float)
        coords = source.coords
        flag = DETERMINISTIC in coords and bool(source[DETERMINISTIC].item())
        lower = as_scores(source.fillna(0.0), needs=()).measure.lower_is_better
        # the scores of a single instance may have kept its name
        alone = (str(source["instance"].item()),) if "instance" in coords and y.ndim == 1 else ()
        labels = tuple(map(str, source.get_index("instance"))) if y.ndim == 2 else alone
        title = str(source["system"].item()) if "system" in coords else title
    else:
        dims_found = ", ".join(map(str, getattr(source, "dims", ()))) or type(source).__name__
        raise InputError(
            f"{name} has {dims_found} instead of the dimensions instance and topic",
            remedy=(
                "choose one system and one measure",
                Either(", as in scores['AP'].sel(system='bm25')", ""),
            ),
        )
    if own_name and title == name and getattr(source, "name", None):
        title = str(source.name)
    fixed, y = flag or y.ndim == 1, np.atleast_2d(y)
    present = np.flatnonzero(np.isfinite(y).any(axis=1))
    if not present.size or np.isinf(y).any():
        problem = "an infinite score" if present.size else "no scores"
        raise InputError(f"{title} has {problem}", remedy="mend it or leave it out")
    if flag and not all(np.array_equal(y[present[0]], y[k], equal_nan=True) for k in present):
        raise InputError(
            f"{title} is flagged deterministic, but its instances differ", remedy="remove the flag"
        )
    present = present[:1] if fixed else present
    kept = tuple((labels or ("0",))[k] for k in present)
    return OneSystem(title, topics, kept, y[present], fixed, lower)


METHODS = ("mixed", "bootstrap", "t-means", "t-single")
DESIGNS = ("unified", "paper", "nested", "crossed")
READINGS = ("averaged", "pooled", "per-instance")
MIXED_MODEL = (Either("method='mixed' with design='nested'", "--method 'repeats mixed nested'"),)
"""The comparison that leaves out what is missing."""


def compare_instances(
    a: Any,
    b: Any,
    method: str = "mixed",
    *,
    design: str = "unified",
    repeats: str = "seeds",
    df: str | None = None,
    reading: str | None = None,
    instance: Any = None,
    n_resamples: int | None = None,
    seed: int = 0,
) -> Comparisons:
    """Compare two systems of which one or both are non-deterministic; the difference is that of a less b.

    Parameters
    ----------
    a, b : object
        Scores with the dimensions instance and topic (or tables with a row a topic, a column an instance); one
        without instances is deterministic. The systems may have different numbers of instances.
    method : str
        "mixed" (see ``design``); "bootstrap" (see ``reading``); "t-means" and "t-single", the t-tests on topic means
        and on one ``instance`` that J15 warns of.
    design : str
        "unified" (the default: topics and each system's own instances, nothing assumed equal), "nested" or "crossed"
        (mixed model), or "paper" (J15: crossed with a deterministic system, else nested, and "observations less one"
        degrees of freedom).
    repeats : str
        What the instances are: "seeds", which move all topics together, or, for the unified design, "samples" drawn
        anew for each topic, whose spread the topic means hold already (J15 eq. 7).
    df : str, optional
        Degrees of freedom of a mixed model, as in ``MixedFit.estimates``.
    reading : str, optional
        Of J15 Algorithm 2: "averaged" resamples topics of the averaged differences; "pooled", taken with
        ``design="paper"``, holds their t against resamples of every instance; "per-instance" holds each instance's own
        t against them. Between deterministic systems it is Algorithm 1.
    instance : object
        The instance that "t-single" takes; the first unless named.
    n_resamples : int, optional
        Resamples of the bootstrap.
    seed : int
        Seed of the bootstrap.

    Returns
    -------
    Comparisons
        The pair, with its p-value and interval.

    >>> import xarray as xr
    >>> rng = np.random.default_rng(1)
    >>> topics = rng.normal(0.4, 0.2, 50)
    >>> y = topics + rng.normal(0, 0.1, 50) + rng.normal(0.06, 0.08, (5, 50))
    >>> dense = xr.DataArray(y, dims=("instance", "topic"), name="dense")
    >>> bm25 = xr.DataArray(topics + rng.normal(0, 0.1, 50), dims=("topic",), name="bm25")
    >>> print(compare_instances(dense, bm25))
    unified test of instances and topics, 2 systems; claim: new topics like these 50, any instance (5 seen)
    >>> round(float(compare_instances(dense, bm25).p[0]), 5)
    0.07066
    """
    validate_choice(method, "method", METHODS)
    validate_choice(design, "design", DESIGNS)
    if reading is not None:
        validate_choice(reading, "reading", READINGS)
    if n_resamples is not None:
        validate_count(n_resamples, "n_resamples", what="resamples")
    validate_count(seed, "seed", least=0)
    if validate_choice(repeats, "repeats", KINDS) == "samples" and (method, design) != ("mixed", "unified"):
        raise InputError(
            (Option("repeats", "samples"), " is for the unified design"),
            remedy="leave out the method and the design",
        )
    complete = () if method == "mixed" else MIXED_MODEL
    seeds = method == "mixed" and design == "unified" and repeats == "seeds"
    joined = join_pair(a, b, *complete, replicated=seeds)
    # the pair keeps its direction, whichever system is better
    lower = joined.measure.lower_is_better
    both = replace(joined, measure=MeasureFacts())
    draws = {"n_resamples": n_resamples, "seed": seed}
    if method != "mixed":
        reading = reading or ("pooled" if design == "paper" else "averaged")
        compared = _compare_means(both, method, reading, instance, draws)
    elif design == "unified":
        reason = "as both systems are deterministic" if find_copies(both).all() else ""
        compared = _run_test("samples" if repeats == "samples" else "unified", both, draws, reason)
    else:
        compared = _compare_by_mixed_model(both, design, df)
    return replace(compared, estimates=replace(compared.estimates, lower_is_better=lower))


def _run_test(name: str, both: Scores, draws: dict[str, Any], reason: str = "") -> Comparisons:
    """Compare the first system with the second by a test; a reason says why it is a paired t-test of topics."""
    compared = run_procedure(
        parse_procedure(f"{name} none"), both, only=[both.systems], directed=True, **draws
    )
    if not reason:
        return compared
    claim = TOPICS.sentence({"topic": both.sizes["topic"]})
    estimates = replace(compared.estimates, claim=claim, over=TOPICS)
    return replace(compared, title=f"paired t, {reason}", estimates=estimates)


def _compare_means(
    both: Scores, method: str, reading: str, instance: Any, draws: dict[str, Any]
) -> Comparisons:
    """Compare by a t-test or a bootstrap of topics, on the means over instances or on one instance of each system."""
    names, fixed = both.systems, find_copies(both)
    random = [
        (name, len(y)) for name, y, flag in zip(names, own_scores(both), fixed, strict=True) if not flag
    ]
    scope = f", for {' and '.join(f'the mean of these {m} instances of {name}' for name, m in random)}"
    test, title = "t", "paired t on topic means"
    means = replace(both.mean("instance"), deterministic=None)
    if method == "bootstrap":
        test, title = "bootstrap", "studentised bootstrap of topics (J15 Algorithm 1)"
        if random and reading == "averaged":
            title = "studentised bootstrap of topics (J15 Algorithm 2, averaged differences resampled)"
        elif random:
            subtract_instances(both)  # refuses what cannot be paired
            compared = _run_test(f"bootstrap {reading}", both, draws)
            return replace(compared, title=f"studentised bootstrap of topics ({compared.title})")
    elif method == "t-single":
        title, draws = "paired t on one instance", {}
        labels, places = both.labels["instance"], []
        for k, name in enumerate(names):
            present = np.flatnonzero(np.isfinite(both.values[:, k]).any(axis=0)).tolist()
            known = {labels[m]: m for m in present}
            if instance is not None and not fixed[k] and str(instance) not in known:
                raise InputError(
                    f"{name} has no instance {instance}", remedy=f"it has {', '.join(list(known)[:5])}"
                )
            places.append(present[0] if instance is None or fixed[k] else known[str(instance)])
        means = means.with_values(both.values[:, [0, 1], places])
        chosen = [f"{labels[places[k]]} of {name}" for k, name in enumerate(names) if not fixed[k]]
        scope = f", for instance {', '.join(chosen)} alone"
    compared = _run_test(test, means, draws)
    estimates = compared.estimates
    if random:
        notes = estimates.notes if method == "t-single" else (NOTE,)
        estimates = replace(estimates, claim=compared.claim + scope, notes=notes)
    return replace(compared, title=title, estimates=estimates)


def _compare_by_mixed_model(both: Scores, design: str, df: str | None) -> Comparisons:
    """Compare by a mixed model with nested or crossed instances."""
    fixed = find_copies(both)
    if fixed.all():
        raise InputError(
            "both systems are deterministic: a mixed model of instances has nothing to go by",
            remedy=("use ", Option("design", "unified"), ", which then is the paired t-test"),
        )
    # identical instances vary by nothing: the system is deterministic, and two such systems have the limit of the model
    alike = [len(y) > 1 and all(np.array_equal(y[0], x, equal_nan=True) for x in y) for y in own_scores(both)]
    fixed = np.asarray(fixed | np.array(alike))
    both = replace(both, deterministic=fixed)
    if fixed.all():
        return _run_test("unified", both, {}, "the limit of the mixed model, as the instances are identical")
    paper = design == "paper"
    if paper:
        design = "crossed" if fixed.any() else "nested"
    fit = mixed(both, "crossed" if design == "crossed" else "nested")
    freedom = df or ("paper" if paper else "auto")
    a, b = both.systems
    few = "the instance variance cancels from a crossed comparison: with few instances it finds too much"
    notes = (*fit.notes, few) if design == "crossed" and fixed.any() else fit.notes

    def draw_posterior(first: str, second: str, draws: int, seed: int) -> Any:
        return posterior(fit, draws if fit.balanced else None, seed).difference(first, second)

    return compare_estimates(
        replace(fit.estimates(df=freedom), notes=notes, posterior=draw_posterior, error=""),
        "none",
        only=[(a, b)],
        title=f"mixed model, {design} instances{' as in J15' if paper else ''}, {fit.describe_df(freedom)}",
        directed=True,
    )


def single_instance_tests(a: Any, b: Any, alpha: float = 0.05) -> pd.DataFrame:
    """Test each instance by itself with a paired t-test, as those who compare single runs would do (J15 Fig. 7).

    `instance, difference, p, verdict` ("better", "worse", "no difference"): where verdicts contradict each other, a
    single instance proves little. Instances of two non-deterministic systems are paired in order.

    Parameters
    ----------
    a, b : object
        Scores with the dimensions instance and topic, as for `compare_instances`.
    alpha : float
        Level of significance.

    Returns
    -------
    DataFrame
        One row an instance.
    """

    validate_level(alpha)
    both = join_pair(a, b, Either("compare_instances with ", ""), Option("design", "nested"))
    z = subtract_instances(both)
    y = np.stack([z, np.zeros_like(z)], axis=-1)  # each instance a table: the difference, and nothing
    mean, se = (x[:, 0] for x in paired.pair_moments(y, np.array([0]), np.array([1])))
    p = two_sided(t_statistic(mean, se), z.shape[1] - 1.0)
    gain = both.measure.sign * mean
    verdict = np.where(p > alpha, "no difference", np.where(gain > 0, "better", "worse"))
    present = np.asarray(np.isfinite(both.values).any(axis=0))
    more = present[0] if present[0].sum() >= present[1].sum() else present[1]
    labels = [label for label, seen in zip(both.labels["instance"], more, strict=True) if seen]
    return pd.DataFrame({"instance": labels, "difference": mean, "p": p, "verdict": verdict})
