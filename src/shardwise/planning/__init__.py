"""How many topics, shards, seeds and judgments: designs, and what they can reach."""

from __future__ import annotations

from shardwise.core.variance_components import VarianceComponents as VarianceComponents
from shardwise.planning.components import variance_components as variance_components
from shardwise.planning.generalizing import Generalizability as Generalizability
from shardwise.planning.generalizing import generalizability as generalizability
from shardwise.planning.instances import BudgetPlan as BudgetPlan
from shardwise.planning.instances import plan_budget as plan_budget
from shardwise.planning.instances import plan_equivalence as plan_equivalence
from shardwise.planning.instances import plan_instances as plan_instances
from shardwise.planning.instances import variance_grid as variance_grid
from shardwise.planning.instances import what_next as what_next
from shardwise.planning.pools import PoolStudy as PoolStudy
from shardwise.planning.pools import pool_depth_study as pool_depth_study
from shardwise.planning.pools import pool_qrels as pool_qrels
from shardwise.planning.shards import ShardDesign as ShardDesign
from shardwise.planning.shards import design_for_shards as design_for_shards
from shardwise.planning.simulated import SimulatedPower as SimulatedPower
from shardwise.planning.simulated import simulated_power as simulated_power
from shardwise.planning.tables import design_curve as design_curve
from shardwise.planning.tables import design_table as design_table
from shardwise.planning.tables import reach_curve as reach_curve
from shardwise.planning.topics import min_diff_at as min_diff_at
from shardwise.planning.topics import power_at as power_at
from shardwise.planning.topics import topics_for_interval as topics_for_interval
from shardwise.planning.topics import topics_for_power as topics_for_power
from shardwise.planning.topics import width_at as width_at
from shardwise.planning.variances import VarianceEstimate as VarianceEstimate
from shardwise.planning.variances import pool_variances as pool_variances
from shardwise.planning.variances import variance as variance
from shardwise.planning.variances import variance_table as variance_table

__all__ = [
    "BudgetPlan",
    "Generalizability",
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
    "plan_instances",
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
    "variance_grid",
    "variance_table",
    "what_next",
    "width_at",
]
