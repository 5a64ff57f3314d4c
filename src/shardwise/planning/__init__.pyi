"""How many topics, shards, seeds and judgments: designs, and what they reach and cost."""

from .design import Design, topics_for_interval, topics_for_power
from .plans import (
    design_table,
    plan_budget,
    plan_equivalence,
    plan_loop,
    plan_repeats,
    plan_shards,
)
from .pools import plan_pools
from .simulated import simulated_power
from .variances import (
    VarianceComponents,
    generalizability,
    variance,
    variance_components,
)

__all__ = [
    "Design",
    "VarianceComponents",
    "design_table",
    "generalizability",
    "plan_budget",
    "plan_equivalence",
    "plan_loop",
    "plan_pools",
    "plan_repeats",
    "plan_shards",
    "simulated_power",
    "topics_for_interval",
    "topics_for_power",
    "variance",
    "variance_components",
]
