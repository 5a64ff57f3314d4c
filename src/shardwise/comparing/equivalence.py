"""No worse, equivalent, better by enough? A lack of significance answers none of these (J15 §2.3, §5.4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from shardwise.comparing.comparisons import Comparisons
from shardwise.core.arguments import validate_choice, validate_level
from shardwise.core.arrays import Bools, Floats
from shardwise.core.errors import Either, InputError, Option
from shardwise.core.libraries import pd
from shardwise.core.shown import Drawn
from shardwise.methods.mixed.posterior import Mixture
from shardwise.stats.corrections import CORRECTIONS, STEPWISE
from shardwise.stats.student import student_critical

SIDES = {"both": "equivalent", "lower": "no worse", "superior": "better"}
METHODS = {
    "tost": "one-sided t-tests",
    "interval": "inclusion of the two-sided interval",
    "hpd": "inclusion of the highest-density interval",
}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Equivalence(Drawn):
    """Whether differences a - b lie where they should, given a margin that matters.

    `table` has `a, b, difference, lower, upper, p, p_adjusted, holds, smallest_margin`; p is NaN where an interval
    decides.
    """

    table: pd.DataFrame
    margin: float
    side: str
    method: str
    alpha: float
    level: float  # of the intervals in the table, each by itself
    claim: str
    correction: str = "none"  # for the number of pairs
    lower_is_better: bool = False

    @property
    def holds(self) -> bool:
        """Whether the claim holds for every pair."""
        return bool(self.table["holds"].all())

    @property
    def smallest_margin(self) -> float:
        """The smallest margin at which the claim would hold for every pair (the largest one for superiority).

        A margin chosen after the fact proves nothing; this is for judging how far off a claim is.
        """
        values = self.table["smallest_margin"]
        return float(values.min() if self.side == "superior" else values.max())

    def __str__(self) -> str:
        met = int(self.table["holds"].sum())
        goal = {
            "both": f"equivalent within ±{self.margin:g}",
            "lower": f"not worse by {self.margin:g} or more",
            "superior": f"better by more than {self.margin:g}",
        }[self.side]
        corrected = (
            f" with {CORRECTIONS[self.correction].title}"
            if self.correction != "none" and len(self.table) > 1
            else ""
        )
        words = f"{METHODS[self.method]}{corrected} at alpha {self.alpha:g}"
        if len(self.table) == 1:
            row = self.table.iloc[0]
            verdict = goal if row["holds"] else f"not shown to be {goal}"
            return (
                f"{row['a']} against {row['b']}: {verdict} "
                f"({self.level:.0%} interval {row['lower']:.4f} to {row['upper']:.4f}; {words}); claim: {self.claim}"
            )
        return f"{met} of {len(self.table)} pairs {goal} ({words}); claim: {self.claim}"


def equivalence(
    result: Comparisons,
    margin: float = 0.01,
    side: str = "both",
    *,
    method: str = "tost",
    alpha: float = 0.05,
) -> Equivalence:
    """Test whether two systems (or each pair) differ by less than a margin, or by more than one.

    The null hypothesis is always the opposite of the claim, so failing to prove it is no proof of its contrary. Scores
    of known range are tested by score tests, which do not take failures that were not seen for impossible.

    Parameters
    ----------
    result : Comparisons
        Comparisons, whose pairs are judged with the same correction as their p-values; by Holm's where that is a joint
        distribution of differences. Pairs keep the direction in which they were asked for, and a baseline stands
        second. Where nobody chose a direction, the better system comes first, the worse one for "lower"; the one-sided
        p-values of "superior" then count twice, for either might have been the better.
    margin : float
        The smallest difference that matters; 0 for plain superiority.
    side : str
        "both" (equivalent: |a - b| < margin), "lower" (non-inferior: a - b > -margin) or "superior" (a - b > margin);
        the latter two with b - a where lower is better.
    method : str
        "tost" (two one-sided t-tests, of which the 1 - 2 alpha interval is the picture), "interval" (the two-sided
        1 - alpha interval, a test at alpha/2) or "hpd" (the same with the highest posterior density, as in J15; only
        for the unified test and mixed models). Intervals of m corrected pairs have alpha/m for alpha.
    alpha : float
        Level of the test, below .5.

    Returns
    -------
    Equivalence
        Verdict, p-value and interval of each pair.

    >>> import pandas as pd
    >>> from shardwise.comparing.instances import compare_instances
    >>> rng = np.random.default_rng(3)
    >>> topics = rng.normal(0.4, 0.2, 200)
    >>> a = pd.DataFrame(topics[:, None] + rng.normal(0, 0.02, (200, 10)))
    >>> print(equivalence(compare_instances(a, pd.Series(topics)), margin=0.01))
    a against b: equivalent within ±0.01 (90% interval -0.0001 to 0.0015; one-sided t-tests at alpha 0.05); claim: ...
    """

    validate_choice(side, "side", SIDES)
    validate_choice(method, "method", METHODS)
    if not np.isfinite(margin) or margin < 0 or (margin == 0 and side == "both"):
        raise InputError(f"a margin of {margin} cannot be met", remedy="give a small positive number")
    validate_level(alpha)
    if not isinstance(result, Comparisons):
        raise InputError(
            f"a {type(result).__name__} cannot be tested for equivalence",
            remedy=Either("give the result of compare_instances, compare or paired_tests", "compare systems"),
        )
    pairs = result.to_frame()
    correction = result.correction if result.correction in STEPWISE else "holm"
    turned = np.full(len(pairs), side == "lower" and not result.directed)
    edge = margin if side == "superior" else -margin
    either = 2.0 if side == "superior" and not result.directed else 1.0
    share = alpha / (1 if correction == "none" else len(pairs))
    level = 1.0 - 2.0 * share / either if method == "tost" else 1.0 - share
    evidence = result.weigh_differences(turned)
    d, df = evidence.estimate, evidence.df
    p = np.full(len(pairs), np.nan)
    if method == "hpd":
        names = np.array(result.estimates.labels, dtype=object)
        first, second = np.where(turned, result.ib, result.ia), np.where(turned, result.ia, result.ib)
        known = [result.posterior(*pair) for pair in zip(names[first], names[second], strict=True)]
        lower, upper = np.array([distribution.interval(level) for distribution in known]).T
    else:
        if not (np.isfinite(evidence.se) & np.isfinite(df)).any():
            raise InputError(
                "the result has no standard errors with df",
                remedy=("use ", Option("method", "mixed"), " or a t-test"),
            )
        lower, upper = evidence.limits(student_critical(1.0 - level, df))
        p = evidence.p_within(margin) if side == "both" else evidence.p_gain(edge)
        p = np.minimum(either * p, 1.0) if method == "tost" else np.full(len(pairs), np.nan)
    gains = (-upper, -lower) if result.lower_is_better else (lower, upper)
    holds, smallest = _judge_interval(*gains, margin, side)
    # where all scores of both systems are one value, nothing could have shown a difference
    holds &= ~evidence.uninformative | (method == "hpd")
    p_adjusted = p if method != "tost" else STEPWISE[correction].adjust(p)
    a, b = (pairs[name].to_numpy() for name in ("a", "b"))
    table = pd.DataFrame(
        {
            "a": np.where(turned, b, a),
            "b": np.where(turned, a, b),
            "difference": d,
            "lower": lower,
            "upper": upper,
            "p": p,
            "p_adjusted": p_adjusted,
            "holds": holds if method != "tost" else p_adjusted < alpha,
            "smallest_margin": smallest,
        }
    )
    return Equivalence(
        table, margin, side, method, alpha, level, result.claim, correction, result.lower_is_better
    )


def _judge_interval(lower: Floats, upper: Floats, margin: float, side: str) -> tuple[Bools, Floats]:
    """Return whether the interval lies where it should, and the margin at which it just would."""
    if side == "both":
        return (lower > -margin) & (upper < margin), np.maximum(np.abs(lower), np.abs(upper))
    if side == "lower":
        return lower > -margin, np.maximum(-lower, 0.0)
    return lower > margin, lower


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SettingSeries(Drawn):
    """A series of settings, each tested for being no worse (J15 Fig. 12).

    `table` has one row a setting, smallest first: `setting, difference, lower, upper, p, holds`.
    """

    table: pd.DataFrame
    margin: float
    side: str
    claim: str
    lower_is_better: bool = False

    @property
    def smallest(self) -> Any:
        """The smallest setting that is no worse and from which on all larger ones are, or None.

        Going down from the largest setting and stopping at the first failure keeps the error of the whole series at
        alpha; picking the smallest success anywhere (`first`) does not.
        """
        holds = self.table["holds"].to_numpy(dtype=bool)
        run = int(np.argmin(holds[::-1])) if not holds.all() else len(holds)
        return None if run == 0 else self.table["setting"].iloc[len(holds) - run]

    @property
    def first(self) -> Any:
        """The smallest setting that is no worse, whatever the larger ones are (as J15 picks it), or None."""
        settings = self.table.loc[self.table["holds"], "setting"]
        return None if settings.empty else settings.iloc[0]

    def __str__(self) -> str:
        goal = f"{SIDES[self.side]} (margin {self.margin:g})"
        answer = "no setting is" if self.smallest is None else f"the smallest setting is {self.smallest}:"
        return f"{answer} {goal}; claim: {self.claim}"


def smallest_setting(
    results: Mapping[Any, Comparisons],
    margin: float = 0.01,
    side: str = "lower",
    *,
    method: str = "tost",
    alpha: float = 0.05,
) -> SettingSeries:
    """Find the smallest setting (sample rate, number of shards, …) that is no worse than the baseline (J15 §5.4).

    Parameters
    ----------
    results : mapping of object to Comparisons
        Maps each setting, a number or anything that sorts, to its comparison with the baseline, of one pair.
    margin, alpha : float
        As for `equivalence`.
    side, method : str
        As for `equivalence`.

    Returns
    -------
    SettingSeries
        Every setting with its test, smallest first.
    """

    if not results:
        raise InputError("no settings were given", remedy="map each setting to its comparison")
    rows = []
    for setting in sorted(results):
        tested = equivalence(results[setting], margin, side, method=method, alpha=alpha)
        if len(tested.table) != 1:
            raise InputError(
                f"setting {setting} has {len(tested.table)} pairs", remedy="give one comparison each"
            )
        row = tested.table.iloc[0]
        rows.append(
            {"setting": setting}
            | {name: row[name] for name in ("difference", "lower", "upper", "p", "holds")}
        )
    return SettingSeries(pd.DataFrame(rows), margin, side, tested.claim, tested.lower_is_better)


def posterior_probability(
    result: Comparisons,
    margin: float = 0.01,
    side: str = "both",
    *,
    a: str | None = None,
    b: str | None = None,
) -> float:
    """Return the posterior probability of being equivalent, no worse or better by the margin.

    Parameters
    ----------
    result : Comparisons
        Comparisons by the unified test or a mixed model.
    margin : float
        The smallest difference that matters.
    side : str
        "both" (equivalent), "lower" (no worse) or "superior" (better), as for `equivalence`.
    a, b : str, optional
        Two systems, of a - b; those of the only pair where they are left out.

    Returns
    -------
    float
        The probability.
    """
    validate_choice(side, "side", SIDES)
    distribution: Mixture = result.posterior(a, b)
    if side == "both":
        return distribution.cdf(margin) - distribution.cdf(-margin)
    edge = margin if side == "superior" else -margin
    return distribution.cdf(-edge) if result.lower_is_better else distribution.above(edge)


def measure_three_ways(pairs: Comparisons, margin: float) -> pd.DataFrame:
    """Return P(better by more than the margin), P(practically equal) and P(worse) of each pair.

    They are the confidence in each statement, 1 - p of the one-sided test by which a gate decides it: for scores of a
    known range the score test, which does not take failures not seen for impossible; else Student's, whose shares are
    the posterior under a flat prior (Corani & Benavoli 2015). What neither side claims is "equal".
    """

    if not margin >= 0.0:
        raise InputError(f"a margin of {margin:g} is below 0", remedy="give 0 or more", argument="margin")
    if not (np.isfinite(pairs.se).all() and np.isfinite(pairs.df).all()):
        raise InputError(
            f"{pairs.title} has no confidence distribution of a difference",
            remedy=("use ", Option("method", "moderated")),
        )
    evidence = pairs.weigh_differences()
    better, worse = 1.0 - evidence.p_gain(margin), 1.0 - evidence.p_loss(margin)
    equal = np.maximum(1.0 - better - worse, 0.0)
    # where nothing varies and no range is known, nothing is known of the difference
    total = np.where(evidence.uninformative & ~evidence.in_range, np.nan, better + equal + worse)
    labels = np.array(pairs.estimates.labels, dtype=object)
    return pd.DataFrame(
        {
            "a": labels[pairs.ia],
            "b": labels[pairs.ib],
            "difference": pairs.difference,
            "better": better / total,
            "equal": equal / total,
            "worse": worse / total,
        }
    )
