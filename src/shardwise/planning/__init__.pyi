"""How many topics, shards, seeds and judgments: designs, and what they reach and cost."""

from shardwise.core.variance_components import VarianceComponents
from shardwise.planning.design import Design, topics_for_interval, topics_for_power
from shardwise.planning.plans import (
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
from shardwise.planning.pools import plan_pools
from shardwise.planning.simulated import simulated_power
from shardwise.planning.variances import (
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
