"""A design: the sizes of a comparison, what they reach and cost, and the search for the smallest that is enough.

Two systems differ by the variance of a difference v, estimated on df degrees of freedom, and a true difference δ has
the noncentrality λ = δ²/v (S14 §3.1). Power is P(F' > critical) of a noncentral F: of some difference among m systems
with m - 1 degrees of freedom, of one pair in both directions with 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import special

from shardwise.core.arguments import validate_choice, validate_level
from shardwise.core.arrays import Bools, Floats, Ints
from shardwise.core.claim import Claim
from shardwise.core.errors import Either, InputError, Option
from shardwise.core.variance_components import VarianceComponents
from shardwise.stats import power as formulas
from shardwise.stats import student

# a number, or an array of them
Numbers = Any

MOST = 1e9
METHODS = {
    "exact": "one-way ANOVA, noncentral F",
    "sakai": "one-way ANOVA, normal approximation of S14",
    "blocks": "two-way ANOVA with topics as blocks, noncentral F",
    "paired-t": "paired t-test, noncentral t",
    "moderated": "moderated test, all pairs corrected (assuming normal scores)",
}
# methods that compare systems topic by topic
PAIRED = ("blocks", "paired-t", "moderated")
# methods that find a difference of two systems; F tests find that some differ
PAIRS = ("paired-t", "moderated")
# points of the distribution of a variance that is not known for sure
POINTS = 200

COUNTS = ("topics", "systems", "repeats", "shards")
RULES: dict[str, tuple[Callable[[Floats], Bools], str]] = {
    "variance": (lambda x: x > 0, "a variance must be above 0"),
    "topics": (
        lambda x: (x >= 2) & (x == np.floor(x)),
        "the number of topics must be a whole number, 2 or more",
    ),
    "systems": (lambda x: (x >= 2) & (x == np.floor(x)), "systems must be a whole number, 2 or more"),
    "repeats": (lambda x: (x >= 1) & (x == np.floor(x)), "repeats must be a whole number, 1 or more"),
    "shards": (lambda x: (x >= 1) & (x == np.floor(x)), "shards must be a whole number, 1 or more"),
    "min_diff": (lambda x: x > 0, "the smallest difference worth finding must be above 0"),
    "target": (lambda x: (x > 0) & (x < 1), "power must lie between 0 and 1; certainty takes endless topics"),
    "alpha": (lambda x: (x > 0) & (x < 1), "alpha must lie between 0 and 1"),
    "variance_df": (lambda x: x > 0, "the degrees of freedom of a variance must be above 0"),
    "width": (lambda x: x > 0, "no number of topics gives an interval without width; width must be above 0"),
}


@dataclass(frozen=True, slots=True, eq=False)
class Design:
    """Sizes of a comparison of systems, with what they reach and cost.

    Every number may be an array; they are broadcast together, and the answers have their shape.

    Parameters
    ----------
    variance : array_like, VarianceEstimate or VarianceComponents
        σ², the variance of one system's scores over topics, or what scores vary by.
    topics, systems : array_like
        Topics, and systems that are compared.
    repeats, shards : array_like, optional
        Repeats of each system on each topic, shards of the corpus; only with variance components.
    min_diff : array_like, optional
        The true difference to detect: of two systems, or of best and worst where the method is an F test.
    target : array_like
        Power that ``detectable`` and searches aim at.
    alpha : array_like
        Level of the test, family-wise for all pairs.
    method : str, optional
        The planned test: ``moderated``, ``paired-t``, ``blocks``, ``exact`` or ``sakai``. Without it, ``exact`` for a
        number and ``moderated`` for what was estimated with topic difficulty taken out.
    generalize : Claim, str or iterable of str
        What a difference is about, as in `compare`; with variance components.
    variance_df : array_like, optional
        Degrees of freedom on which the variance was estimated: the power is then averaged over what the variance may
        be, which is called assurance (O'Hagan, Stevens and Campbell 2005). None takes it as known.
    topic_cost, answer_cost, repeat_cost : float
        Cost of a topic, of one answer of one system to one topic, and of one more repeat of one system.

    >>> design = Design(0.053, topics=50, systems=10, min_diff=0.1)
    >>> round(design.power, 3), round(design.detectable, 3)
    (0.261, 0.184)
    >>> parts = VarianceComponents({"topic:system": 0.01, "error": 0.2})
    >>> Design(parts, topics=[50, 200], repeats=5, min_diff=0.1).power.round(2)
    array([0.59, 0.99])
    """

    variance: Numbers
    topics: Numbers
    systems: Numbers = 2
    repeats: Numbers = None
    shards: Numbers = None
    min_diff: Numbers = None
    target: Numbers = 0.8
    alpha: Numbers = 0.05
    method: str | None = None
    generalize: Claim | str | Iterable[str] = ("topic",)
    variance_df: Numbers = None
    topic_cost: float = 0.0
    answer_cost: float = 1.0
    repeat_cost: float = 0.0

    def __post_init__(self) -> None:
        arrays = {name: validate_numbers(name, value) for name, value in self._numbers().items()}
        if "variance" in arrays and arrays.keys() & {"repeats", "shards"}:
            raise InputError(
                "one variance does not say what repeats or shards do",
                remedy="give variance components, as of variance_components(scores)",
            )
        method = choose_method(self.method, arrays["systems"], self.variance)
        try:
            together = np.broadcast_arrays(*arrays.values())
        except ValueError as mismatch:
            raise InputError(
                f"the arguments cannot be combined: {mismatch}",
                remedy="give numbers, or arrays that broadcast",
            ) from None
        for name, array in zip(arrays, together, strict=True):
            single = int if name in COUNTS else float
            object.__setattr__(self, name, array if array.ndim else single(array))
        object.__setattr__(self, "method", method)
        object.__setattr__(self, "generalize", Claim.of(self.generalize))

    def _numbers(self) -> dict[str, Numbers]:
        """Numbers that were given, by name."""
        values = {name: getattr(self, name) for name in RULES if name != "width"}
        return {
            name: value
            for name, value in values.items()
            if not isinstance(value, VarianceComponents) and (value is not None or name == "variance")
        }

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the answers."""
        return np.shape(self.topics)

    def take(self, which: Ints, **sizes: Floats) -> Design:
        """Take some of the designs, as flat arrays, with other sizes.

        Parameters
        ----------
        which : array of int
            Their places.
        **sizes : array
            Sizes in place of theirs.

        Returns
        -------
        Design
            As many designs as places.
        """
        arrays: dict[str, Any] = {name: np.ravel(value)[which] for name, value in self._numbers().items()}
        return replace(self, **{**arrays, **sizes})

    def _precision(self) -> tuple[Floats, Floats]:
        """Variance of a difference, and the degrees of freedom of its mean squares."""
        n, systems = np.asarray(self.topics, float), np.asarray(self.systems, float)
        if not isinstance(self.variance, VarianceComponents):
            return 2.0 * np.asarray(self.variance) / n, (n - 1.0) * (systems - 1.0)
        sizes: dict[str, Floats] = {"topic": n, "system": systems}
        if self.repeats is not None:
            # one seed does not show how seeds vary
            sizes["instance"] = np.maximum(
                self.repeats, 2.0 if "instance" in Claim.of(self.generalize) else 1.0
            )
        if self.shards is not None:
            sizes["shard"] = np.asarray(self.shards, float)
        return self.variance.variance_of_difference(self.generalize, sizes)

    @property
    def se(self) -> Numbers:
        """Standard error of a difference of two systems."""
        return self._shaped(np.sqrt(self._precision()[0]))

    @property
    def df(self) -> Numbers:
        """Degrees of freedom of the test."""
        n, systems = np.asarray(self.topics, float), np.asarray(self.systems, float)
        if self.method not in PAIRED:
            return self._shaped(systems * (n - 1.0))
        if self.method == "moderated" and self.generalize == Claim("topic"):
            return self._shaped(formulas.moderated_df(n, systems))
        return self._shaped(self._precision()[1])

    def _critical(self) -> tuple[Floats, Floats, Floats]:
        """Degrees of freedom above and below, and the F beyond which the test is significant."""
        df, alpha, systems = (np.asarray(x, float) for x in (self.df, self.alpha, self.systems))
        if self.method == "moderated":
            return np.ones_like(df), df, formulas.critical_pairs(systems, df, alpha)
        return systems - 1.0, df, np.asarray(special.fdtri(systems - 1.0, df, 1.0 - alpha))

    def _power_of(self) -> Callable[[Floats], Floats]:
        """Power of the test as a function of the noncentrality."""
        test = formulas.sakai_power if self.method == "sakai" else formulas.f_power
        critical = self._critical()
        if self.variance_df is None:
            return lambda lam: test(lam, *critical)
        df = np.asarray(self.variance_df)[..., None]
        ratio = special.chdtri(df, (np.arange(POINTS) + 0.5) / POINTS) / df
        columns = tuple(x[..., None] for x in critical)
        return lambda lam: test(lam[..., None] * ratio, *columns).mean(axis=-1)

    @property
    def power(self) -> Numbers:
        """Probability that ``min_diff`` is significant; NaN where ``sakai`` has no value (very few topics)."""
        if self.min_diff is None:
            raise InputError("power needs a difference", remedy="give min_diff", argument="min_diff")
        with np.errstate(divide="ignore"):
            return self._shaped(self._power_of()(np.asarray(self.min_diff) ** 2 / self._precision()[0]))

    @property
    def detectable(self) -> Numbers:
        """Smallest difference that is significant with the power aimed at."""
        self.require_reachable()
        guess = formulas.guess_noncentrality(self.systems, self.alpha, self.target)
        lam = formulas.find_noncentrality(self._power_of(), np.asarray(self.target), guess)
        return self._shaped(np.sqrt(lam * self._precision()[0]))

    def require_reachable(self) -> None:
        """Refuse a power that is not above the level."""
        low = np.atleast_1d(np.asarray(self.target) <= np.asarray(self.alpha))
        if low.any():
            worst = self.take(np.flatnonzero(low)[:1])
            raise InputError(
                f"power {worst.target[0]:g} is not above alpha {worst.alpha[0]:g}",
                remedy="ask for more power than alpha",
            )

    @property
    def half_width(self) -> Numbers:
        """Half the width of the confidence interval of a difference, simultaneous over all pairs if ``moderated``."""
        return self._shaped(np.sqrt(self._critical()[2] * self._precision()[0]))

    @property
    def width(self) -> Numbers:
        """Expected width of the confidence interval of one difference (S14 §3.2)."""
        variance, df = self._precision()
        half = special.stdtrit(df, 1.0 - np.asarray(self.alpha) / 2.0) * np.sqrt(variance)
        return self._shaped(2.0 * half * formulas.mean_of_sd(df))

    @property
    def cost(self) -> Numbers:
        """Cost of the topics, of the repeats, and of all answers."""
        one_random = isinstance(self.variance, VarianceComponents) and self.variance.random == 1
        repeats = (1 if one_random else self.systems) * np.asarray(
            1 if self.repeats is None else self.repeats
        )
        return self._shaped(
            self.topics * (self.topic_cost + repeats * self.answer_cost) + repeats * self.repeat_cost
        )

    def _shaped(self, answer: Any) -> Numbers:
        """Answer as a number, or as an array of the shape of the design."""
        return np.broadcast_to(answer, self.shape) if self.shape else float(answer)

    def search(
        self,
        size: str = "topics",
        enough: Callable[[Design, Ints], Bools] | None = None,
        guess: Floats | None = None,
    ) -> Floats:
        """Find the smallest size that reaches the power, or is enough by another rule.

        Parameters
        ----------
        size : str
            ``topics`` or ``repeats``.
        enough : callable, optional
            Whether designs numbered so are enough, which must stay true once it is true.
        guess : array, optional
            Where to start.

        Returns
        -------
        array
            Sizes, infinite where no number is enough.

        >>> Design(0.053, topics=2, systems=10, min_diff=[0.1, 0.2]).search()
        array([167.,  43.])
        """
        if guess is None:
            self.require_reachable()
            guess = formulas.guess_noncentrality(self.systems, self.alpha, self.target)
            guess = guess * self._precision()[0] * self.topics / np.asarray(self.min_diff) ** 2
        rule = enough or (lambda design, _: design.power >= design.target)
        flat = np.ravel(np.broadcast_to(guess, self.shape)).astype(float)
        found = find_smallest(lambda n, which: rule(self.take(which, **{size: n}), which), flat)
        return found.reshape(self.shape)


def validate_numbers(name: str, value: Any) -> Floats:
    """Argument as an array of numbers that obey its rule."""
    allowed, rule = RULES[name]
    name = "power" if name == "target" else name
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"{name}: {value!r} is not a number", remedy="give a number or an array") from None
    good = np.isfinite(array) & allowed(array)
    if not good.all():
        worst = float(array[~good].flat[0])
        raise InputError(f"{name} = {worst:g}: {rule}", argument=name, value=worst)
    return array


