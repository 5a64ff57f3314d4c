"""Frozen figures that are no table of pairs: fits, statements, gates, plans, calibration, stability, scores, commands.

Each function returns what the public interface gives, for one name; `flatten` makes columns of it.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import tempfile
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import xarray as xr

import shardwise as sw
from gold.frozen.stored_tables import TABLES, load_people, load_table, load_votes
from shardwise.cli.main import main as run_command
from shardwise.planning.plans import design_curve, reach_curve

MANY_SYSTEMS = Path(__file__).parents[3] / "src" / "shardwise" / "app" / "examples" / "adhoc3_ap.csv"
RESAMPLES = 99
Figure = Callable[[int], Any]
"""A function of the seed."""


def flatten(value: Any, prefix: str = "") -> dict[str, list[Any]]:
    """Return anything with numbers and words as columns, lists of plain values."""
    start = f"{prefix}." if prefix else ""
    if isinstance(value, sw.Comparisons):
        return flatten(value.to_frame(), prefix)
    if isinstance(value, xr.Dataset):
        return flatten({str(name): value[name] for name in value.data_vars}, prefix)
    if isinstance(value, pd.Series):
        value = value.to_frame("value")
    if isinstance(value, pd.DataFrame):
        named = value if isinstance(value.index, pd.RangeIndex) else value.reset_index()
        return {f"{start}{name}": as_list(named[name]) for name in named.columns}
    if isinstance(value, Mapping):
        columns: dict[str, list[Any]] = {}
        for name, part in value.items():
            columns |= flatten(part, f"{start}{name}")
        return columns
    return {prefix or "value": as_list(value)}


def as_list(values: Any) -> list[Any]:
    """Return plain numbers and words of an array, a column or a single value."""
    array = np.ravel(np.asarray(values))
    return [make_plain(x) for x in array.tolist()]


def make_plain(value: Any) -> Any:
    """Return a number, a truth value or a word."""
    return value if isinstance(value, bool | int | float) or value is None else str(value)


def list_fits() -> dict[str, Figure]:
    """Return analyses of variance, bootstraps, mixed models and moments, with comparisons of them."""
    figures: dict[str, Figure] = {}
    for name in ("MD1", "MD2", "MD3", "MD4", "MD5", "MD6"):
        for table in ("plain", "gaps") if name == "MD1" else ("shards", "shards-gaps"):
            figures[f"anova {name} {table}"] = partial(fit_anova, name, table)
        if name not in {"MD4", "MD5"}:
            for null, tails in (("difference", 2), ("marginal", 1), ("marginal", 2)):
                figures[f"banova {name} {null} {tails}"] = partial(fit_bootstrap, name, null, tails)
    for design in ("nested", "crossed"):
        figures[f"mixed {design}"] = partial(fit_mixed, design)
    figures["mixed random shard"] = lambda seed: describe_mixed(
        sw.mixed(load_table("shards"), random=["topic", "shard"])
    )
    for method in ("moderated", "t holm", "t none", "MD1 hsd"):
        figures[f"moments {method}"] = partial(compare_moments, method)
    for test in (
        "t",
        "unpaired-t",
        "wilcoxon",
        "sign",
        "mcnemar",
        "randomization",
        "bootstrap",
        "tukey",
        "max-t",
    ):
        figures[f"paired_tests {test}"] = partial(run_paired_test, test, "two-sided")
    for test in ("t", "unpaired-t", "randomization"):
        figures[f"paired_tests {test} greater"] = partial(run_paired_test, test, "greater")
    for method in ("bootstrap", "t-means", "t-single"):
        figures[f"compare_instances {method}"] = partial(compare_instances, method)
    for design in ("unified", "nested", "crossed", "paper"):
        figures[f"compare_instances mixed {design}"] = partial(compare_instances, "mixed", design=design)
    return figures


def fit_anova(model: str, table: str, seed: int) -> Any:
    """Return the table of an analysis of variance, and comparisons by several corrections and claims."""
    fit = sw.anova(load_table(table), getattr(sw, model))
    return {
        "table": fit.table,
        **{method: sw.compare(fit, method=method) for method in ("hsd", "scheffe", "holm", "bh", "none")},
        "dunnett": sw.compare(fit, method="dunnett", baseline="C"),
    }


def fit_bootstrap(model: str, null: str, tails: int, seed: int) -> Any:
    """Return comparisons of a bootstrap by one null distribution."""
    table = load_table("plain" if model == "MD1" else "shards")
    fit = sw.bootstrap_anova(table, getattr(sw, model), n_resamples=RESAMPLES, seed=seed)
    return {
        **{
            method: sw.compare(fit, method=method, null=null, tails=tails)
            for method in ("none", "bh", "holm")
        },
        "intervals": fit.intervals(),
    }


def fit_mixed(design: str, seed: int) -> Any:
    """Return a mixed model of two systems with seeds."""
    table = load_table("seeds").sel(system=["A", "B"])
    return describe_mixed(sw.mixed(table, design=design))


def describe_mixed(fit: Any) -> Any:
    """Return components, likelihood, means and comparisons of a mixed model."""
    return {
        "components": fit.variance_components,
        "log_likelihood": fit.log_likelihood,
        "aic": fit.aic,
        "holm": sw.compare(fit, method="holm"),
    }


def compare_moments(method: str, seed: int) -> Any:
    """Return comparisons from moments alone."""
    return sw.compare(sw.ScoreMoments.of(load_table("plain")), method, n_resamples=RESAMPLES, seed=seed)


def run_paired_test(test: str, alternative: str, seed: int) -> Any:
    """Return single tests of all pairs."""
    table = load_table("binary" if test == "mcnemar" else "plain")
    return sw.paired_tests(table, test, alternative=alternative, n_resamples=RESAMPLES, seed=seed)


def compare_instances(method: str, seed: int, **choices: Any) -> Any:
    """Return the comparison of two systems by their seeds."""
    seeds = load_table("seeds")
    return sw.compare_instances(
        seeds.sel(system="A"), seeds.sel(system="B"), method, n_resamples=RESAMPLES, seed=seed, **choices
    )


def list_statements() -> dict[str, Figure]:
    """Return equivalence, contrasts, probabilities, letters, effects, agreement and analyses."""
    figures: dict[str, Figure] = {}
    tables = {
        name: partial(load_table, name)
        for name in ("plain", "gaps", "binary", "clusters", "shards", "seeds", "unpaired")
    }
    tables |= {"votes": load_votes, "people": load_people}
    for name, table in tables.items():
        for side in ("both", "lower", "superior"):
            figures[f"equivalence {side} {name}"] = partial(show_equivalence, table, side)
        figures[f"contrasts {name}"] = partial(show_contrasts, table)
        figures[f"probabilities {name}"] = partial(show_probabilities, table)
        figures[f"levels {name}"] = partial(show_levels, table)
        if name != "votes":
            figures[f"effects {name}"] = partial(show_effects, table)
        figures[f"analyze {name}"] = partial(show_analysis, table)
    figures["ranks"] = show_ranks
    for method in ("interval", "hpd"):
        figures[f"equivalence {method} seeds"] = partial(show_instance_equivalence, method)
    figures["agreement"] = lambda seed: sw.judges.measure_agreement(
        load_people(), n_resamples=RESAMPLES, seed=seed
    )
    for metric in ("nominal", "ordinal", "interval"):
        figures[f"raters {metric}"] = partial(show_raters, metric)
    figures["labels_worth"] = lambda seed: sw.judges.labels_worth(load_people())
    for name in ("seeds", "samples"):
        figures[f"seeds_or_samples {name}"] = partial(show_repeats, name)
    for name in ("pass@1", "pass@3", "pass^2"):
        figures[name] = partial(show_sample_measure, name)
    for name in ("tau_ap", "kendall_tau"):
        figures[name] = partial(show_correlation, name)
    figures["discriminative_power"] = lambda seed: sw.rankings.discriminative_power(
        sw.compare(load_table("plain"), "t holm")
    )
    return figures


def compare_default(table: Callable[[], Any], seed: int) -> sw.Comparisons:
    """Return the comparison that a user gets who names no method."""
    return sw.compare(table(), n_resamples=RESAMPLES, seed=seed)


def show_equivalence(table: Callable[[], Any], side: str, seed: int) -> Any:
    """Return which pairs are equivalent within two margins."""
    pairs = compare_default(table, seed)
    return {str(margin): sw.equivalence(pairs, margin, side).table for margin in (0.05, 0.25)}


def show_instance_equivalence(method: str, seed: int) -> Any:
    """Return the equivalence of two systems by intervals of a mixed model."""
    seeds = load_table("seeds")
    pairs = sw.compare_instances(seeds.sel(system="A"), seeds.sel(system="B"))
    return sw.equivalence(pairs, 0.1, method=method).table


def show_contrasts(table: Callable[[], Any], seed: int) -> Any:
    """Return contrasts of groups and of weights."""
    groups = {"two": (["A", "B"], ["C"]), "weights": {"A": 1.0, "B": -0.5, "C": -0.5}, "pair": (["B"], ["A"])}
    return compare_default(table, seed).contrasts(groups).table


def show_probabilities(table: Callable[[], Any], seed: int) -> Any:
    """Return probabilities of being better, equal and worse."""
    return compare_default(table, seed).probabilities(0.05)


def show_ranks(seed: int) -> Any:
    """Return ranges of ranks of forty systems at several levels."""
    pairs = compare_default(lambda: sw.read_scores(MANY_SYSTEMS), seed)
    levels = (0.8, 0.9, 0.95)
    return {f"all {level}": pairs.ranks(level) for level in levels}


def show_effects(table: Callable[[], Any], seed: int) -> Any:
    """Return standardised differences."""
    return compare_default(table, seed).effect_sizes()


def show_levels(table: Callable[[], Any], seed: int) -> Any:
    """Return letters, and limits, means and significant pairs at other levels."""
    pairs = compare_default(table, seed)
    return {
        "letters": pairs.letters(),
        "wide": pairs.limits(0.99),
        "narrow": pairs.limits(0.8),
        "means": pairs.intervals(0.8),
        "reject": pairs.reject(alpha=0.1),
    }


def show_analysis(table: Callable[[], Any], seed: int) -> Any:
    """Return all results and the leaderboard of an analysis."""
    analysis = sw.analyze(table(), n_resamples=RESAMPLES, seed=seed)
    pairs = analysis.comparisons
    each = pairs if isinstance(pairs, Mapping) else {"all": pairs}
    return {"board": analysis.leaderboard().to_frame(), **{str(claim): part for claim, part in each.items()}}


def show_raters(metric: str, seed: int) -> Any:
    """Return the agreement of four raters."""
    ratings = pd.read_csv(TABLES / "ratings.csv", index_col="item").T
    return sw.judges.measure_raters(ratings, metric=metric)


def show_repeats(name: str, seed: int) -> Any:
    """Return whether repeats look like seeds or samples."""
    result = sw.instances.seeds_or_samples(load_table(name))
    return {
        figure: getattr(result, figure)
        for figure in ("f", "df", "p", "sd", "lower", "upper", "error_sd", "share")
    }


def show_sample_measure(name: str, seed: int) -> Any:
    """Return a measure of samples."""
    return sw.instances.measure_samples(load_table("samples"), name)


def show_correlation(name: str, seed: int) -> Any:
    """Return the correlation of two rankings."""
    means = [dict(zip("ABCD", load_table(t).mean("topic").values, strict=True)) for t in ("gaps", "second")]
    return getattr(sw.rankings, name)(*means)


def list_gates() -> dict[str, Figure]:
    """Return verdicts, at once and in several looks."""
    figures: dict[str, Figure] = {}
    for name in (
        "plain",
        "gaps",
        "binary",
        "clusters",
        "tasks",
        "tasks-clusters",
        "seeds",
        "seeds-clusters",
        "unpaired",
    ):
        for base, new in (("A", "B"), ("B", "A"), ("C", "A")):
            for margin in (0.02, 0.2):
                figures[f"{base} {new} {margin} {name}"] = partial(show_gate, name, base, new, margin=margin)
    for repeats in ("seeds", "samples"):
        figures[f"{repeats} of samples"] = partial(
            show_gate, "samples", "B", "A", margin=0.1, repeats=repeats
        )
    figures["range"] = partial(show_gate, "grades", "C", "B", margin=0.5, range=(1.0, 5.0))
    figures["lower is better"] = partial(show_gate, "plain", "B", "A", margin=0.1, lower_is_better=True)
    figures["several"] = partial(show_gate, "plain", "A", ("B", "C"), margin=0.05)
    figures["alpha and power"] = partial(show_gate, "binary", "B", "C", margin=0.1, alpha=0.1, power=0.95)
    for base, new in (("A", "D"), ("B", "C"), ("D", "A")):
        figures[f"sequential {base} {new}"] = partial(show_looks, base, new)
    return figures


def show_gate(table: str, base: str, new: Any, seed: int, **choices: Any) -> Any:
    """Return verdict, interval and items needed."""
    return sw.gate(base, new, scores=load_table(table), **choices).to_frame()


def show_looks(base: str, new: str, seed: int) -> Any:
    """Return what a sequential gate says after each batch of items, by the command."""
    table = load_table("binary")
    with tempfile.TemporaryDirectory() as folder:
        state, file = f"{folder}/state.json", f"{folder}/scores.csv"
        looks = {}
        for items in (10, 20, 30):
            table.isel(topic=slice(0, items)).to_series().reset_index().to_csv(file, index=False)
            line = ["gate", file, "--baseline", base, "--new", new, "--margin", "0.15", "--sequential", state]
            looks[str(items)] = call_command(*line)
    return looks


def call_command(*line: str) -> Any:
    """Return the rows that a command writes as JSON."""
    written = io.StringIO()
    with (
        mock.patch.object(sys, "argv", ["shardwise", *line, "--format", "json"]),
        contextlib.redirect_stdout(written),
        contextlib.redirect_stderr(io.StringIO()) as errors,
        contextlib.suppress(SystemExit),
    ):
        run_command()
    if not written.getvalue():
        raise sw.InputError(errors.getvalue() or "nothing was written")
    return pd.DataFrame(json.loads(written.getvalue())["rows"])


def list_plans() -> dict[str, Figure]:
    """Return the plans of all functions of `sw.planning`."""
    plan = sw.planning
    figures: dict[str, Figure] = {}
    for method in ("sakai", "moderated", "paired-t", "blocks", None):
        for systems in (2, 5, 20) if method != "paired-t" else (2,):
            name = f"{method} {systems}"
            size = {"systems": systems, "method": method}
            figures[f"topics_for_power {name}"] = partial(
                call_plan, "topics_for_power", variance=0.045, min_diff=[0.05, 0.1, 0.3], power=0.8, **size
            )
            figures[f"power {name}"] = partial(show_design, "power", min_diff=0.1, alpha=0.05, **size)
            figures[f"detectable {name}"] = partial(show_design, "detectable", alpha=0.01, target=0.9, **size)
        if method == "paired-t":
            continue
        measured = {"AP": 0.045, "nDCG": 0.06}
        figures[f"design_table {method}"] = partial(plan_measured, "design_table", measured, method=method)
        figures[f"design_curve {method}"] = partial(
            show_curve, design_curve, measured, systems=(2, 3, 10, 100), method=method
        )
        figures[f"reach_curve {method}"] = partial(
            show_curve, reach_curve, measured, topics=(10, 50, 200), method=method
        )
    figures["topics_for_interval"] = partial(
        call_plan, "topics_for_interval", variance=0.045, width=[0.05, 0.1, 0.3]
    )
    figures["width"] = partial(show_design, "width", alpha=0.01)
    figures["design_table width"] = partial(plan_measured, "design_table", {"AP": 0.045}, width=(0.05, 0.1))
    for method in ("residual", "two-way", "one-way", "percentile95"):
        figures[f"variance {method}"] = partial(show_variance, method)
    figures["pool_variances"] = lambda seed: describe_variance(
        plan.variance(load_table("plain")).pool(plan.variance(load_table("second")))
    )
    for name in ("shards", "seeds"):
        figures[f"variance_components {name}"] = partial(show_components, name)
    figures["generalizability"] = lambda seed: plan.generalizability(load_table("plain")).components.variances
    for claim in (("topic",), ("topic", "shard")):
        for goal in ({"min_diff": 0.1}, {"width": 0.1}):
            figures[f"plan_shards {' '.join(claim)} {next(iter(goal))}"] = partial(
                plan_shards, shards=(1, 2, 5, 10), generalize=claim, **goal
            )
    for kind in ("seeds", "samples"):
        figures[f"plan_repeats {kind}"] = partial(plan_repeats, kind)
        figures[f"plan_budget {kind}"] = partial(plan_answers, kind)
    figures["plan_budget"] = lambda seed: plan.plan_budget(
        load_pair(), 4000.0, kind="seeds", repeat_cost=50.0, topic_cost=5.0, most_repeats=200
    ).nsmallest(1, "half_width")
    figures["plan_equivalence"] = lambda seed: plan.plan_equivalence(sw.mixed(load_pair()), margin=0.1)
    figures["simulated_power"] = lambda seed: (
        plan.simulated_power(
            load_table("plain"), topics=(10, 30), min_diff=0.1, repetitions=60, seed=seed
        ).table
    )
    figures["plan_pools judgments"] = lambda seed: (
        plan.plan_pools(load_collection(), (2, 5, 10), judgments=400, systems=2).table
    )
    figures["plan_pools"] = lambda seed: plan.plan_pools(load_collection(), (2, 5, 10)).table
    return figures


def call_plan(name: str, seed: int, **choices: Any) -> Any:
    """Return the answer of a function of sizes."""
    return getattr(sw.planning, name)(**choices)


def show_design(figure: str, seed: int, **choices: Any) -> Any:
    """Return what designs of several numbers of topics reach."""
    return getattr(sw.planning.Design(0.045, [10, 50, 200], **choices), figure)


def show_curve(draw: Callable[..., Any], variances: Mapping[str, float], seed: int, **choices: Any) -> Any:
    """Return a curve of designs."""
    return draw(variances, **choices)


def plan_measured(name: str, variances: Mapping[str, float], seed: int, **choices: Any) -> Any:
    """Return the plan of a table of variances."""
    return getattr(sw.planning, name)(variances, **choices)


def show_variance(method: str, seed: int) -> Any:
    """Return the variance of two tables."""
    return {
        name: describe_variance(sw.planning.variance(load_table(name), method))
        for name in ("plain", "second")
    }


def describe_variance(estimate: Any) -> Any:
    """Return the figures of a variance."""
    return {"sigma_sq": estimate.sigma_sq, "df": estimate.df, "effective_df": estimate.effective_df}


def show_components(name: str, seed: int) -> Any:
    """Return variance components of scores, or of a mixed model."""
    source = sw.mixed(load_pair()) if name == "seeds" else load_table(name)
    return sw.planning.variance_components(source).variances


def plan_shards(seed: int, **choices: Any) -> Any:
    """Return topics needed by the number of shards."""
    return sw.planning.plan_shards(load_table("shards"), **choices).table


def plan_repeats(kind: str, seed: int) -> Any:
    """Return how many more items or repeats are needed."""
    return sw.planning.plan_repeats(load_table("seeds"), min_diff=0.05, kind=kind).to_frame()


def plan_answers(kind: str, seed: int) -> Any:
    """Return how to spend a number of answers."""
    return sw.planning.plan_budget(load_table("seeds"), 2000, kind=kind, topic_cost=1.0)


def read_fields(record: Any) -> dict[str, Any]:
    """Return the numbers of a record."""
    return {
        name: getattr(record, name)
        for name in record.__dataclass_fields__
        if is_figure(getattr(record, name))
    }


def is_figure(value: Any) -> bool:
    """Return whether a field is a number."""
    return isinstance(value, int | float)


def load_pair() -> xr.DataArray:
    """Return two systems with seeds."""
    return load_table("seeds").sel(system=["A", "B"])


def list_lab() -> dict[str, Figure]:
    """Return small calibrations, checks of statements and held-out halves."""
    figures: dict[str, Figure] = {
        "calibrate plain": partial(
            show_calibration, "plain", ("moderated", "t holm", "MD1 hsd topic", "t bh")
        ),
        "calibrate shards": partial(show_calibration, "shards", ("MD6 hsd topic", "moderated")),
        "calibrate seeds": partial(show_calibration, "seeds", ("unified holm", "moderated topic+instance")),
    }
    figures["check_statements"] = lambda seed: (
        sw.simulate.check_statements(load_table("plain"), repetitions=20, seed=seed).table
    )
    figures["split_half"] = lambda seed: (
        sw.holdout.split_half(load_table("plain"), ("t holm", "MD1 hsd topic"), repeats=5, seed=seed).table
    )
    figures["across_collections"] = lambda seed: (
        sw.holdout.across_collections(
            load_table("plain"), load_table("second"), ("t holm", "t none"), seed=seed
        ).table
    )
    figures["p_value_spread"] = lambda seed: sw.instances.p_value_spread(
        load_table("seeds").sel(system="A"),
        load_table("seeds").sel(system="B"),
        (2, 3),
        repeats=10,
        seed=seed,
    )
    return figures


def show_calibration(table: str, methods: tuple[str, ...], seed: int) -> Any:
    """Return error rates and power of a few simulated tables."""
    return sw.calibrate(load_table(table), list(methods), repetitions=12, seed=seed, jobs=1).table


def list_stability() -> dict[str, Figure]:
    """Return how far splits agree, and what they say together."""
    figures: dict[str, Figure] = {}
    stability = sw.stability
    for how in ("quantile", "harmonic", "cauchy"):
        figures[f"combined_p {how}"] = partial(combine_splits, how)
    for name in (
        "majority",
        "unanimous",
        "agreement_matrix",
        "agreement_over_splits",
        "found_over_splits",
        "summary_over_splits",
    ):
        figures[name] = partial(call_over_splits, name)
    figures["agreement"] = lambda seed: stability.agreement(*load_splits()[:2])
    figures["split_noise"] = lambda seed: read_fields(stability.split_noise(load_splits()))
    for model in ("MD2", "MD3", "MD6"):
        figures[f"between_splits {model}"] = partial(show_between_splits, model)
    figures["between_fills"] = lambda seed: stability.between_fills(
        load_table("splits").where(load_table("splits")["topic"] != "q3", other=np.nan), sw.MD3
    )
    figures["between_methods"] = lambda seed: stability.between_methods(load_table("splits"), sw.MD3)
    figures["voorhees_bh"] = lambda seed: stability.voorhees_bh(
        sw.compare(sw.anova(load_table("shards"), sw.MD3), "none")
    )
    return figures


@cache
def load_splits() -> tuple[sw.Comparisons, ...]:
    """Return comparisons of every split."""
    return sw.stability.over_splits(load_table("splits"), sw.MD6, "holm")


def combine_splits(how: str, seed: int) -> Any:
    """Return comparisons by combined p-values."""
    return sw.stability.combined_p(load_splits(), how)


def call_over_splits(name: str, seed: int) -> Any:
    """Return a conclusion from all splits."""
    return getattr(sw.stability, name)(load_splits())


def show_between_splits(model: str, seed: int) -> Any:
    """Return agreement between splits."""
    return sw.stability.between_splits(load_table("splits"), getattr(sw, model)).between


MEASURES = (
    *(
        "AP",
        "AP@5",
        "AP(norm='min')@5",
        "AP(rel=2)",
        "P@5",
        "P(rel=2)@5",
        "R@5",
        "RR",
        "RR@5",
        "nDCG",
        "nDCG@5",
    ),
    *(
        "nDCG(dcg='exp-log2')@5",
        "nDCG(base=2)@5",
        "DCG",
        "DCG@5",
        "RBP",
        "RBP@5",
        "RBP(p=0.5)",
        "RBP(p=0.9,scale='topic')",
    ),
    *(
        "ERR",
        "ERR@5",
        "ERR(max_rel=3)",
        "nERR",
        "nERR@5",
        "Q",
        "Q@5",
        "Q(beta=10)",
        "infAP",
        "Bpref",
        "Rprec",
        "Success",
    ),
    *(
        "Success@5",
        "RelP@5",
        "RprecMult",
        "RprecMult(times=2)",
        "IPrec@0.1",
        "IPrec(reach='nearest')@0.5",
        "IAP",
        "GMAP",
    ),
    *(
        "GMBpref",
        "F@5",
        "F(beta=2)@5",
        "BinG",
        "G",
        "nDCGrel",
        "RnDCG",
        "RBPresidual",
        "Compat",
        "Compat(normalize=False)",
    ),
    *(
        "Accuracy",
        "Accuracy@5",
        "O_measure",
        "P_measure",
        "P_plus",
        "NCU",
        "INST(max_rel=3)",
        "INSQ(max_rel=3)",
    ),
    *("BPM(max_rel=3)", "BPM(max_rel=3)@5", "SDCG(max_rel=3)@5", "NERR8(max_rel=3)@5", "NERR9(max_rel=3)@5"),
    *(
        "NERR10(max_rel=3)",
        "NERR11(max_rel=3)",
        "CWL(user='P',max_rel=3)@5",
        "SetP",
        "SetF",
        "SetAP",
        "SetRelP",
        "Utility",
    ),
    *(
        "SetR",
        "Judged@5",
        "Unjudged@5",
        "NumQ",
        "NumRet",
        "NumRelRet",
        "NumRelRet@5",
        "NumRel",
        "NumNonRelRet",
    ),
    *("AP(judged_only=True)", "nDCG(judged_only=True)@5"),
)
DIVERSE = ("alpha_nDCG@5", "ERR_IA@5", "nERR_IA@5", "alpha_DCG@5", "NRBP", "nNRBP", "AP_IA", "P_IA@5", "JudgeAP",
           "JudgeP@5", "JudgeRprecMult", "StRecall@5", "D_nDCG@5", "Dsharp_nDCG@5")  # fmt: skip
SAMPLED = ("xinfAP", "infNDCG", "infP@5", "infIPrec@0.1", "infNumRel", "infNumRelRet")
PROGRAMS = ("trec_eval-10", "trec_eval-9", "ranx")


def list_scores() -> dict[str, Figure]:
    """Return the scores of all measures, by topics, by shards and by the conventions of other programs."""
    figures: dict[str, Figure] = {measure: partial(score_runs, measure) for measure in MEASURES}
    figures |= {measure: partial(score_runs, measure, qrels="qrels-subtopics.txt") for measure in DIVERSE}
    figures |= {measure: partial(score_runs, measure, qrels="qrels-strata.txt") for measure in SAMPLED}
    for program in PROGRAMS:
        for measure in ("AP", "nDCG@5", "RR"):
            figures[f"{measure} like {program}"] = partial(score_runs, measure, like=program)
    for measure in ("AP", "nDCG@5", "P@5"):
        figures[f"{measure} by shards"] = partial(score_shards, measure)
    return figures


@cache
def load_collection(qrels: str = "qrels.txt", like: str = "default") -> sw.Collection:
    """Return the stored runs with judgments, of documents, of subtopics or sampled in strata."""
    files = sorted((TABLES / "runs").iterdir())
    return sw.read_collection(files, TABLES / qrels, like=like, subtopics=qrels == "qrels-subtopics.txt")


def score_runs(measure: str, seed: int, **source: str) -> Any:
    """Return scores by topic and system."""
    return sw.score(load_collection(**source), [measure])


def score_shards(measure: str, seed: int) -> Any:
    """Return scores by shard of one split, drawn by a fixed seed."""
    collection = load_collection()
    splits = sw.split(collection, 2, kind="even", n_splits=1, seed=1)
    return sw.score(collection, [measure], splits=splits)


def list_commands() -> dict[str, Figure]:
    """Return what commands write as JSON, where the library has no function for it."""
    tables = {name: str(TABLES / f"{name}.csv") for name in ("plain", "second", "seeds", "unpaired", "votes")}
    qrels, runs = str(TABLES / "qrels.txt"), [str(path) for path in sorted((TABLES / "runs").iterdir())]
    lines = {
        "covariate": [
            "compare",
            tables["unpaired"],
            "-m",
            "score",
            "--columns",
            "item=topic,system=system,pre=before",
        ],
        "compare": ["compare", tables["plain"], "--method", "t holm"],
        "compare hsd": ["compare", tables["plain"], "--method", "hsd"],
        "leaderboard": ["leaderboard", tables["plain"], "--method", "t holm"],
        "leaderboard votes": ["leaderboard", tables["votes"], "--method", "bradley-terry holm"],
        "gate": ["gate", tables["plain"], "--baseline", "A", "--new", "B", "--margin", "0.1"],
        "design power": ["design", "power", tables["plain"], "--min-diff", "0.05", "--min-diff", "0.1"],
        "design power topics": ["design", "power", tables["plain"], "--topics", "20", "--topics", "50"],
        "design power variance": [
            "design",
            "power",
            "--variance",
            "0.045",
            "--systems",
            "10",
            "--method",
            "sakai",
        ],
        "design interval": ["design", "interval", tables["plain"], "--width", "0.1"],
        "design table": ["design", "table", "--variance", "AP=0.045"],
        "design pools": ["design", "pools", qrels, *runs, "--pool", "2", "--pool", "5"],
        "design budget": [
            "design",
            "budget",
            qrels,
            *runs,
            "--budget",
            "400",
            "--pool",
            "2",
            "--pool",
            "5",
        ],
        "design repeats": ["design", "repeats", tables["seeds"], "--min-diff", "0.05"],
        "design equivalence": ["design", "equivalence", tables["seeds"], "--margin", "0.1"],
        "score": ["score", qrels, *runs, "-m", "AP", "-m", "nDCG@5"],
    }
    return {name: partial(run_line, line) for name, line in lines.items()}


def run_line(line: list[str], seed: int) -> Any:
    """Return the numbers that a command writes."""
    return call_command(*line)
