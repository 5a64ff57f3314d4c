"""How many topics, shards, seeds and judgments: designs, and what they can reach."""

from shardwise.core.variance_components import VarianceComponents
from shardwise.planning.components import variance_components
from shardwise.planning.generalizing import Generalizability, generalizability
from shardwise.planning.instances import BudgetPlan, plan_budget, plan_equivalence
from shardwise.planning.judgments import JudgmentPlan, plan_judgments
from shardwise.planning.pools import PoolStudy, pool_depth_study, pool_qrels
from shardwise.planning.shards import ShardDesign, design_for_shards
from shardwise.planning.simulated import SimulatedPower, simulated_power
from shardwise.planning.tables import design_curve, design_table, reach_curve
from shardwise.planning.topics import min_diff_at, power_at, topics_for_interval, topics_for_power, width_at
from shardwise.planning.variances import VarianceEstimate, pool_variances, variance, variance_table

__all__ = [
    "BudgetPlan",
    "Generalizability",
    "JudgmentPlan",
    "PoolStudy",
    "ShardDesign",
    "SimulatedPower",
    "VarianceComponents",
    "VarianceEstimate",
    "design_curve",
    "design_for_shards",
    "design_table",
    "generalizability",
    "min_diff_at",
    "plan_budget",
    "plan_equivalence",
    "plan_judgments",
    "pool_depth_study",
    "pool_qrels",
    "pool_variances",
    "power_at",
    "reach_curve",
    "simulated_power",
    "topics_for_interval",
    "topics_for_power",
    "variance",
    "variance_components",
    "variance_table",
    "width_at",
]
