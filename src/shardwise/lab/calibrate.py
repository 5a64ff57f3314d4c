"""The calibration laboratory: what does "significant" mean on data like yours?

Tables are drawn from scenarios whose truth is known, every method decides all pairs of every table, and what it said is
held against the truth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from shardwise.core import late
from shardwise.core.arguments import Progress, validate_level
from shardwise.core.claim import Claim, format_count
from shardwise.core.errors import Either, InputError
from shardwise.core.libraries import pd
from shardwise.core.scores import Scores
from shardwise.core.shown import Drawn
from shardwise.core.variance_components import VarianceComponents
from shardwise.lab.outside import OutsideProcedure, wrap_function
from shardwise.lab.scenarios.from_scores import topic_means
from shardwise.lab.trial import (
    Figures,
    SimulationSource,
    Trial,
    cases_of,
    choose_nulls,
    number_baselines,
    plan_looks,
)
from shardwise.lab.verdict import Verdict, judge_methods, summarize_rates, tabulate_figures
from shardwise.methods.anova.fit import complete_table, variance_components
from shardwise.methods.names import DEFAULTS, Procedure, parse_procedure

CLAIMS: Mapping[tuple[str, ...], tuple[tuple[str, ...], ...]] = {
    ("topic", "system"): (("topic",),),
    ("topic", "system", "shard"): ((), ("topic",), ("topic", "shard")),
    ("topic", "system", "instance"): (("topic", "instance"),),
    ("split", "topic", "system", "shard"): ((), ("topic",)),
}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Calibration(Drawn):
    """Error rates, coverage and power of methods on data like these.

    ``table`` has one row for each method and claim, with two columns that matter: false alarms (``rate``, the promised
    error rate in the scenario ``null``, where it is worst: tilt, vine or margins or normal, permute, flip) and interval
    coverage (``coverage`` in ``coverage_null``, which is resample; see `lab.trial`), each with what is shown of it
    (``status``, ``intervals``); ``level`` at which false alarms would be as rare as promised; ``best``, how often the
    top group holds the best; and ``power``.

    ``rates`` has one row for each method, claim, scenario and figure: ``method, error_rate, meant, claim, null,
    planted, for_alarms, for_intervals, figure, rate, low, high, n``. The figures: raw (equal pairs called different
    before correction), family (tables in which any equal pair is), discovery (share of equal pairs among those called
    different), coverage and together (intervals that hold the true difference: each, and all at once), best (true best
    systems in the top group), level, wrong_way (of truly different pairs called different, those the wrong way round),
    found (planted differences that are), matched (those found at the level at which the method's error rate is alpha in
    the same scenario without differences), contradiction (pairs whose p-value and interval disagree at alpha).
    ``figures`` has the worst of these for each claim and method, and the seconds a table. ``power`` has ``method,
    error_rate, meant, claim, null, difference, power, low, high``. ``meant`` says whether a method is made for the
    claim and in theory tests a difference.

    Intervals are Monte-Carlo and hold together, with 95 %, for all scenarios of a claim and whenever one stops.
    """

    rates: pd.DataFrame
    power: pd.DataFrame
    table: pd.DataFrame
    verdicts: tuple[Verdict, ...]
    alpha: float
    repetitions: int  # tables of the scenario that most were drawn of
    budget: int  # tables of a scenario that might have been drawn
    seed: int
    scores: str  # what was simulated, in words
    notes: tuple[str, ...] = field(default=())  # scenarios and methods left out, and why
    figures: pd.DataFrame = field(default_factory=lambda: pd.DataFrame())

    def text(self, command: bool = False) -> str:
        """Return what was simulated and the verdicts, for Python or for the command line.

        Parameters
        ----------
        command : bool
            Whether what to do now is said for the command line.

        Returns
        -------
        str
            Several lines.
        """
        text: str = late.call_bound("calibration_text", self, command)
        return text

    def __str__(self) -> str:
        return self.text()

    def to_frame(self) -> pd.DataFrame:
        """Return one row a method and claim: false alarms in the worst scenario, coverage of intervals, power.

        Returns
        -------
        DataFrame
            A copy of ``table``.
        """
        return self.table.copy()

    def shown(self) -> pd.DataFrame:
        """Return the table as a page shows it: false alarms and coverage in per cent, with interval and scenario.

        Returns
        -------
        DataFrame
            Shares as text.
        """
        table: pd.DataFrame = late.call_bound("calibration_table", self)
        return table


def calibrate(
    source: Any,
    methods: Iterable[str | Procedure] | None = None,
    *,
    claims: Iterable[Claim | str | Iterable[str]] | None = None,
    nulls: Iterable[str] | None = None,
    alpha: float = 0.05,
    repetitions: int | None = None,
    budget: int | None = None,
    planted: bool = True,
    largest: float | None = None,
    topics: int | None = None,
    systems: int | None = None,
    shards: int | None = None,
    instances: int | None = None,
    baseline: str | Sequence[str] | None = None,
    seed: int = 0,
    jobs: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
    watch: Callable[[Calibration], None] | None = None,
) -> Calibration:
    """Measure what methods do where the truth is known, on tables like the scores or made of the components given.

    Each claim is tried with all systems equal and, if planted, once more with half of them equal and others better or
    worse.

    Parameters
    ----------
    source : object
        A complete table of scores in any form that `as_scores` takes; variance components; or standard deviations of
        effects by name.
    methods : iterable of str or Procedure, optional
        Procedures or their names; the usual ones for the layout, if None.
    claims : iterable of Claim, str or iterable of str, optional
        Claims to try, each a `Claim`, names or text; the usual ones for the layout, if None.
    nulls : iterable of str, optional
        Scenarios of equal systems: "normal" (sums of normal effects), "margins" (bounded scores, every system with a
        distribution like its own), "vine" (near-duplicates too), "tilt" (the very scores, topics drawn with unequal
        chances), and made of the scores "permute", "flip", "resample". If None, those that fit scores and claim: vine
        (else margins or normal), tilt where chances of topics make the systems equal, permute and flip, which count for
        false alarms, and resample, which counts for intervals.
    alpha : float
        Level of the methods.
    repetitions : int, optional
        Tables of each scenario, exactly. If None, as many as make the verdict clear on every method meant for the
        claim: a scenario is left when its intervals lie above 1.1 alpha or below 1.5 alpha.
    budget : int, optional
        Tables of each scenario at most, where ``repetitions`` is None; 2,000 unless another number is given.
    planted : bool
        Whether to plant differences too.
    largest : float, optional
        The largest difference to plant; one that is hardly ever missed, if None.
    topics, systems, shards, instances : int, optional
        Sizes of the tables; other ones than those of the scores leave simulated nulls only.
    baseline : str or sequence of str, optional
        A system of the scores, or several, with which all others are compared; methods then decide these pairs alone.
    seed : int
        Where the random numbers start; table i of a scenario depends on (seed, i) only.
    jobs : int, optional
        Number of threads; all processors, if None.
    executor : Executor, optional
        Where the tables are drawn and decided instead: any executor of ``concurrent.futures``, of processes or, as
        dask.distributed has it, of machines. The figures are the same, bit for bit.
    progress : callable, optional
        Called with (tables done, tables in all).
    watch : callable, optional
        Called with the figures so far, without a verdict, whenever every scenario that goes on has got more tables.
        Their intervals hold at the end, not at whatever moment one looks.

    Returns
    -------
    Calibration
        Error rates, coverage and power of each method, with verdicts.

    >>> sd = {"topic": .2, "topic:system": .08, "topic:shard": .1, "error": .06}
    >>> found = calibrate(sd, ["MD6 hsd", "MD6 hsd topic"], systems=4, shards=3, topics=20, repetitions=200,
    ...     claims=[("topic",)], planted=False)
    >>> found.table.set_index("method")["status"].to_dict()["MD6 hsd"]
    'fails'
    """
    validate_level(alpha)
    plan = plan_looks(repetitions, budget)
    scores, sd, still = _read_source(source)
    if scores is None and shards is not None and instances is not None:
        raise InputError("shards and instances at once", remedy="choose one of them")
    third = ("shard",) if shards is not None else ("instance",) if instances is not None else ()
    dims = ("topic", "system", *third) if scores is None else scores.dims
    asked = {"topic": topics, "system": systems, "shard": shards, "instance": instances}
    for dim, size in asked.items():
        if size is not None and dim not in dims:
            raise InputError(f"{size} {dim}s, but the scores have no {dim}s", remedy=f"leave {dim}s out")
    usual: Mapping[Any, int] = {"topic": 50, "system": 10} if scores is None else scores.sizes
    shape = tuple(asked.get(dim) or usual[dim] for dim in dims)
    example = Either('methods=["MD6 hsd topic"]', "--method 'MD6 hsd topic'")
    chosen = list(parse_methods(methods, dims, "no method to calibrate", example).values())
    nouns = {} if scores is None else dict(scores.nouns)
    wanted = [Claim.of(c, nouns) for c in (CLAIMS[dims] if claims is None else claims)]
    given = SimulationSource(scores, sd, dims, shape)
    named = None if nulls is None else list(nulls)
    cases, notes = [], {}
    if still:
        left_out = f"{', '.join(still)}: the same score everywhere, left out of the simulated tables"
        notes[left_out] = wanted[0]
    for claim in wanted:
        kinds, untilted = choose_nulls(given, claim, named)
        cases += cases_of(given, claim, kinds, planted=planted, largest=largest, alpha=alpha, seed=seed)
        if untilted:
            notes[f"scenario 'tilt' skipped: {untilted}"] = claim
    if baseline is not None and (scores is None or not given.as_measured):
        raise InputError(
            "a baseline is one of the systems of the scores", remedy="calibrate on the scores as they are"
        )
    names = () if scores is None else scores.systems
    tried = Trial(cases, chosen, alpha, seed, plan, number_baselines(baseline, names))
    claim_words = {claim.short(dims): claim.short(dims, nouns) for claim in wanted}
    sizes = " × ".join(format_count(n, nouns.get(dim, dim)) for dim, n in zip(dims, shape, strict=True))
    spread = sd.describe_components(nouns)
    words = (
        f"tables of {sizes}; {spread}" if scores is None else f"tables like these scores ({sizes}; {spread})"
    )

    def build_calibration(all_tallies: Sequence[Sequence[Figures]]) -> Calibration:
        answered, tallies, failed = tried.drop_failed(all_tallies)
        left_out = [f"{name} left out: {reason}" for name, reason in failed.items()]
        if not answered.methods:
            raise InputError("; ".join(left_out), remedy="correct it, or name another method")
        rates, power = (
            rows.assign(claim=rows["claim"].map(claim_words)) if len(rows) else rows
            for rows in (answered.tabulate_rates(tallies), answered.tabulate_power(tallies))
        )
        seconds = {
            method.name: float(np.concatenate([of_case[k]["seconds"] for of_case in tallies]).mean())
            for k, method in enumerate(answered.methods)
        }
        drawn = max(len(part[0]["family"]) * case.share for case, part in zip(cases, tallies, strict=True))
        most = plan[-1]
        return Calibration(
            rates,
            power,
            summarize_rates(rates, alpha),
            (),
            alpha,
            min(drawn, most),
            most,
            seed,
            words,
            (*notes, *left_out),
            tabulate_figures(rates, seconds),
        )

    tallies = tried.run(jobs, progress, executor, watch and (lambda some: watch(build_calibration(some))))
    calibration = build_calibration(tallies)
    tried, tallies, _ = tried.drop_failed(tallies)
    # what is recommended is ours, as other commands take it
    ours = [method for method in tried.methods if not isinstance(method, OutsideProcedure)]
    verdicts = []
    for claim in wanted:
        claim_rows = calibration.table[calibration.table["claim"] == claim.short(dims, nouns)]
        failed = claim_rows.loc[claim_rows["meant"] & (claim_rows["status"] == "fails"), "method"]
        why: tuple[str, ...] = ()
        if scores is not None and given.as_measured and len(failed):
            blamed = tried.count_blamed(tallies, claim, failed)
            means, labels = topic_means(scores.require_complete(), dims), list(scores.topics)
            why = late.call_bound("error_causes", blamed, means, list(names), labels, nouns)
        verdicts.append(judge_methods(claim, claim_rows, ours, dims, alpha, why, nouns))
    return replace(calibration, verdicts=tuple(verdicts))


def judge(
    function: Callable[[pd.DataFrame], Any],
    source: Any,
    *,
    error_rate: str = "pair",
    methods: Iterable[str | Procedure] = (),
    **options: Any,
) -> Calibration:
    """Measure what any function of a table does where the truth is known, by the laboratory that tries our methods.

    The function gets one simulated table after another as a DataFrame: items are rows, systems are columns, both
    shuffled and renamed each time; repeats or shards are a second level of the index. It returns for every pair of
    columns, in the order of ``itertools.combinations``, a p-value or a verdict (True where they differ); or a square of
    them; or an object with such a ``pvalue``; or a DataFrame with columns ``a, b, p`` (or ``significant``) and, where
    known, ``lower, upper, difference`` of a less b. A NaN p-value finds nothing. A function that raises an error or
    returns anything else is left out with the reason, in ``notes`` where other methods are tried with it.

    Parameters
    ----------
    function : callable
        Function of a table.
    source : object
        Scores or variance components, as `calibrate` takes them.
    error_rate : str
        What its p-values are meant to control: "pair" (each pair by itself), "family" or "discovery".
    methods : iterable of str or Procedure
        Methods of ours to try on the same tables.
    **options : object
        Further arguments of `calibrate`, such as ``repetitions`` and ``seed``.

    Returns
    -------
    Calibration
        As from `calibrate`; ``figures`` has false alarms by family and by pair, coverage, wrong directions, power,
        power at equal error, contradictions between p-value and interval, and seconds.

    >>> sd = {"topic": 0.2, "topic:system": 0.1}
    >>> cheat = judge(lambda table: [0.0], sd, systems=2, topics=20, repetitions=20)
    >>> cheat.figures["pair"].tolist()
    [1.0]
    """
    name = getattr(function, "__name__", type(function).__name__)
    return calibrate(source, [wrap_function(function, name, error_rate), *methods], **options)


def _read_source(source: Any) -> tuple[Scores | None, VarianceComponents, tuple[str, ...]]:
    """Read scores and variances, and name the systems left out because one score everywhere has no distribution."""
    if isinstance(source, VarianceComponents):
        return None, source, ()
    if isinstance(source, Mapping) and source and all(isinstance(v, float | int) for v in source.values()):
        return None, VarianceComponents.of(source, kind="sd"), ()
    scores, _ = complete_table(source)
    names, rows = scores.require_items("calibrate").systems, scores.system_rows()
    varied = np.asarray(rows.max(axis=1) > rows.min(axis=1))
    still = tuple(name for name, varies in zip(names, varied, strict=True) if not varies)
    if varied.sum() < 2 <= len(names):
        raise InputError(
            f"{len(still)} of {len(names)} systems have the same score everywhere, which shows no distribution",
            remedy="give two systems or more whose scores vary",
        )
    if still:
        scores = scores.select(system=np.flatnonzero(varied))
    return scores, variance_components(scores), still


def parse_methods(
    names: str | Procedure | Iterable[str | Procedure] | None,
    dims: tuple[str, ...],
    nothing: str,
    example: Either,
) -> dict[str, Procedure]:
    """Return the procedures asked for, or the default ones of the layout, by name; refuse those that do not fit."""
    if isinstance(names, str | Procedure):
        names = [names]
    usual = DEFAULTS[dims]
    wanted = usual.shown if names is None else names
    procedures = [parse_procedure(name, dims, lambda: usual.procedure).for_layout(dims) for name in wanted]
    if not procedures:
        raise InputError(nothing, remedy=("name some, as in ", example))
    for method in procedures:
        if dims not in method.layouts:
            raise InputError(
                f"{method.name} does not fit scores by {', '.join(dims)}",
                remedy=f"it takes {' or '.join(', '.join(d) for d in method.layouts)}",
            )
    return {method.name: method for method in procedures}
