"""Collections and scores whose truth is known."""

from __future__ import annotations

from shardwise.lab.calibrate import judge as judge
from shardwise.lab.scenarios.base import Scenario as Scenario
from shardwise.lab.scenarios.j15 import j15_scenario as j15_scenario
from shardwise.lab.simulate_collection import SimulatedCollection as SimulatedCollection
from shardwise.lab.simulate_collection import simulate_collection as collection
from shardwise.lab.simulate_scores import simulate_scores as scores
from shardwise.lab.statements import StatementCheck as StatementCheck
from shardwise.lab.statements import check_statements as check_statements
from shardwise.lab.trial import ScenarioKind as ScenarioKind
from shardwise.lab.trial import p_values as p_values
from shardwise.lab.trial import register_scenario as register_scenario

__all__ = [
    "Scenario",
    "ScenarioKind",
    "SimulatedCollection",
    "StatementCheck",
    "check_statements",
    "collection",
    "j15_scenario",
    "judge",
    "p_values",
    "register_scenario",
    "scores",
]
