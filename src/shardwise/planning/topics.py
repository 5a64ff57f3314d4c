"""How many topics a test collection needs, for power or for tight intervals (S14 §3).

``variance`` is always σ², the variance of one system's score; ``difference_variance`` may be given in its
place and is σ_t² = 2σ². Every argument may be an array; they are broadcast together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from shardwise.core.arguments import validate_choice
from shardwise.core.arrays import Bools, Floats, Ints
from shardwise.core.errors import Either, InputError, Option
from shardwise.planning.variances import VarianceEstimate
from shardwise.stats import student, studentized_range
from shardwise.stats.power import moderated_df

Variances = npt.ArrayLike | VarianceEstimate | Sequence[VarianceEstimate]

MOST_TOPICS = 1e9

METHODS = {
    "exact": "one-way ANOVA, noncentral F",
    "sakai": "one-way ANOVA, normal approximation of S14",
    "blocks": "two-way ANOVA with topics as blocks, noncentral F",
    "paired-t": "paired t-test, noncentral t",
    "moderated": "moderated test of one pair, corrected for all pairs, for normal scores",
}
# methods that compare systems topic by topic
PAIRED = ("blocks", "paired-t", "moderated")
# methods that find a difference of two systems; F tests find that some differ
PAIRS = ("paired-t", "moderated")
POINTS = 200  # of the distribution of a variance that is not known for sure


@dataclass(frozen=True, slots=True)
class Designs:
    """Many designs at once, as flat arrays of equal length, and the shape to give the answers."""

    columns: dict[str, Floats]
    shape: tuple[int, ...]

    def __getitem__(self, name: str) -> Floats:
        return self.columns[name]

    def to_integers(self, answer: Floats) -> int | Ints:
        """Whole numbers in the shape of the question."""
        return int(answer[0]) if self.shape == () else answer.astype(np.int64).reshape(self.shape)

    def to_floats(self, answer: Floats) -> float | Floats:
        """Real numbers in the shape of the question."""
        return float(answer[0]) if self.shape == () else answer.reshape(self.shape)


RULES: dict[str, tuple[Callable[[Floats], Bools], str]] = {
    "sigma_sq": (lambda x: x > 0, "a variance must be above 0"),
    "min_diff": (lambda x: x > 0, "the smallest difference worth finding must be above 0"),
    "width": (lambda x: x > 0, "no number of topics gives an interval without width; width must be above 0"),
    "alpha": (lambda x: (x > 0) & (x < 1), "alpha must lie between 0 and 1"),
    "power": (lambda x: (x > 0) & (x < 1), "power must lie between 0 and 1; certainty takes endless topics"),
    "systems": (lambda x: (x >= 2) & (x == np.floor(x)), "systems must be a whole number, 2 or more"),
    "df": (lambda x: x > 0, "the degrees of freedom of a variance must be above 0"),
    "n": (lambda x: (x >= 2) & (x == np.floor(x)), "the number of topics must be a whole number, 2 or more"),
}


def make_designs(
    variance: Variances | None, difference_variance: npt.ArrayLike | None, **rest: npt.ArrayLike | None
) -> Designs:
    """Check and broadcast the arguments of a question; refuse what cannot be answered, with the reason."""
    if (variance is None) == (difference_variance is None):
        raise InputError(
            "a plan needs one variance",
            remedy="give either variance (σ² of one system's scores) or difference_variance (2σ² of a pair)",
        )
    given: dict[str, Any] = {"sigma_sq": variance if variance is not None else difference_variance, **rest}
    given = {name: value for name, value in given.items() if name != "df" or value is not None}
    arrays = {name: validate_numbers(name, value) for name, value in given.items()}
    if variance is None:
        arrays["sigma_sq"] = arrays["sigma_sq"] / 2.0  # S14 §3.2
    try:
        together = np.broadcast_arrays(*arrays.values())
    except ValueError as mismatch:
        raise InputError(
            f"the arguments cannot be combined: {mismatch}", remedy="give numbers, or arrays that broadcast"
        ) from None
    flat = {name: np.ravel(a).astype(float) for name, a in zip(arrays, together, strict=True)}
    if "power" in flat and (flat["power"] <= flat["alpha"]).any():
        worst = int(np.argmax(flat["power"] <= flat["alpha"]))
        raise InputError(
            f"power {flat['power'][worst]:g} is not above alpha {flat['alpha'][worst]:g}",
            remedy="ask for more power than alpha",
        )
    return Designs(flat, together[0].shape)


def validate_numbers(name: str, value: Any) -> Floats:
    """Argument as an array of numbers that obey its rule."""
    shown = "variance" if name == "sigma_sq" else name
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"{shown}: {value!r} is not a number", remedy="give a number or an array") from None
    allowed, rule = RULES[name]
    good = np.isfinite(array) & allowed(array)
    if not good.all():
        worst = float(array[~good].flat[0])
        raise InputError(f"{shown} = {worst:g}: {rule}", argument=shown, value=worst)
    return array


def critical_f(phi_a: Floats, phi_e: Floats, alpha: Floats) -> Floats:
    """F_α(φA, φE), above which a test at level alpha rejects."""
    return np.asarray(special.fdtri(phi_a, phi_e, 1.0 - alpha))


def power_exact(lam: Floats, phi_a: Floats, phi_e: Floats, critical: Floats) -> Floats:
    """P(F' > F_α): power of an F test with noncentrality λ."""
    beta = special.ncfdtr(phi_a, phi_e, lam, critical)
    # the series of ncfdtr breaks down, as NaN, only where its value is below 1e-40: at a λ above a thousand
    return 1.0 - np.where(np.isnan(beta) & (lam > 1000.0), 0.0, beta)


def power_sakai(lam: Floats, phi_a: Floats, phi_e: Floats, w: Floats) -> Floats:
    """Normal approximation to that power as it stands behind the tables of S14; NaN where it has no value.

    The textbook adds the two variances under the root; only their difference gives the printed tables.
    """
    c_a = (phi_a + 2.0 * lam) / (phi_a + lam)
    phi_star = (phi_a + lam) ** 2 / (phi_a + 2.0 * lam)
    spread = c_a / phi_a - w / phi_e
    u = np.sqrt(w / phi_e * (2.0 * phi_e - 1.0)) - np.sqrt(c_a / phi_a * (2.0 * phi_star - 1.0))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(spread > 0, special.ndtr(-u / np.sqrt(spread)), np.nan)


def critical_pair(n: Floats, systems: Floats, alpha: Floats) -> tuple[Floats, Floats]:
    """Degrees of freedom and critical |t| of the moderated test of all pairs.

    Parameters
    ----------
    n, systems, alpha : array
        Topics, systems and levels, of one length.

    Returns
    -------
    tuple of arrays
        df = (n-1)/(w² + (1-w²)/(R-1)) and q_{α;R,df}/√2.

    >>> [x.round(3).tolist() for x in critical_pair(*(np.array([x]) for x in (50.0, 2.0, 0.05)))]
    [[49.0], [2.01]]
    """
    n, systems, alpha = np.broadcast_arrays(n, systems, alpha)
    df, critical = np.empty(n.shape), np.empty(n.shape)
    for r, a in set(zip(systems.tolist(), alpha.tolist(), strict=True)):
        which = (systems == r) & (alpha == a)
        df[which] = moderated_df(n[which], int(r))[1]
        critical[which] = studentized_range.isf(a, int(r), df[which]) / np.sqrt(2.0)
    return df, critical


def power_of_pair(lam: Floats, df: Floats, critical: Floats) -> Floats:
    """P(t' > c) with noncentrality √λ: power of one pair whose variance is the typical one.

    Parameters
    ----------
    lam : array
        λ, n times δ²/(2σ²).
    df, critical : array
        Degrees of freedom and critical value.

    Returns
    -------
    array
        Probabilities of a significant difference in the right direction.

    >>> power_of_pair(np.array([9.0]), np.array([49.0]), np.array([2.0096])).round(3)
    array([0.837])
    """
    return student.noncentral_sf(critical, df, np.sqrt(lam))


def topic_noncentrality(d: Designs) -> Floats:
    """Δ = minD²/(2σ²): least noncentrality a topic adds when best and worst differ by minD (S14 §3.1)."""
    return np.asarray(d["min_diff"] ** 2 / (2.0 * d["sigma_sq"]))


def choose_planned_test(method: str | None, systems: Floats, variance: Any) -> str:
    """Name of the planned test, if it can do what is asked with this variance; the one that suits it, if None."""
    known = {estimate.paired for estimate in _list_estimates(variance)} - {None}
    if method is None:
        return "moderated" if True in known else "exact"
    validate_choice(method, "method", METHODS, what="design method")
    if method == "paired-t" and not (systems == 2).all():
        raise InputError(
            f"a paired t-test compares 2 systems, not {systems[systems != 2][0]:g}",
            remedy=("use ", Option("method", "blocks"), " for more"),
        )
    if (method not in PAIRED) in known:
        kind = "residual" if method in PAIRED else "two-way"
        has = "still holds" if method in PAIRED else "no longer holds"
        raise InputError(
            f"{METHODS[method]}: this variance {has} the difficulty of topics",
            remedy=(
                "use ",
                Either(f"variance(scores, {kind!r})", f"--variance-method {kind}"),
                ", or another ",
                Option("method"),
            ),
        )
    return method


def _list_estimates(variance: Any) -> list[VarianceEstimate]:
    each = variance if isinstance(variance, list | tuple) else [variance]
    return [estimate for estimate in each if isinstance(estimate, VarianceEstimate)]


def planned_test(
    method: str, d: Designs, n: Floats, k: Ints | slice = slice(None)
) -> Callable[[Floats], Floats]:
    """Power of a method with n topics, for the designs numbered k, as a function of the noncentrality λ.

    Where the variance has degrees of freedom ν it is itself uncertain, σ² = ν·variance/χ²(ν), and the power is averaged
    over that distribution: the assurance of O'Hagan, Stevens and Campbell (2005).
    """
    systems, alpha = d["systems"][k], d["alpha"][k]
    distribution: Callable[..., Floats]
    rest: tuple[Floats, ...]
    if method == "moderated":
        distribution, rest = power_of_pair, critical_pair(n, systems, alpha)
    else:
        phi_a, phi_e = systems - 1.0, ((systems - 1.0) if method in PAIRED else systems) * (n - 1.0)
        distribution = power_sakai if method == "sakai" else power_exact
        rest = phi_a, phi_e, critical_f(phi_a, phi_e, alpha)
    if "df" not in d.columns:
        return lambda lam: distribution(lam, *rest)
    df = d["df"][k][:, None]
    ratio = special.chdtri(df, (np.arange(POINTS) + 0.5) / POINTS) / df
    columns = tuple(np.broadcast_to(x, systems.shape)[:, None] for x in rest)
    return lambda lam: distribution(lam[:, None] * ratio, *columns).mean(axis=1)


def enough_noncentrality(d: Designs) -> Floats:
    """λ that would give the power were the variance known: where to start searching."""
    critical = special.chdtri(d["systems"] - 1.0, d["alpha"])
    lam = special.chndtrinc(critical, d["systems"] - 1.0, 1.0 - d["power"])
    return np.where(np.isfinite(lam) & (lam > 0), lam, 10.0)


def find_smallest(enough: Callable[[Floats, Ints], Bools], guess: Floats) -> Floats:
    """Smallest n ≥ 2 that is enough for each design: gallop away from a guess, then halve.

    ``enough(n, which)`` answers for the designs numbered ``which``; it must stay true once it is true.
    """
    low, high = np.ones_like(guess), np.full_like(guess, MOST_TOPICS)
    probe = np.clip(np.ceil(guess), 2.0, MOST_TOPICS - 1.0)
    step = 1.0
    which = np.arange(guess.size)
    while which.size:
        here = probe[which]
        yes = enough(here, which)
        high[which] = np.where(yes, here, high[which])
        low[which] = np.where(yes, low[which], here)
        which = which[high[which] - low[which] > 1.0]
        a, b = low[which], high[which]
        middle = np.floor((a + b) / 2.0)
        galloping = np.where(b == MOST_TOPICS, np.minimum(a + step, middle), np.maximum(b - step, middle))
        probe[which] = np.where((b == MOST_TOPICS) | (a == 1.0), galloping, middle)
        step *= 2.0
    if (high == MOST_TOPICS).any():
        raise InputError(
            f"a design needs more than {MOST_TOPICS:.0e} topics",
            remedy="ask for a larger difference, a wider interval or a less variable measure",
        )
    return high


def topics_for_power(
    *,
    min_diff: npt.ArrayLike,
    variance: Variances | None = None,
    systems: npt.ArrayLike = 2,
    alpha: npt.ArrayLike = 0.05,
    power: npt.ArrayLike = 0.8,
    method: str | None = None,
    difference_variance: npt.ArrayLike | None = None,
    df: npt.ArrayLike | None = None,
) -> int | Ints:
    """Return the smallest number of topics that finds a range of min_diff with the given power (S14 §3.1).

    Every argument but the method may be an array; they are broadcast together.

    Parameters
    ----------
    min_diff : array_like
        Smallest difference that is worth finding: between two systems (``moderated``, ``paired-t``), or between the
        best and the worst of all.
    variance : array_like, VarianceEstimate or sequence of VarianceEstimate, optional
        σ², the variance of one system's score: numbers, or what `variance` returns.
    systems : array_like
        How many systems are compared.
    alpha : array_like
        Level of the test.
    power : array_like
        Probability of finding the difference.
    method : str, optional
        The planned test. ``moderated``: the default test of one pair, corrected for all pairs of the systems, for
        scores that are nearly normal. ``exact`` or ``sakai``: one-way ANOVA as S14 has it (noncentral F, or the
        approximation behind its tables), which detects any difference among the systems, but not which. ``blocks``:
        the same with topics as blocks; ``paired-t``: the same for two systems. ``moderated``, ``blocks`` and
        ``paired-t`` compare topic by topic and need the residual variance. None: ``moderated`` for an estimate that has
        topic difficulty taken out, else ``exact``; an estimate of the other kind than the test needs is refused.
    difference_variance : array_like, optional
        σ_t² = 2σ² of a pair, in place of ``variance``.
    df : array_like, optional
        Degrees of freedom on which the variance was estimated, such as the ``effective_df`` of an estimate: the power
        is then averaged over what the variance may be, which is called assurance. None takes it as known.

    Returns
    -------
    int or array of int
        Number of topics, one for each set of values.

    >>> topics_for_power(variance=.053, min_diff=.10, systems=10, method="sakai")
    166
    >>> topics_for_power(variance=.053, min_diff=[.10, .20], systems=10)
    array([167,  43])
    >>> topics_for_power(variance=.053, min_diff=.10, systems=10, df=20)
    184
    """
    d = make_designs(
        variance, difference_variance, min_diff=min_diff, systems=systems, alpha=alpha, power=power, df=df
    )
    name = choose_planned_test(method, d["systems"], variance)
    delta = topic_noncentrality(d)

    def has_power(n: Floats, k: Ints) -> Bools:
        return planned_test(name, d, n, k)(n * delta[k]) >= d["power"][k]

    return d.to_integers(find_smallest(has_power, enough_noncentrality(d) / delta))


def power_at(
    *,
    n: npt.ArrayLike,
    min_diff: npt.ArrayLike,
    variance: Variances | None = None,
    systems: npt.ArrayLike = 2,
    alpha: npt.ArrayLike = 0.05,
    method: str | None = None,
    difference_variance: npt.ArrayLike | None = None,
    df: npt.ArrayLike | None = None,
) -> float | Floats:
    """Return the power that n topics give; NaN where ``sakai``'s approximation has no value (very few topics).

    Parameters
    ----------
    n : array_like
        Number of topics.
    min_diff, systems, alpha : array_like
        As for `topics_for_power`.
    variance : array_like, VarianceEstimate or sequence of VarianceEstimate, optional
        As for `topics_for_power`.
    method : str, optional
        As for `topics_for_power`.
    difference_variance, df : array_like, optional
        As for `topics_for_power`.

    Returns
    -------
    float or array of float
        The power, one for each number of topics.

    >>> round(power_at(n=50, variance=.053, min_diff=.10, systems=10), 3)
    0.261
    """
    d = make_designs(
        variance, difference_variance, n=n, min_diff=min_diff, systems=systems, alpha=alpha, df=df
    )
    name = choose_planned_test(method, d["systems"], variance)
    return d.to_floats(planned_test(name, d, d["n"])(d["n"] * topic_noncentrality(d)))


def min_diff_at(
    *,
    n: npt.ArrayLike,
    variance: Variances | None = None,
    systems: npt.ArrayLike = 2,
    alpha: npt.ArrayLike = 0.05,
    power: npt.ArrayLike = 0.8,
    method: str | None = None,
    difference_variance: npt.ArrayLike | None = None,
    df: npt.ArrayLike | None = None,
) -> float | Floats:
    """Return the smallest range between best and worst that n topics find with the given power.

    Parameters
    ----------
    n : array_like
        Number of topics.
    variance : array_like, VarianceEstimate or sequence of VarianceEstimate, optional
        As for `topics_for_power`.
    systems, alpha, power : array_like
        As for `topics_for_power`.
    method : str, optional
        As for `topics_for_power`.
    difference_variance, df : array_like, optional
        As for `topics_for_power`.

    Returns
    -------
    float or array of float
        The difference, one for each number of topics.

    >>> round(min_diff_at(n=50, variance=.053, systems=10), 3)
    0.184
    """
    d = make_designs(variance, difference_variance, n=n, systems=systems, alpha=alpha, power=power, df=df)
    name = choose_planned_test(method, d["systems"], variance)
    high = np.log(enough_noncentrality(d))
    low = high - 1.0

    power_with = planned_test(name, d, d["n"])

    def has_power(log_lam: Floats) -> Bools:
        return power_with(np.exp(log_lam)) >= d["power"]

    for _ in range(40):  # beyond e^40 times the guess no difference is large enough
        short, ample = ~has_power(high), has_power(low)
        if not (short | ample).any():
            break
        low, high = (
            np.where(short, high, np.where(ample, low - 1.0, low)),
            np.where(short, high + 1.0, np.where(ample, low, high)),
        )
    unreachable = ~has_power(high)
    while (high - low).max(initial=0.0) > 1e-12:
        middle = (low + high) / 2.0
        yes = has_power(middle)
        low, high = np.where(yes, low, middle), np.where(yes, middle, high)
    answer = np.sqrt(2.0 * d["sigma_sq"] * np.exp(high) / d["n"])
    return d.to_floats(np.where(unreachable, np.nan, answer))


def mean_of_sd(df: Floats) -> Floats:
    """E[√V]/σ for a variance estimate V on df degrees: √(2/df)·Γ((df+1)/2)/Γ(df/2)."""
    log_ratio = special.gammaln((df + 1.0) / 2.0) - special.gammaln(df / 2.0)
    series = 1.0 - 1.0 / (4.0 * df) + 1.0 / (32.0 * df**2)  # the difference of log-gammas cancels
    return np.where(df > 1e4, series, np.sqrt(2.0 / df) * np.exp(log_ratio))


def expected_width(se: Floats, df: Floats, alpha: Floats) -> Floats:
    """Expected width of a t interval whose standard error se is estimated on df degrees (S14 §3.2)."""
    return np.asarray(2.0 * special.stdtrit(df, 1.0 - alpha / 2.0) * se * mean_of_sd(df))


def topics_for_interval(
    *,
    width: npt.ArrayLike,
    variance: Variances | None = None,
    alpha: npt.ArrayLike = 0.05,
    difference_variance: npt.ArrayLike | None = None,
) -> int | Ints:
    """Return the smallest number of topics whose interval for a difference of two systems is so narrow on average.

    E[2·t_{α/2}(n-1)·√(V/n)] ≤ width with E[V] = σ_t² = 2σ² (S14 §3.2).

    Parameters
    ----------
    width : array_like
        Width of the interval, on average.
    alpha : array_like
        1 less the confidence of the interval.
    variance : array_like, VarianceEstimate or sequence of VarianceEstimate, optional
        As for `topics_for_power`.
    difference_variance : array_like, optional
        As for `topics_for_power`.

    Returns
    -------
    int or array of int
        Number of topics, one for each set of values.

    >>> topics_for_interval(variance=.053, width=.10)
    165
    """
    d = make_designs(variance, difference_variance, width=width, alpha=alpha)
    sigma_t_sq = 2.0 * d["sigma_sq"]

    def has_width(n: Floats, k: Ints) -> Bools:
        return expected_width(np.sqrt(sigma_t_sq[k] / n), n - 1.0, d["alpha"][k]) <= d["width"][k]

    guess = sigma_t_sq * (2.0 * special.ndtri(1.0 - d["alpha"] / 2.0) / d["width"]) ** 2
    return d.to_integers(find_smallest(has_width, guess))


def width_at(
    *,
    n: npt.ArrayLike,
    variance: Variances | None = None,
    alpha: npt.ArrayLike = 0.05,
    difference_variance: npt.ArrayLike | None = None,
) -> float | Floats:
    """Return the expected width of the interval for a difference of two systems on n topics.

    Parameters
    ----------
    n : array_like
        Number of topics.
    variance : array_like, VarianceEstimate or sequence of VarianceEstimate, optional
        As for `topics_for_interval`.
    alpha : array_like
        As for `topics_for_interval`.
    difference_variance : array_like, optional
        As for `topics_for_interval`.

    Returns
    -------
    float or array of float
        The width, one for each number of topics.

    >>> round(width_at(n=50, variance=.053), 3)
    0.184
    """
    d = make_designs(variance, difference_variance, n=n, alpha=alpha)
    return d.to_floats(expected_width(np.sqrt(2.0 * d["sigma_sq"] / d["n"]), d["n"] - 1.0, d["alpha"]))
