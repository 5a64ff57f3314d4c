"""Systems that give another result each time: reading, testing and judging their instances (J15)."""

from __future__ import annotations

from shardwise.comparing.equivalence import SettingSeries as SettingSeries
from shardwise.comparing.equivalence import posterior_probability as posterior_probability
from shardwise.comparing.equivalence import smallest_setting as smallest_setting
from shardwise.comparing.instances import single_instance_tests as single_instance_tests
from shardwise.io.instances import InstanceRuns as InstanceRuns
from shardwise.io.instances import flag_deterministic as flag_deterministic
from shardwise.io.instances import read_instance_scores as read_instance_scores
from shardwise.io.instances import read_instances as read_instances
from shardwise.methods.mixed.posterior import posterior as posterior
from shardwise.methods.repeats.unified import Repeats as Repeats
from shardwise.methods.repeats.unified import seeds_or_samples as seeds_or_samples
from shardwise.planning.plans import p_value_spread as p_value_spread
from shardwise.scoring.samples import measure_samples as measure_samples

__all__ = [
    "InstanceRuns",
    "Repeats",
    "SettingSeries",
    "flag_deterministic",
    "measure_samples",
    "p_value_spread",
    "posterior",
    "posterior_probability",
    "read_instance_scores",
    "read_instances",
    "seeds_or_samples",
    "single_instance_tests",
    "smallest_setting",
]
