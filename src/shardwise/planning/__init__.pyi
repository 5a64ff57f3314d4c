"""How many topics, shards, seeds and judgments: designs, and what they reach and cost."""

from .design import Design, topics_for_interval, topics_for_power
from .plans import (
    Plan,
    design_curve,
    design_table,
    plan_budget,
    plan_equivalence,
    plan_loop,
    plan_repeats,
    plan_shards,
    reach_curve,
)
from .pools import plan_pools
from .simulated import simulated_power
from .variances import (
    VarianceComponents,
    VarianceEstimate,
    generalizability,
    pool_variances,
    variance,
    variance_components,
)

__all__ = [
    "Design",
    "Plan",
    "VarianceComponents",
    "VarianceEstimate",
    "design_curve",
    "design_table",
    "generalizability",
    "plan_budget",
    "plan_equivalence",
    "plan_loop",
    "plan_pools",
    "plan_repeats",
    "plan_shards",
    "pool_variances",
    "reach_curve",
    "simulated_power",
    "topics_for_interval",
    "topics_for_power",
    "variance",
    "variance_components",
]
