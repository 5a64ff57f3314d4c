"""Tell retrieval systems apart, and know what you may claim.

Public names are loaded on first use, so that ``import shardwise`` stays fast.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from shardwise.compare.comparisons import Comparisons as Comparisons
    from shardwise.compare.comparisons import compare as compare
    from shardwise.compare.rankings import discriminative_power as discriminative_power
    from shardwise.compare.rankings import kendall_tau as kendall_tau
    from shardwise.compare.rankings import share_significant as share_significant
    from shardwise.compare.rankings import tau_ap as tau_ap
    from shardwise.errors import InputError as InputError
    from shardwise.errors import InputWarning as InputWarning
    from shardwise.measure.names import Measure as Measure
    from shardwise.measure.names import parse_measure as parse_measure
    from shardwise.model.anova import AnovaFit as AnovaFit
    from shardwise.model.anova import anova as anova
    from shardwise.model.bootstrap import BootstrapFit as BootstrapFit
    from shardwise.model.bootstrap import bootstrap_anova as bootstrap_anova
    from shardwise.model.estimates import Estimates as Estimates
    from shardwise.model.mixed import MixedFit as MixedFit
    from shardwise.model.mixed import mixed as mixed
    from shardwise.model.posterior import bambi_model as bambi_model
    from shardwise.model.posterior import posterior as posterior
    from shardwise.model.terms import MD1 as MD1
    from shardwise.model.terms import MD2 as MD2
    from shardwise.model.terms import MD3 as MD3
    from shardwise.model.terms import MD4 as MD4
    from shardwise.model.terms import MD5 as MD5
    from shardwise.model.terms import MD6 as MD6
    from shardwise.model.terms import Model as Model
    from shardwise.plot.agreement import agreement_chart as agreement_chart
    from shardwise.plot.agreement import stability_chart as stability_chart
    from shardwise.plot.agreement import width_chart as width_chart
    from shardwise.plot.calibration import error_rate_chart as error_rate_chart
    from shardwise.plot.calibration import power_chart as power_chart
    from shardwise.plot.components import component_chart as component_chart
    from shardwise.plot.components import posterior_chart as posterior_chart
    from shardwise.plot.design import pool_chart as pool_chart
    from shardwise.plot.design import reach_chart as reach_chart
    from shardwise.plot.design import topics_chart as topics_chart
    from shardwise.plot.design import variance_chart as variance_chart
    from shardwise.plot.effects import density_chart as density_chart
    from shardwise.plot.effects import effect_chart as effect_chart
    from shardwise.plot.intervals import interval_chart as interval_chart
    from shardwise.plot.intervals import save_chart as save_chart
    from shardwise.plot.margins import difference_chart as difference_chart
    from shardwise.plot.margins import margin_chart as margin_chart
    from shardwise.plot.matrix import matrix_chart as matrix_chart
    from shardwise.plot.models import kind_chart as kind_chart
    from shardwise.plot.models import model_chart as model_chart
    from shardwise.plot.p_curves import p_curve_chart as p_curve_chart
    from shardwise.plot.planning import generalizability_chart as generalizability_chart
    from shardwise.plot.planning import instance_plan_chart as instance_plan_chart
    from shardwise.plot.planning import p_spread_chart as p_spread_chart
    from shardwise.plot.planning import reach_of_variance_chart as reach_of_variance_chart
    from shardwise.plot.planning import shard_design_chart as shard_design_chart
    from shardwise.plot.planning import simulated_power_chart as simulated_power_chart
    from shardwise.plot.predict import prediction_chart as prediction_chart
    from shardwise.plot.residuals import residual_chart as residual_chart
    from shardwise.plot.truth import truth_chart as truth_chart
    from shardwise.plot.variance_shares import variance_share_chart as variance_share_chart
    from shardwise.read.collection import Collection as Collection
    from shardwise.read.collection import load_collection as load_collection
    from shardwise.read.instances import InstanceRuns as InstanceRuns
    from shardwise.read.instances import flag_deterministic as flag_deterministic
    from shardwise.read.instances import read_instance_scores as read_instance_scores
    from shardwise.read.instances import read_instances as read_instances
    from shardwise.read.reader import read_collection as read_collection
    from shardwise.read.scores import read_scores as read_scores
    from shardwise.read.scores import write_scores as write_scores
    from shardwise.report.build import ReportContent as ReportContent
    from shardwise.report.build import build_report as build_report
    from shardwise.report.embedded import read_report as read_report
    from shardwise.report.html import write_report as write_report
    from shardwise.score.scoring import score as score
    from shardwise.score.undefined import fill_undefined as fill_undefined
    from shardwise.shard.split import split as split
    from shardwise.shard.splits import Splits as Splits
    from shardwise.shard.splits import load_splits as load_splits
    from shardwise.study.calibrate import Calibration as Calibration
    from shardwise.study.calibrate import calibrate as calibrate
    from shardwise.study.design import min_diff_at as min_diff_at
    from shardwise.study.design import power_at as power_at
    from shardwise.study.design import topics_for_interval as topics_for_interval
    from shardwise.study.design import topics_for_power as topics_for_power
    from shardwise.study.design import width_at as width_at
    from shardwise.study.design_shards import ShardComponents as ShardComponents
    from shardwise.study.design_shards import ShardDesign as ShardDesign
    from shardwise.study.design_shards import design_for_shards as design_for_shards
    from shardwise.study.design_shards import shard_components as shard_components
    from shardwise.study.design_simulated import SimulatedPower as SimulatedPower
    from shardwise.study.design_simulated import simulated_power as simulated_power
    from shardwise.study.design_tables import design_curve as design_curve
    from shardwise.study.design_tables import design_table as design_table
    from shardwise.study.design_tables import reach_curve as reach_curve
    from shardwise.study.equivalence import Equivalence as Equivalence
    from shardwise.study.equivalence import SettingSeries as SettingSeries
    from shardwise.study.equivalence import equivalence as equivalence
    from shardwise.study.equivalence import posterior_probability as posterior_probability
    from shardwise.study.equivalence import smallest_setting as smallest_setting
    from shardwise.study.generalizability import Generalizability as Generalizability
    from shardwise.study.generalizability import generalizability as generalizability
    from shardwise.study.instance_planning import InstanceComponents as InstanceComponents
    from shardwise.study.instance_planning import instance_components as instance_components
    from shardwise.study.instance_planning import p_value_spread as p_value_spread
    from shardwise.study.instance_planning import plan_budget as plan_budget
    from shardwise.study.instance_planning import plan_instances as plan_instances
    from shardwise.study.instance_planning import variance_grid as variance_grid
    from shardwise.study.instances import InstanceComparison as InstanceComparison
    from shardwise.study.instances import compare_instances as compare_instances
    from shardwise.study.instances import single_instance_tests as single_instance_tests
    from shardwise.study.paired import paired_tests as paired_tests
    from shardwise.study.pools import PoolStudy as PoolStudy
    from shardwise.study.pools import pool_depth_study as pool_depth_study
    from shardwise.study.pools import pool_qrels as pool_qrels
    from shardwise.study.predict import PredictiveCheck as PredictiveCheck
    from shardwise.study.predict import across_collections as across_collections
    from shardwise.study.predict import split_half as split_half
    from shardwise.study.presets_j15 import j15_preset as j15_preset
    from shardwise.study.presets_j15 import j15_world as j15_world
    from shardwise.study.procedures import Procedure as Procedure
    from shardwise.study.procedures import parse_procedure as parse_procedure
    from shardwise.study.procedures import procedures as procedures
    from shardwise.study.related import WithinAcross as WithinAcross
    from shardwise.study.related import within_across as within_across
    from shardwise.study.score_components import ScoreComponents as ScoreComponents
    from shardwise.study.score_components import score_components as score_components
    from shardwise.study.simulate_collection import SimulatedCollection as SimulatedCollection
    from shardwise.study.simulate_collection import simulate_collection as simulate_collection
    from shardwise.study.simulate_scores import simulate_scores as simulate_scores
    from shardwise.study.split_tables import agreement_matrix as agreement_matrix
    from shardwise.study.split_tables import agreement_over_splits as agreement_over_splits
    from shardwise.study.split_tables import found_over_splits as found_over_splits
    from shardwise.study.split_tables import summary_over_splits as summary_over_splits
    from shardwise.study.splits import combined_p as combined_p
    from shardwise.study.splits import majority as majority
    from shardwise.study.splits import over_splits as over_splits
    from shardwise.study.splits import unanimous as unanimous
    from shardwise.study.splits import voorhees_bh as voorhees_bh
    from shardwise.study.stability import Stability as Stability
    from shardwise.study.stability import agreement as agreement
    from shardwise.study.stability import stability as stability
    from shardwise.study.stability import stability_of as stability_of
    from shardwise.study.stability import stability_of_fills as stability_of_fills
    from shardwise.study.stability import stability_of_methods as stability_of_methods
    from shardwise.study.variance import VarianceEstimate as VarianceEstimate
    from shardwise.study.variance import pool_variances as pool_variances
    from shardwise.study.variance import variance as variance
    from shardwise.study.variance import variance_table as variance_table
    from shardwise.study.verdict import Verdict as Verdict

_HOMES = {
    "read_collection": "read.reader",
    "Collection": "read.collection",
    "load_collection": "read.collection",
    "read_scores": "read.scores",
    "write_scores": "read.scores",
    "split": "shard.split",
    "Splits": "shard.splits",
    "load_splits": "shard.splits",
    "Measure": "measure.names",
    "parse_measure": "measure.names",
    "score": "score.scoring",
    "fill_undefined": "score.undefined",
    "Model": "model.terms",
    "MD1": "model.terms",
    "MD2": "model.terms",
    "MD3": "model.terms",
    "MD4": "model.terms",
    "MD5": "model.terms",
    "MD6": "model.terms",
    "AnovaFit": "model.anova",
    "anova": "model.anova",
    "Estimates": "model.estimates",
    "BootstrapFit": "model.bootstrap",
    "bootstrap_anova": "model.bootstrap",
    "Comparisons": "compare.comparisons",
    "compare": "compare.comparisons",
    "kendall_tau": "compare.rankings",
    "tau_ap": "compare.rankings",
    "discriminative_power": "compare.rankings",
    "share_significant": "compare.rankings",
    "paired_tests": "study.paired",
    "SimulatedCollection": "study.simulate_collection",
    "simulate_collection": "study.simulate_collection",
    "over_splits": "study.splits",
    "unanimous": "study.splits",
    "majority": "study.splits",
    "combined_p": "study.splits",
    "voorhees_bh": "study.splits",
    "agreement_over_splits": "study.split_tables",
    "agreement_matrix": "study.split_tables",
    "found_over_splits": "study.split_tables",
    "summary_over_splits": "study.split_tables",
    "Stability": "study.stability",
    "stability": "study.stability",
    "stability_of": "study.stability",
    "agreement": "study.stability",
    "stability_of_fills": "study.stability",
    "stability_of_methods": "study.stability",
    "WithinAcross": "study.related",
    "within_across": "study.related",
    "VarianceEstimate": "study.variance",
    "variance": "study.variance",
    "pool_variances": "study.variance",
    "variance_table": "study.variance",
    "topics_for_power": "study.design",
    "power_at": "study.design",
    "min_diff_at": "study.design",
    "topics_for_interval": "study.design",
    "width_at": "study.design",
    "design_table": "study.design_tables",
    "design_curve": "study.design_tables",
    "reach_curve": "study.design_tables",
    "SimulatedPower": "study.design_simulated",
    "simulated_power": "study.design_simulated",
    "ShardComponents": "study.design_shards",
    "ShardDesign": "study.design_shards",
    "design_for_shards": "study.design_shards",
    "shard_components": "study.design_shards",
    "PoolStudy": "study.pools",
    "pool_depth_study": "study.pools",
    "pool_qrels": "study.pools",
    "Generalizability": "study.generalizability",
    "generalizability": "study.generalizability",
    "interval_chart": "plot.intervals",
    "pool_chart": "plot.design",
    "reach_chart": "plot.design",
    "topics_chart": "plot.design",
    "variance_chart": "plot.design",
    "save_chart": "plot.intervals",
    "MixedFit": "model.mixed",
    "mixed": "model.mixed",
    "bambi_model": "model.posterior",
    "posterior": "model.posterior",
    "InstanceComparison": "study.instances",
    "compare_instances": "study.instances",
    "single_instance_tests": "study.instances",
    "Equivalence": "study.equivalence",
    "SettingSeries": "study.equivalence",
    "equivalence": "study.equivalence",
    "posterior_probability": "study.equivalence",
    "smallest_setting": "study.equivalence",
    "InstanceComponents": "study.instance_planning",
    "instance_components": "study.instance_planning",
    "p_value_spread": "study.instance_planning",
    "plan_budget": "study.instance_planning",
    "plan_instances": "study.instance_planning",
    "variance_grid": "study.instance_planning",
    "InstanceRuns": "read.instances",
    "flag_deterministic": "read.instances",
    "read_instance_scores": "read.instances",
    "read_instances": "read.instances",
    "write_report": "report.html",
    "ReportContent": "report.build",
    "build_report": "report.build",
    "variance_share_chart": "plot.variance_shares",
    "residual_chart": "plot.residuals",
    "p_curve_chart": "plot.p_curves",
    "matrix_chart": "plot.matrix",
    "calibrate": "study.calibrate",
    "Calibration": "study.calibrate",
    "Verdict": "study.verdict",
    "procedures": "study.procedures",
    "simulate_scores": "study.simulate_scores",
    "ScoreComponents": "study.score_components",
    "score_components": "study.score_components",
    "split_half": "study.predict",
    "across_collections": "study.predict",
    "PredictiveCheck": "study.predict",
    "prediction_chart": "plot.predict",
    "j15_preset": "study.presets_j15",
    "j15_world": "study.presets_j15",
    "model_chart": "plot.models",
    "kind_chart": "plot.models",
    "effect_chart": "plot.effects",
    "density_chart": "plot.effects",
    "agreement_chart": "plot.agreement",
    "stability_chart": "plot.agreement",
    "width_chart": "plot.agreement",
    "margin_chart": "plot.margins",
    "difference_chart": "plot.margins",
    "p_spread_chart": "plot.planning",
    "simulated_power_chart": "plot.planning",
    "shard_design_chart": "plot.planning",
    "generalizability_chart": "plot.planning",
    "instance_plan_chart": "plot.planning",
    "reach_of_variance_chart": "plot.planning",
    "component_chart": "plot.components",
    "posterior_chart": "plot.components",
    "error_rate_chart": "plot.calibration",
    "power_chart": "plot.calibration",
    "truth_chart": "plot.truth",
    "Procedure": "study.procedures",
    "parse_procedure": "study.procedures",
    "read_report": "report.embedded",
    "InputError": "errors",
    "InputWarning": "errors",
}

__all__ = sorted([*_HOMES, "__version__"])


class _Package(ModuleType):
    """Keeps ``shardwise.score`` and ``shardwise.compare`` the functions, whatever was imported before.

    Importing a part would otherwise put the module of that name in their place.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _HOMES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(importlib.import_module(f"shardwise.{_HOMES[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'shardwise' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
