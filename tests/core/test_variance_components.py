"""Variance components: one name for each effect, and what they do to a difference."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardwise.core.claim import Claim
from shardwise.core.errors import InputError
from shardwise.core.variance_components import VarianceComponents, canonicalize_term

PARTS = VarianceComponents(
    {
        "topic": 0.04,
        "system": 0.01,
        "topic:system": 0.0064,
        "system:shard": 0.0009,
        "system:instance": 0.0025,
        "error": 0.0036,
    }
)


@pytest.mark.parametrize(
    ("one", "other"),
    [("system:topic", "topic:system"), ("shard_system", "system:shard"), ("residual", "error"),
     ("instance", "system:instance")],
)  # fmt: skip
def test_every_spelling_finds_the_effect(one: str, other: str) -> None:
    assert PARTS[one] == PARTS[other]
    assert one in PARTS
    assert PARTS.get(one) == PARTS[other]
    assert PARTS.sd(one) == pytest.approx(np.sqrt(PARTS[other]))


def test_an_effect_that_is_not_there_has_no_spread() -> None:
    assert "topic:shard" not in PARTS
    assert (PARTS.variance("topic:shard"), PARTS.get("topic:shard"), PARTS.sd("shard")) == (0.0, None, 0.0)
    with pytest.raises(InputError, match="unknown variance 'shard'; there are topic, system"):
        PARTS["shard"]
    # instances shared by all systems are no instances of a system's own
    crossed = VarianceComponents({"topic:system": 0.01, "instance": 0.02, "residual": 0.01})
    assert crossed.variance("system:instance") == 0.0
    assert crossed["instance"] == 0.02


def test_a_mapping_like_any_other() -> None:
    plain = dict(PARTS)
    assert plain == PARTS
    assert VarianceComponents(plain) == PARTS
    assert list(PARTS) == list(plain)
    assert len(PARTS) == 6
    again = pickle.loads(pickle.dumps(PARTS))
    assert (again, again.mean, again.random) == (PARTS, None, 2)
    assert VarianceComponents.of(plain, kind="variance") == PARTS
    assert VarianceComponents.of({name: PARTS.sd(name) for name in PARTS}, kind="sd") == pytest.approx(plain)
    assert list(PARTS.only(["residual", "topic"])) == ["residual", "topic"]


@pytest.mark.parametrize(
    ("variances", "message"),
    [
        ({"topic": -0.1}, "topic = -0.1: a variance cannot be below 0"),
        ({"topic": float("nan")}, "cannot be below 0"),
        ({"query": 0.1}, "unknown effect 'query'"),
        ({"topic:system": 0.1, "system:topic": 0.1}, "topic:system is given twice"),
        ({"error": 0.1, "residual": 0.1}, "error is given twice"),
    ],
)
def test_refusals(variances: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        VarianceComponents(variances)


def test_other_refusals() -> None:
    with pytest.raises(InputError, match="mean = inf"):
        VarianceComponents({"error": 0.1}, mean=float("inf"))
    with pytest.raises(InputError, match="unknown kind 'cv'"):
        VarianceComponents.of({"error": 0.1}, kind="cv")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="cannot generalise over shard"):
        PARTS.variance_of_difference("topic+shard", {"topic": 50})
    with pytest.raises(InputError, match="unknown effect 'topical'"):
        canonicalize_term("topical")


def by_hand(claim: Claim, t: int, r: int, k: int, third: str) -> tuple[float, float]:
    """Expected mean squares and Satterthwaite's df, written out for each claim (F19; J15 with r systems)."""
    third_spread = PARTS["system:shard"] if third == "shard" else PARTS["system:instance"]
    ms_e, ms_ts, ms_k = 0.0036, k * 0.0064 + 0.0036, t * third_spread + 0.0036
    df_ts = (t - 1) * (r - 1)
    df_k = (r - 1) * (k - 1) if third == "shard" else r * (k - 1)
    df_e = df_k * (t - 1)
    if claim == Claim():
        ms, df = ms_e, float(df_e)
    elif claim == Claim("topic"):
        ms, df = ms_ts, float(df_ts)
    elif claim == Claim(third):
        ms, df = ms_k, float(df_k)
    else:
        ms = ms_ts + ms_k - ms_e
        df = ms**2 / (ms_ts**2 / df_ts + ms_k**2 / df_k + ms_e**2 / df_e)
    return 2 * ms / (t * k), df


@given(
    t=st.integers(2, 200),
    r=st.integers(2, 50),
    k=st.integers(2, 20),
    third=st.sampled_from(["shard", "instance"]),
    over=st.sampled_from([(), ("topic",), ("third",), ("topic", "third")]),
)
def test_a_difference_varies_as_its_mean_squares_say(
    t: int, r: int, k: int, third: str, over: tuple[str, ...]
) -> None:
    claim = Claim(*(third if name == "third" else name for name in over))
    variance, df = PARTS.variance_of_difference(claim, {"topic": t, "system": r, third: k})
    assert (float(variance), float(df)) == pytest.approx(by_hand(claim, t, r, k, third), rel=1e-12)


def test_sizes_broadcast_and_claims_come_in_any_form() -> None:
    t, m = np.array([[20.0], [50.0]]), np.array([2.0, 5.0, 10.0])
    variance, df = PARTS.variance_of_difference("topics, instances", {"topic": t, "instance": m})
    assert variance.shape == df.shape == (2, 3)
    one, own = PARTS.variance_of_difference(("instance", "topic"), {"topic": 50, "instance": 5})
    assert (variance[1, 1], df[1, 1]) == (float(one), float(own))
    flat, degrees = PARTS.variance_of_difference("topic", {"topic": t, "shard": m})
    assert flat.shape == degrees.shape == (2, 3)


def test_one_deterministic_system_adds_neither_instances_nor_error() -> None:
    alone = VarianceComponents({"topic:system": 0.01, "system:instance": 0.002, "error": 0.006}, random=1)
    variance, df = alone.variance_of_difference("topic+instance", {"topic": 40, "instance": 5})
    over_topics, ms_i, ms_e = 0.02 / 40 + 0.006 / 200, 0.002 / 5 + 0.006 / 200, 0.006 / 200
    assert float(variance) == pytest.approx(0.02 / 40 + 0.002 / 5 + 0.006 / 200)
    spread = over_topics**2 / 39 + ms_i**2 / 4 + ms_e**2 / (4 * 39)
    assert float(df) == pytest.approx(float(variance) ** 2 / spread)
    still = VarianceComponents({"topic:system": 0.01, "system:instance": 0.0, "error": 0.006}, random=1)
    assert float(still.variance_of_difference("topic+instance", {"topic": 40, "instance": 5})[1]) == 39.0


def test_what_was_counted_as_0_is_said() -> None:
    text = str(VarianceComponents({"topic": 0.0, "error": 0.01}, mean=0.3, negative=("topic",)))
    assert text == "mean 0.3; standard deviations error 0.1 (estimated below 0, counted as 0: topic)"
    assert str(VarianceComponents({"topic": 0.0})) == "standard deviations all 0"
