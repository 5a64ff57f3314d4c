"""A scenario of one corpus split again and again: part of an error goes with the documents, part with the split."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shardwise.core.arrays import Floats, make_generator
from shardwise.core.claim import Claim
from shardwise.core.errors import InputError
from shardwise.core.variance_components import VarianceComponents
from shardwise.lab.scenarios.base import check_layout, normal_scenario
from shardwise.methods.tables import SPLITS

UNITS = 8  # documents that matter of each topic and shard


@dataclass(frozen=True, slots=True, eq=False)
class ResplitScenario:
    """Normal scores of splits that divide the same documents.

    A cell's error is the mean of what the shard's documents do to a system on a topic, and noise of the split.
    Documents keep their effects from split to split and only change shards, so that the mean over shards is the same
    on every split but for that noise, whose share of the error variance is ``share``. With 1 splits have nothing in
    common but topics, as in `normal_scenario`; with 0 they agree on every system mean: re-splitting removes nothing.

    >>> sd = VarianceComponents.of({"topic": .2, "topic:system": .08, "error": .06}, kind="sd")
    >>> scenario = ResplitScenario(np.full(3, .3), sd, (5, 30, 3, 4), share=0.0)
    >>> bool(np.ptp(scenario.draw(0, 1, seed=1)[0].mean(axis=(1, 3)), axis=0).max() < 1e-12)
    True
    """

    means: Floats
    components: VarianceComponents
    shape: tuple[int, ...]  # splits, topics, systems, shards
    share: float
    claim: Claim = Claim()  # noqa: RUF009, a frozen value
    dims: tuple[str, ...] = SPLITS

    def __post_init__(self) -> None:
        check_layout(self.dims, self.shape, self.claim)
        if not 0.0 <= self.share <= 1.0:
            raise InputError(
                f"a share of {self.share:g}", remedy="give a number from 0 to 1", argument="share"
            )

    @property
    def name(self) -> str:
        """How much of the error is the split's own, and the claim."""
        return f"split again, {self.share:.0%} of the error the split's own; {self.claim.short(self.dims)}"

    @property
    def truth(self) -> Floats:
        """(R,) true system means."""
        return self.means

    def draw(self, first: int, count: int, seed: int) -> Floats:
        """(count, *shape) scores: tables first to first + count - 1."""
        common = self.components.only(("topic", "topic:system"))
        y = normal_scenario(self.means, common, self.dims, self.shape, self.claim).draw(first, count, seed)
        for i in range(count):
            y[i] += self._draw_errors(make_generator(seed, first + i, 1))
        return y

    def _draw_errors(self, rng: np.random.Generator) -> Floats:
        """(splits, topics, systems, shards) errors of one table."""
        splits, topics, systems, shards = self.shape
        sd = self.components.sd("error")
        split_errors = (
            rng.standard_normal((topics, shards * UNITS, systems)) * sd * np.sqrt(UNITS * (1.0 - self.share))
        )
        errors = rng.standard_normal(self.shape) * sd * np.sqrt(self.share)
        for split in range(splits):
            moved = rng.permuted(np.tile(np.arange(shards * UNITS), (topics, 1)), axis=1)
            shuffled = np.take_along_axis(split_errors, moved[:, :, None], axis=1)
            errors[split] += shuffled.reshape(topics, shards, UNITS, systems).mean(axis=2).swapaxes(1, 2)
        return np.asarray(errors)