def choose_method(method: str | None, systems: Floats, variance: Any) -> str:
    """Name of the planned test, if it can do what is asked with this variance; the one that suits it, if None."""
    each = variance if isinstance(variance, list | tuple) else [variance]
    # stated variances do not know
    known = {getattr(estimate, "paired", None) for estimate in each} - {None}
    if method is None:
        return "moderated" if True in known or isinstance(variance, VarianceComponents) else "exact"
    validate_choice(method, "method", METHODS, what="design method")
    if method == "paired-t" and not (systems == 2).all():
        raise InputError(
            f"a paired t-test compares 2 systems, not {systems[systems != 2][0]:g}",
            remedy=("use ", Option("method", "blocks"), " for more"),
        )
    if (method not in PAIRED) in known:
        kind = variance_for(method)
        has = "still holds" if method in PAIRED else "no longer holds"
        raise InputError(
            f"{METHODS[method]}: this variance {has} the difficulty of topics",
            remedy=(
                "use ",
                Either(f"variance(scores, {kind!r})", f"--variance {kind}"),
                ", or another ",
                Option("method"),
            ),
        )
    return method


def variance_for(method: str) -> str:
    """Name of the variance that a planned test needs."""
    return "residual" if method in PAIRED else "two-way"


def find_smallest(enough: Callable[[Floats, Ints], Bools], guess: Floats) -> Floats:
    """Smallest n ≥ 2 that is enough for each design: gallop away from a guess, then halve; infinite where none is.

    ``enough(n, which)`` answers for the designs numbered ``which``; it must stay true once it is true.
    """
    low, high = np.ones_like(guess), np.full_like(guess, MOST)
    probe = np.clip(np.ceil(guess), 2.0, MOST - 1.0)
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
        galloping = np.where(b == MOST, np.minimum(a + step, middle), np.maximum(b - step, middle))
        probe[which] = np.where((b == MOST) | (a == 1.0), galloping, middle)
        step *= 2.0
    return np.where(high == MOST, np.inf, high)


