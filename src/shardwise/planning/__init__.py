"""How many topics, shards, seeds and judgments: designs, and what they reach and cost; loaded on first use."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "design": ["Design", "topics_for_interval", "topics_for_power"],
        "plans": [
            "Plan",
            "design_curve",
            "design_table",
            "plan_budget",
            "plan_equivalence",
            "plan_loop",
            "plan_repeats",
            "plan_shards",
            "reach_curve",
        ],
        "pools": ["plan_pools"],
        "simulated": ["simulated_power"],
        "variances": [
            "VarianceComponents",
            "VarianceEstimate",
            "generalizability",
            "pool_variances",
            "variance",
            "variance_components",
        ],
    },
)
