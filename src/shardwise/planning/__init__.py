"""How many topics, shards, seeds and judgments: designs, and what they can reach; loaded on first use."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "components": ["VarianceComponents", "variance_components"],
        "generalizing": ["Generalizability", "generalizability"],
        "instances": ["BudgetPlan", "plan_budget", "plan_equivalence"],
        "judgments": ["JudgmentPlan", "plan_judgments"],
        "pools": ["PoolStudy", "pool_depth_study", "pool_qrels"],
        "repeats": ["RepeatPlan", "plan_answers", "plan_repeats", "repeat_components"],
        "shards": ["ShardDesign", "design_for_shards"],
        "simulated": ["SimulatedPower", "simulated_power"],
        "tables": ["design_curve", "design_table", "reach_curve"],
        "topics": ["min_diff_at", "power_at", "topics_for_interval", "topics_for_power", "width_at"],
        "variances": ["VarianceEstimate", "pool_variances", "variance", "variance_table"],
    },
)