def count_topics(topics: Floats) -> int | Ints:
    """Numbers of topics as integers, refused where there are none."""
    if not np.isfinite(topics).all():
        raise InputError(
            f"a design needs more than {MOST:.0e} topics",
            remedy="ask for a larger difference, a wider interval or a less variable measure",
        )
    return topics.astype(np.int64) if topics.ndim else int(topics)


def topics_for_power(
    *,
    min_diff: Numbers,
    variance: Numbers,
    systems: Numbers = 2,
    alpha: Numbers = 0.05,
    power: Numbers = 0.8,
    method: str | None = None,
    df: Numbers = None,
) -> Any:
    """Return the smallest number of topics that finds a difference of min_diff with the given power (S14 §3.1).

    Every argument but the method may be an array; they are broadcast together.

    Parameters
    ----------
    min_diff : array_like
        The smallest difference worth finding: of two systems if the method is ``moderated`` or ``paired-t``, of best
        and worst for the F tests.
    variance : array_like, VarianceEstimate or sequence of VarianceEstimate
        σ², the variance of one system's scores; half that of the difference of two systems on a topic.
    systems : array_like
        How many systems are compared.
    alpha : array_like
        Level of the test.
    power : array_like
        Probability of finding the difference.
    method : str, optional
        As for `Design`.
    df : array_like, optional
        ``variance_df`` of `Design`, such as the ``effective_df`` of an estimate.

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
    how: dict[str, Any] = {"min_diff": min_diff, "target": power, "alpha": alpha, "variance_df": df}
    return count_topics(Design(variance, 2, systems, method=method, **how).search())


def topics_for_interval(*, width: Numbers, variance: Numbers, alpha: Numbers = 0.05) -> Any:
    """Return the smallest number of topics whose interval for a difference of two systems is so narrow on average.

    E[2·t_{α/2}(n-1)·√(V/n)] ≤ width with E[V] = 2σ² (S14 §3.2).

    Parameters
    ----------
    width : array_like
        Width of the interval, on average.
    variance : array_like, VarianceEstimate or sequence of VarianceEstimate
        As for `topics_for_power`.
    alpha : array_like
        1 less the confidence of the interval.

    Returns
    -------
    int or array of int
        Number of topics, one for each set of values.

    >>> topics_for_interval(variance=.053, width=.10)
    165
    """
    wide = validate_numbers("width", width)
    design = Design(variance, np.broadcast_to(2, wide.shape), alpha=alpha)
    wide = np.broadcast_to(wide, design.shape)
    guess = (
        2.0
        * np.asarray(design.variance)
        * (2.0 * special.ndtri(1.0 - np.asarray(design.alpha) / 2.0) / wide) ** 2
    )
    return count_topics(design.search("topics", lambda d, k: d.width <= np.ravel(wide)[k], guess))


def topics_for_margin(
    variance: float, margin: float, *, fixed: float = 0.0, alpha: float = 0.05, power: float = 0.8
) -> float:
    """Topics on which two equal systems are shown to be no worse by the margin; infinite where no number suffices.

    The lower end of the 1 - alpha interval of a paired t-test lies above -margin with the probability ``power``.
    ``variance`` is that of the difference on one topic, ``fixed`` that of the difference of means that more topics do
    not lessen.

    >>> topics_for_margin(0.04, 0.05)
    128.0
    """
    if not (np.isfinite(margin) and margin > 0):
        raise InputError(
            f"a margin of {margin} cannot be met", remedy="give a small positive number", argument="margin"
        )
    validate_level(alpha)
    validate_level(power, "power")
    if variance == 0.0 and fixed == 0.0:
        return 2.0

    def is_shown(n: Floats, _: Ints) -> Bools:
        away = margin / np.sqrt(variance / n + fixed)
        critical = student.student_critical(alpha, n - 1.0)
        return student.noncentral_sf(critical, n - 1.0, away) >= power

    guess = variance * (special.ndtri(1.0 - alpha / 2.0) + special.ndtri(power)) ** 2 / margin**2
    return float(find_smallest(is_shown, np.array([max(guess, 2.0)]))[0])
