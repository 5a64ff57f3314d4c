"""shardwise calibrate and stability: false alarms and power on data like yours; agreement of other shards."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from shardwise.cli import inputs
from shardwise.cli.analyzing import READ
from shardwise.cli.cluster import on_cluster
from shardwise.cli.options import Format
from shardwise.cli.output import Result, show_progress
from shardwise.cli.parsing import Options
from shardwise.comparing.stability import (
    agreement_over_splits,
    found_over_splits,
    over_splits,
    stability_of,
    stability_of_fills,
    stability_of_methods,
    summary_over_splits,
)
from shardwise.core.arguments import lend_executor, validate_choice
from shardwise.core.claim import pluralize_noun
from shardwise.core.errors import InputError, Option
from shardwise.core.libraries import pd
from shardwise.core.scores import Scores
from shardwise.lab.calibrate import Calibration, calibrate
from shardwise.lab.holdout import split_half
from shardwise.lab.outside import OutsideProcedure, is_outside, parse_outside
from shardwise.lab.statements import DEFAULT, check_statements
from shardwise.methods.names import Procedure, list_procedures
from shardwise.methods.tables import SHARDS, TABLE
from shardwise.scoring.scoring import score
from shardwise.stats.corrections import check_correction

USUAL = ("hsd", "holm", "bh", "none")  # corrections of a model that was named
STATEMENT_TABLES = 400  # simulated to check statements, where no number is asked for
BESIDE = "t holm"  # to compare a named model with


def calibrate_methods(
    options: Options,
    watch: Callable[[Calibration, Mapping[str, str]], None] | None = None,
    *,
    statements: bool = True,
) -> Result:
    """Try methods on simulated tables like the scores, and return how often they err.

    Parameters
    ----------
    options : Options
        Options of the command.
    watch : callable, optional
        Called with the rates while tables are simulated, and with the user's words for dimensions.
    statements : bool
        Whether to check what else is said of the default method, which takes long.
    """
    alpha, seed, quiet = options.alpha, options.seed, options.quiet
    inputs.parse_fill(options.fill)  # refused before the long work
    read = inputs.InputReader(options).check().read_input(one=True)
    scores, gaps = inputs.fill_gaps(read.pick_measure(), options.fill)
    if "split" in scores.dims and scores.sizes["split"] == 1:
        scores = scores.select(split=0)
    chosen = _load_outside(_list_methods(options.model, options.method, scores))
    outside = [method.name for method in chosen or () if isinstance(method, OutsideProcedure)]
    halvings = [name.removeprefix("halves:") for name in options.scenario if name.startswith("halves:")]
    for text in halvings:
        if not text.isdecimal() or not int(text):
            problem = (Option("scenario", f"halves:{text}"), " is not a number of halvings")
            raise InputError(problem, remedy="write for instance halves:20")
    claims = [inputs.parse_dimensions(text) for text in options.generalize] if options.generalize else None
    if halvings and outside:
        problem = (Option("scenario", options.scenario[0]), f" is not for {outside[0]}")
        raise InputError(problem, remedy="leave one of them out")
    # The default method for new topics is tried, on scores whose resampled topics show all that varies.
    default = chosen is None or DEFAULT in chosen
    like = claims is None or ("topic",) in claims
    labelled = scores.clusters is not None or scores.tasks is not None or scores.people is not None
    stated = statements and default and like and scores.dims in (TABLE, SHARDS) and not labelled
    if ("margin" in options.given) and not stated:
        raise InputError(
            (Option("margin"), f" has no effect unless {DEFAULT} is tried for new topics on a plain table"),
            remedy=("remove it, or add ", Option("method", DEFAULT)),
        )
    with on_cluster(options.cluster, quiet) as executor:
        how: dict[str, Any] = {"alpha": alpha, "seed": seed, "jobs": options.jobs, "executor": executor}
        with show_progress("simulating", quiet) as bar:
            lab = calibrate(
                scores,
                chosen,
                claims=claims,
                nulls=[name for name in options.scenario if not name.startswith("halves:")] or None,
                repetitions=options.repetitions,
                budget=options.budget,
                progress=bar,
                watch=None if watch is None else lambda some: watch(some, scores.nouns),
                **how,
            )
        facts = describe_calibration(lab)
        titles, lines = [lab.text(command=True)], [*read.notes, *gaps]
        if outside:
            facts["figures"] = lab.figures.to_dict("records")
            titles.append(lab.figures.to_string(index=False, na_rep="–", float_format="{:.4g}".format))
        if halvings:
            with show_progress(f"halving {pluralize_noun(scores.nouns.get('topic', 'topic'))}", quiet) as bar:
                check = split_half(scores, chosen, repeats=sum(map(int, halvings)), progress=bar, **how)
            facts["halves"] = check.table.reset_index().to_dict("records")
            lines += str(check).splitlines()
        if stated:
            with show_progress("checking statements", quiet):
                checked = check_statements(
                    scores,
                    margin=options.margin,
                    alpha=alpha,
                    repetitions=options.repetitions or STATEMENT_TABLES,
                    seed=seed,
                )
            facts["statements"] = checked.table.to_dict("records")
            titles.append(str(checked))
    table = lab.shown() if options.chosen_format is Format.text else lab.to_frame()
    return Result(
        ("\n\n".join(titles),), table, tuple(lines), facts=facts, chart=lab.plot, source=(lab, scores.nouns)
    )


def _list_methods(model: str, named: list[str], scores: Scores) -> list[str] | None:
    """Names of the methods to try; nothing for the usual ones."""
    if not model:
        return named or None
    dims = tuple(d for d in ("split", "topic", "system", "shard", "instance") if d in scores.dims)
    known = list_procedures(dims)
    short = inputs.parse_model(model).name
    of_model = [name for name in known if name.split()[0] == short and name.split()[1] in USUAL]
    if not of_model:
        raise InputError(
            f"{model} cannot be tried on scores by {', '.join(dims)}",
            remedy="MD1 takes whole collections, MD2 to MD6 take shards (--shards 5)",
        )
    return list(dict.fromkeys([*of_model, *named, BESIDE]))


def _load_outside(names: Sequence[str] | None) -> list[str | Procedure] | None:
    """Return methods with functions and programs in place of their names.

    Such a name runs what it names, so it counts only where it was typed as an option of this very process: none comes
    from a configuration file, from a result that is repeated, or from a web page.
    """
    if names is None:
        return None
    methods: list[str | Procedure] = []
    for name in names:
        if is_outside(name) and not {name, f"--method={name}"} & set(sys.argv[1:]):
            raise InputError(
                f"{name!r} would run code of others, and was not typed",
                remedy=("type it on the command line with ", Option("method")),
                argument="method",
            )
        methods.append(parse_outside(name) if is_outside(name) else name)
    return methods


def describe_calibration(lab: Calibration) -> dict[str, Any]:
    """Everything that is said of a calibration beside its table."""
    return {
        "alpha": lab.alpha,
        "repetitions": lab.repetitions,
        "budget": lab.budget,
        "seed": lab.seed,
        "scores": lab.scores,
        "skipped": list(lab.notes),
        "verdicts": [verdict.to_dict(command=True) for verdict in lab.verdicts],
        "rates": lab.rates.to_dict("records"),
        "power": lab.power.to_dict("records"),
    }


MEANINGS = {
    "AA": "pairs where both splits find the same system better",
    "AD": "pairs where they find opposite systems better",
    "PA": "pairs where neither finds a difference",
    "PD": "pairs where only one does",
    "PAA": "agreement on differences, 2AA/(2AA+PD)",
    "PPA": "agreement on no difference, 2PA/(2PA+PD)",
}
MODELS = ("MD2", "MD3", "MD4", "MD5", "MD6")
TABLES = ("agreement", "summary", "found", "divided", "models", "methods", "fills")


def compare_splits(options: Options) -> Result:
    """Compare the systems on each split and return how far the splits agree."""
    # What cannot be done is refused before the long work.
    words = inputs.parse_bootstrap(options.method)
    validate_choice(options.table, "table", TABLES)
    parsed = inputs.parse_model(options.model)
    if options.cluster is not None and options.resamples is None:
        raise InputError(
            "a cluster has no effect without bootstrap samples",
            remedy="remove --jobs, or add --method bootstrap --resamples 10000",
        )
    method = words["correction"] if words else check_correction(options.method or "hsd")
    inputs.parse_fill(options.fill)
    read = inputs.InputReader(options).check().read_input(one=True)
    scores, gaps = inputs.fill_gaps(
        read.pick_measure(), "leave" if options.table == "fills" else options.fill
    )
    how: dict[str, Any] = {}
    if words:
        how = {"fit": "bootstrap", "n_resamples": options.resamples, "seed": options.seed}
        how |= {name: words[name] for name in READ if name in words}
    how["generalize"] = inputs.parse_dimensions(options.generalize)
    how |= {"only": options.only or None, "baseline": next(iter(options.baseline), None)}
    alpha = options.alpha
    facts: dict[str, Any] = {"alpha": alpha, "splits": scores.sizes.get("split", 1)}
    with (
        on_cluster(options.cluster, options.quiet) as executor,
        lend_executor(executor),
        show_progress("comparing splits", options.quiet) as bar,
    ):
        if options.table in SIDE_BY_SIDE:
            frame = SIDE_BY_SIDE[options.table](scores, parsed, method, alpha, bar, how)
            title = f"{facts['splits']} splits at {alpha:g}: {options.table} side by side"
        else:
            comparisons = over_splits(scores, parsed, method, progress=bar, **how)
            result = stability_of(comparisons, alpha=alpha)
            title, facts["claim"] = str(result).splitlines()[0], comparisons[0].claim
            frame = result.mean().reset_index()
            frame["meaning"] = frame["figure"].map(MEANINGS)
            if options.table == "summary":
                # Runs are also scored on the whole collection.
                measure, whole = read.measures[0], None
                if read.collection is not None:
                    whole = score(read.collection, [measure])[measure].mean("topic")
                frame = summary_over_splits(comparisons, whole, alpha=alpha).reset_index(names="figure")
            elif options.table == "found":
                frame = found_over_splits(comparisons, (alpha,)).reset_index()
            elif options.table == "divided":
                frame = agreement_over_splits(comparisons, (alpha,))[alpha].reset_index()
    return Result((title,), frame, (*read.notes, *gaps), facts=facts)


def _tabulate_models(
    scores: Any, _: Any, method: str, alpha: float, __: Any, how: dict[str, Any]
) -> pd.DataFrame:
    """Pairs found, widths and agreement under each model."""
    rows = []
    for model in MODELS:
        comparisons = over_splits(scores, model, method, **how)
        figures = {
            **summary_over_splits(comparisons, alpha=alpha)["mean"],
            **stability_of(comparisons, alpha=alpha).mean()["mean"],
        }
        rows.append({"model": model, **figures})
    return pd.DataFrame(rows)


def _tabulate_methods(
    scores: Any, model: Any, _: str, alpha: float, bar: Any, __: dict[str, Any]
) -> pd.DataFrame:
    """FF21's three approaches: pairs found, agreement, and what each finds beyond the others."""
    table = stability_of_methods(scores, model, alpha=alpha, progress=bar)
    rows = []
    for name in map(str, table["approach"].values):
        figures_of = table.sel(approach=name)
        figures = {f: float(figures_of["mean"].sel(other=name, figure=f)) for f in ("PAA", "PPA", "AD")}
        beyond = {
            f"beyond {other}": float(figures_of["mean"].sel(other=other, figure="extra"))
            for other in map(str, table["other"].values)
            if other != name
        }
        rows.append({"approach": name, "significant": float(figures_of["significant"]), **figures, **beyond})
    return pd.DataFrame(rows)


def _tabulate_fills(
    scores: Any, model: Any, method: str, alpha: float, bar: Any, how: dict[str, Any]
) -> pd.DataFrame:
    """Passive disagreements between fills; on the diagonal between splits."""
    table = stability_of_fills(scores, model, method, alpha=alpha, progress=bar, **how)
    square = table["mean"].sel(figure="PD").to_pandas()
    return square.assign(significant=table["significant"].to_numpy()).reset_index()


SIDE_BY_SIDE: dict[str, Callable[..., pd.DataFrame]] = {
    "models": _tabulate_models,
    "methods": _tabulate_methods,
    "fills": _tabulate_fills,
}
