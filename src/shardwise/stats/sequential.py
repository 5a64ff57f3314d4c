"""A gate that may be asked after every batch of items: betting against "worse by the margin".

The capital of a bettor who stakes a share λ on every item's difference d (new - base, in units of the range) is
W = Π (1 + λ(d + margin)). If new loses at least the margin, no bet wins on average, and W reaches 2/α with probability
α/2 at most, however often one looks (Ville 1939; Waudby-Smith & Ramdas 2024). The capital here is the mean over twelve
bets, so that no λ has to be chosen; "better" is the same with margin 0, "worse" the same with -d.

Levels and tests of a gate that is asked about one candidate after another on the same items.

If only PASS or FAIL is seen, the t-th candidate after k acceptances is one of at most C(t-1, k) functions of the past.
Tested at α·w_t·2^-(k+1) / C(t-1, k), with w_t = ½/(t(t+1)) + ½·1[t ≤ 100]/100, all of them together are tested at α at
most, however they were made (union bound over the tree of verdicts). If N candidates are declared and there are no
more, the level is α·2^-(k+1) / (1 - 2^-N) / C(N, k+1) for each.

Such levels are far out in the tail, where neither Student's t nor resampling can be trusted. Valid at any level are

- for right and wrong answers and margin 0 the exact sign test: given the d items on which the two differ, the gains
  are at most Binomial(d, ½);
- with a margin δ the same with the chance (π - δ)/(2π), π an upper confidence limit of the share of disagreements,
  whose own error is added (Berger & Boos 1994);
- for other scores of a known range the capital of a bettor, 1/p of a mean of bets (see above); with a margin
  right and wrong answers take the better of the two, each at half the level.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from shardwise.core.arrays import Floats, Ints

BETS = tuple(float(x) for x in np.geomspace(0.02, 0.98, 12))
HYPOTHESES = ("better", "no worse", "worse")
# capitals of a new state: every bet holds 1
START = {name: (0.0,) * len(BETS) for name in HYPOTHESES}


@dataclass(frozen=True, slots=True)
class SequentialState:
    """What a sequential gate remembers between looks; plain numbers only, so that any file can hold it."""

    margin: float
    alpha: float = 0.05
    # systems that are tried against the same base
    candidates: int = 1
    # independent units seen: items, or clusters
    units: int = 0
    # log capital of each bet, by hypothesis
    capital: Mapping[str, tuple[float, ...]] = field(default_factory=lambda: dict(START))
    # hypotheses that were shown at some look, the units at which they were first
    shown: Mapping[str, int] = field(default_factory=dict)

    @property
    def threshold(self) -> float:
        """Capital that shows a hypothesis."""
        return 2.0 * self.candidates / self.alpha

    @property
    def evidence(self) -> dict[str, float]:
        """Capital of each hypothesis by the last look."""
        return {name: float(np.exp(log_evidence(np.array(self.capital[name])))) for name in HYPOTHESES}

    @property
    def verdict(self) -> str:
        """The first hypothesis shown of better, no worse and worse; "continue" where none is.

        A system may be worse by less than the margin; then "no worse" decides.
        """
        return next((name for name in HYPOTHESES if name in self.shown), "continue")

    def to_dict(self) -> dict[str, Any]:
        """Return the state as JSON holds it."""
        return {
            "margin": self.margin,
            "alpha": self.alpha,
            "candidates": self.candidates,
            "units": self.units,
            "capital": {name: list(self.capital[name]) for name in HYPOTHESES},
            "shown": dict(self.shown),
        }

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> SequentialState:
        """Restore a state that `to_dict` made.

        >>> state = update_state(SequentialState(0.05), np.zeros(30))
        >>> SequentialState.from_dict(state.to_dict()) == state
        True
        """
        capital = {name: tuple(float(x) for x in saved["capital"][name]) for name in HYPOTHESES}
        if any(len(values) != len(BETS) for values in capital.values()):
            raise ValueError(f"a state has {len(BETS)} bets")
        return cls(
            margin=float(saved["margin"]),
            alpha=float(saved["alpha"]),
            candidates=int(saved["candidates"]),
            units=int(saved["units"]),
            capital=capital,
            shown={str(name): int(units) for name, units in saved["shown"].items()},
        )


def update_state(state: SequentialState, differences: Floats) -> SequentialState:
    """Add a batch of new items and look.

    The order of the items within a batch does not matter.

    >>> update_state(SequentialState(margin=0.05), np.zeros(150)).verdict
    'no worse'
    >>> update_state(SequentialState(margin=0.01), np.zeros(100)).verdict
    'continue'
    """
    differences = np.asarray(differences, np.float64)
    capital = {
        name: tuple(np.array(state.capital[name]) + grown)
        for name, grown in zip(HYPOTHESES, log_growth(differences, state.margin), strict=True)
    }
    units = state.units + differences.size
    level = np.log(state.threshold)
    shown = dict(state.shown)
    for name in HYPOTHESES:
        if name not in shown and log_evidence(np.array(capital[name])) >= level:
            shown[name] = units
    return replace(
        state,
        units=units,
        capital={name: tuple(float(x) for x in values) for name, values in capital.items()},
        shown=shown,
    )


def log_growth(
    differences: Floats, margin: float, bets: Floats | Sequence[float] = BETS
) -> tuple[Floats, Floats, Floats]:
    """Compute by how much log capitals grow over a batch.

    >>> better, no_worse, worse = log_growth(np.full(10, 0.1), 0.0)
    >>> bool((better == no_worse).all() and (better > 0).all() and (worse < 0).all())
    True
    """
    bets = np.asarray(bets)
    better = np.log1p(bets * differences[..., None]).sum(axis=-2)
    worse = np.log1p(-bets * differences[..., None]).sum(axis=-2)
    no_worse = np.log1p(bets / (1.0 - margin) * (differences[..., None] + margin)).sum(axis=-2)
    return better, no_worse, worse


def log_evidence(log_capital: Floats) -> Floats:
    """Compute the log of the mean capital over bets.

    >>> log_evidence(np.zeros(12))
    np.float64(0.0)
    """
    return np.asarray(special.logsumexp(log_capital, axis=-1) - np.log(log_capital.shape[-1]))[()]


COMMON = 100
"""Candidates that share half of the error rate alike; the other half goes to the first ones and to those beyond."""
BET_COUNT = 6
"""Bets of which the capital is the mean, from the best one for the largest differences to nearly everything."""
LIMIT_SHARE = 0.1
"""Share of a level that the confidence limit of the share of disagreements takes."""
DISAGREEMENT = 0.2
"""What plans assume: systems differ on this share of items, or by this standard deviation, in units of the range."""
HALVINGS = 14
MOST_COUNTED = 10_000


def look_level(
    candidate: Ints | int, accepted: Ints | int, rate: float, declared: int | None = None
) -> Floats:
    """Return the level at which a candidate is tested, after so many acceptances.

    >>> [float(look_level(t, 0, 0.025).round(7)) for t in (1, 2, 30)], float(look_level(30, 1, 0.025).round(9))
    ([0.0031875, 0.0011042, 6.92e-05], 1.193e-06)
    >>> tree = [(t, k) for t in range(1, 7) for k in range(t)]
    >>> round(sum(float(look_level(t, k, 0.05, 6)) * float(special.comb(t - 1, k)) for t, k in tree), 12)
    0.05
    """
    t, k = np.asarray(candidate, np.float64), np.asarray(accepted, np.float64)
    share = rate * 0.5 ** (k + 1.0)
    if declared is not None:
        return np.asarray(share / (1.0 - 0.5**declared) / special.comb(declared, k + 1.0))[()]
    weight = 0.5 / (t * (t + 1.0)) + np.where(t <= COMMON, 0.5 / COMMON, 0.0)
    return np.asarray(share * weight / special.comb(t - 1.0, k))[()]


class Answers(NamedTuple):
    """Counts of right and wrong answers of two systems to the same items, (…) each."""

    # items that only the new system, and only the base, has right
    gains: Floats
    losses: Floats
    items: Floats | float


def sign_p(gains: Floats, losses: Floats, chance: Floats | float = 0.5) -> Floats:
    """Compute P(Binomial(gains + losses, chance) ≥ gains), exact in the far tail.

    >>> [float(p) for p in sign_p(np.array([0, 5, 20]), np.array([0, 0, 0]))]
    [1.0, 0.03125, 9.5367431640625e-07]
    """
    gains = np.asarray(gains, np.float64)
    tail = special.betainc(np.maximum(gains, 1.0), np.asarray(losses) + 1.0, chance)
    return np.asarray(np.where(gains > 0.0, tail, 1.0))[()]


def answers_p(answers: Answers, margin: float, level: Floats | float) -> Floats:
    """Compute p-values against a loss of the margin or more, valid at the given level, of right and wrong answers.

    >>> answers_p(Answers(np.array(20.0), np.array(0.0), 200.0), 0.0, 1e-5)
    np.float64(9.5367431640625e-07)
    >>> bool(answers_p(Answers(np.array(0.0), np.array(0.0), 2000.0), 0.01, 1e-5) < 1e-5)
    True
    """
    gains, losses = (np.asarray(count, np.float64) for count in answers[:2])
    if margin == 0.0:
        return sign_p(gains, losses)
    n, half = np.asarray(answers.items, np.float64), np.asarray(level) / 2.0
    # the share of disagreements, at most; where even that is below the margin, so is the loss
    share, both = LIMIT_SHARE * half, gains + losses
    most = np.where(both < n, special.betainccinv(both + 1.0, np.maximum(n - both, 1.0), share), 1.0)
    conditional = sign_p(gains, losses, np.maximum(most - margin, 0.0) / (2.0 * most))
    limited = np.where(most < margin, 0.0, conditional) + share
    counts = np.stack(np.broadcast_arrays(gains, losses, n - both), axis=-1)
    # growth of the capital by a gain, by a loss, and by an item without a difference
    bets = choose_bets(n, half)[..., None, :]
    kinds = np.array([1.0, -1.0, 0.0]).reshape(3, *[1] * (bets.ndim - 1))
    growth = log_growth(kinds, margin, bets)[1]
    capital = np.exp(-log_evidence(np.einsum("...i,i...b->...b", counts, growth)))
    return np.minimum(1.0, 2.0 * np.minimum(limited, capital))[()]


def choose_bets(items: Floats | float, level: Floats | float) -> Floats:
    """Return (…, 6) shares to bet on differences of so many items, if a capital of 1/level is wanted."""
    least = np.minimum(0.5, np.sqrt(2.0 * np.log(1.0 / np.asarray(level)) / np.asarray(items)))
    return np.asarray(np.geomspace(least, 0.98, BET_COUNT, axis=-1))


def differences_p(differences: Floats, margin: float, level: Floats | float) -> Floats:
    """Compute p-values against a mean of -margin or less, valid at the given level, of differences within [-1, 1].

    >>> bool(differences_p(np.full(200, 0.2), 0.0, 1e-5) < 1e-5)
    True
    >>> bool(differences_p(np.full(200, 0.01), 0.0, 1e-5) < 1e-5)  # one loss of .99 more than undoes them
    False
    """
    differences = np.asarray(differences, np.float64)
    bets = choose_bets(differences.shape[-1], level)
    growth = log_growth(differences, margin, bets[..., None, :])[1]
    return np.minimum(1.0, np.exp(-log_evidence(growth)))[()]


def detect_gain(
    items: int, level: float, *, margin: float = 0.0, right_wrong: bool = True, power: float = 0.8
) -> float:
    """Return the smallest true gain with which a candidate passes with a given power; infinite where none does.

    Right and wrong answers are taken to differ on 20 % of the items, or on as many as the gain needs; other scores to
    differ by the gain ± 0.2. With a margin it may be negative: a loss with which a candidate still passes.

    >>> round(detect_gain(1000, float(look_level(1, 0, 0.025))), 3), round(detect_gain(200, 1e-5), 2)
    (0.051, 0.15)
    """
    none_passes, passes = -margin, 1.0
    if _pass_power(1.0, items, level, margin, right_wrong) < power:
        return float("inf")
    for _ in range(HALVINGS):
        gain = (none_passes + passes) / 2.0
        enough = _pass_power(gain, items, level, margin, right_wrong) >= power
        none_passes, passes = (none_passes, gain) if enough else (gain, passes)
    return passes


def _pass_power(gain: float, items: int, level: float, margin: float, right_wrong: bool) -> float:
    """Probability that a candidate of a true gain passes, in the setting that plans assume."""
    if right_wrong:
        share = max(DISAGREEMENT, abs(gain))
        count, chance = round(items * share), (1.0 + gain / share) / 2.0
    else:
        count, chance = items, 0.5
        high, low = min(gain + DISAGREEMENT, 1.0), max(gain - DISAGREEMENT, -1.0)
        growth = log_growth(np.array([[high], [low]]), margin, choose_bets(items, level))[1]

    def passes(gains: int) -> bool:
        if right_wrong:
            counts = Answers(np.array(float(gains)), np.array(float(count - gains)), float(items))
            return bool(answers_p(counts, margin, level) <= level)
        return bool(-log_evidence(gains * growth[0] + (count - gains) * growth[1]) <= np.log(level))

    # the fewest gains that pass
    fewest, enough = 0, count + 1
    while fewest < enough:
        middle = (fewest + enough) // 2
        fewest, enough = (fewest, middle) if passes(middle) else (middle + 1, enough)
    return (
        float(sign_p(np.array(float(fewest)), np.array(float(count - fewest)), chance))
        if fewest <= count
        else 0.0
    )


def count_candidates(
    items: int,
    gain: float,
    rate: float,
    accepted: int,
    *,
    margin: float = 0.0,
    right_wrong: bool = True,
    power: float = 0.8,
    declared: bool = False,
) -> int:
    """Return how many candidates can be judged before a true gain is no longer shown with a given power.

    So many were accepted before, and their number may have been declared; 10,000 at most are counted.

    >>> [count_candidates(1000, gain, 0.025, 0) for gain in (0.02, 0.06, 0.07)]
    [0, 3, 100]
    """

    def shows(candidate: int) -> bool:
        level = float(look_level(candidate, accepted, rate, candidate if declared else None))
        return _pass_power(gain, items, level, margin, right_wrong) >= power

    last, beyond = accepted, MOST_COUNTED + 1
    while beyond - last > 1:
        middle = (last + beyond) // 2
        last, beyond = (middle, beyond) if shows(middle) else (last, middle)
    return last if last > accepted else 0
