"""From scores to claims: published facts, what must not change a comparison, and error rates for each claim."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

import shardwise as sw
from procedure_tables import decide_all
from shardwise.core.arrays import Floats, make_generator
from shardwise.core.errors import InputError
from shardwise.methods.tables import SHARDS


class TestFacts:
    """F19 Table 1 (MD1, TREC-8 AP), and the same analysis of the other matrices and of real runs."""

    @pytest.mark.parametrize(
        ("file", "omega_sq", "pairs", "top"),
        [
            ("adhoc8_ap.csv", 0.3991, 3423, 7),
            ("adhoc8_p10.csv", 0.3817, 3359, None),
            ("adhoc8_rr.csv", 0.2714, 2228, None),
        ],
    )
    def test_trec_8(self, data: Path, file: str, omega_sq: float, pairs: int, top: int | None) -> None:
        fit = sw.anova(sw.read_scores(data / "trec8" / file), sw.MD1)
        found = sw.compare(fit, "hsd")
        assert round(fit.table.loc["system", "omega_sq"], 4) == omega_sq
        assert (len(found), int(found.reject(0.05).sum())) == (8256, pairs)
        assert top is None or len(found.best(0.05)) == top

    def test_trec_3(self, trec3: Path) -> None:
        table = sw.read_scores(trec3)
        found = {
            test: int(sw.paired_tests(table, test=test).reject().sum())
            for test in ("t", "unpaired-t", "wilcoxon")
        }
        assert found == {"t": 595, "unpaired-t": 409, "wilcoxon": 600}
        assert int(sw.compare(sw.anova(table, sw.MD1)).reject().sum()) == 378

    @pytest.mark.slow
    def test_trec_covid_round_1(self, data: Path, covid_runs: Path) -> None:
        runs = sw.read_collection(covid_runs, data / "trec-covid-r1" / "qrels.covid-round1.txt")
        fit = sw.anova(sw.score(runs, "AP")["AP"], sw.MD1)
        found = sw.compare(fit)
        assert round(fit.table.loc["system", "omega_sq"], 4) == 0.4601
        assert (len(found), int(found.reject().sum())) == (10153, 4199)


def tensor(values: Floats) -> xr.DataArray:
    dims = ("topic", "system", "shard")[: values.ndim]
    names = {"system": [f"s{j}" for j in range(values.shape[1])]}
    return xr.DataArray(values, dims=dims, coords=names)


def frame(values: xr.DataArray, **claim: tuple[str, ...]) -> Floats:
    pairs = sw.compare(sw.anova(values, sw.MD6), **claim).to_frame().sort_values(["a", "b"])
    return pairs[["difference", "se", "df", "p_adjusted"]].to_numpy()


CLAIMS = st.sampled_from([(), ("topic",), ("topic", "shard")])


class TestWhatMustNotMatter:
    @settings(max_examples=25)
    @given(st.integers(0, 10**6), st.floats(-5, 5), CLAIMS)
    def test_the_value_in_undefined_rows(self, seed: int, filler: float, claim: tuple[str, ...]) -> None:
        """F19 Prop. 7.2-7.4: under MD6 the systems look the same whatever stands in the undefined cells."""
        rng = np.random.default_rng(seed)
        values = rng.normal(size=(7, 4, 3))
        holes = rng.random((7, 3)) < 0.3
        one, other = values.copy(), values.copy()
        one.transpose(0, 2, 1)[holes] = 0.0
        other.transpose(0, 2, 1)[holes] = filler
        assert np.allclose(
            frame(tensor(one), generalize=claim), frame(tensor(other), generalize=claim), rtol=1e-7, atol=1e-9
        )

    @settings(max_examples=25)
    @given(st.integers(0, 10**6), CLAIMS)
    def test_the_order_of_anything(self, seed: int, claim: tuple[str, ...]) -> None:
        rng = np.random.default_rng(seed)
        values = tensor(rng.normal(size=(6, 5, 3)))
        shuffled = values.isel({dim: rng.permutation(size) for dim, size in values.sizes.items()}).transpose(
            "shard", ...
        )
        assert np.allclose(frame(values, generalize=claim), frame(shuffled, generalize=claim))

    @settings(max_examples=25)
    @given(st.integers(0, 10**6), st.floats(-10, 10), CLAIMS)
    def test_how_hard_a_topic_is(self, seed: int, easier: float, claim: tuple[str, ...]) -> None:
        rng = np.random.default_rng(seed)
        values = rng.normal(size=(6, 5, 3))
        other = values.copy()
        other[2] += easier
        assert np.allclose(
            frame(tensor(values), generalize=claim), frame(tensor(other), generalize=claim), atol=1e-8
        )


class TestEdges:
    def test_identical_systems_do_not_differ(self) -> None:
        values = np.random.default_rng(0).normal(size=(8, 1, 3)) + np.zeros((1, 4, 1))
        pairs = sw.compare(sw.anova(tensor(values), sw.MD6))
        assert not pairs.reject().any()
        assert len(pairs.best()) == 4

    def test_a_topic_without_any_spread_and_two_systems(self) -> None:
        values = np.random.default_rng(0).normal(size=(8, 2, 3))
        values[3] = 0.5
        pairs = sw.compare(sw.anova(tensor(values), sw.MD6), generalize=("topic",))
        assert len(pairs) == 1
        assert 0 < pairs.p_adjusted[0] <= 1

    @pytest.mark.parametrize(
        ("shape", "message"), [((1, 4, 3), "topic"), ((8, 1, 3), "system"), ((8, 4, 1), "shard")]
    )
    def test_one_of_a_kind_is_refused(self, shape: tuple[int, ...], message: str) -> None:
        with pytest.raises(InputError, match=message):
            sw.compare(sw.anova(tensor(np.random.default_rng(0).normal(size=shape)), sw.MD6))

    def test_a_shard_without_any_score_is_refused(self) -> None:
        values = np.random.default_rng(0).normal(size=(8, 4, 3))
        values[:, :, 1] = np.nan
        with pytest.raises(InputError, match="shard"):
            sw.anova(tensor(values), sw.MD6)


def null_scores(seed: int, n: int, random: tuple[str, ...], t: int = 50, r: int = 10, s: int = 5) -> Floats:
    """Tables without system differences; interactions with dimensions that are not random add up to nothing."""
    rng = make_generator(seed)
    topic_system = rng.normal(0, 0.08, (n, t, r, 1))
    system_shard = rng.normal(0, 0.005, (n, 1, r, s))
    if "topic" not in random:
        topic_system -= topic_system.mean(1, keepdims=True)
    if "shard" not in random:
        system_shard -= system_shard.mean(3, keepdims=True)
    rest = (
        rng.normal(0, 0.2, (n, t, 1, 1))
        + rng.normal(0, 0.1, (n, t, 1, s))
        + rng.normal(0, 0.06, (n, t, r, s))
    )
    return np.asarray(topic_system + system_shard + rest)


def false_alarms(procedure: str, tables: Floats) -> float:
    """Share of the tables on which a procedure tells any pair apart; all at once what compare says one by one."""
    (found,) = decide_all([procedure], tables, SHARDS)
    return float((found.p_adjusted <= 0.05).any(axis=1).mean())


@pytest.mark.calibration
@pytest.mark.parametrize("random", [(), ("topic",), ("topic", "shard")])
def test_hsd_errs_once_in_twenty_families_for_the_claim_it_makes(
    random: tuple[str, ...], repetitions: float
) -> None:
    n = int(400 * repetitions)
    wrong = false_alarms(f"MD6 hsd {'+'.join(random)}".strip(), null_scores(20, n, random))
    assert abs(wrong - 0.05) < 3.3 * np.sqrt(0.05 * 0.95 / n)


@pytest.mark.calibration
@pytest.mark.parametrize(("model", "rate"), [("MD2", 0.45), ("MD3", 0.64), ("MD6", 0.995)])
def test_fixed_models_mislead_about_topics_like_these(model: str, rate: float, repetitions: float) -> None:
    """Family-wise error of the papers' fixed models when topics are a sample: the reason for saying the claim."""
    n = int(200 * repetitions)
    wrong = false_alarms(f"{model} hsd", null_scores(21, n, ("topic", "shard")))
    assert abs(wrong - rate) < 3.3 * np.sqrt(0.25 / n)
