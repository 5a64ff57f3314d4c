"""shardwise gate: may the new system replace the one in use?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from shardwise.analysis.gate import Gate, Gates, SequentialGate, gate, gate_sequentially, side_by_side
from shardwise.analysis.ledger import load_ledger
from shardwise.analysis.requirements import judge_requirements
from shardwise.cli.analyzing import analyze_measures, check_choices, compare_by_factors
from shardwise.cli.cluster import on_cluster
from shardwise.cli.inputs import InputReader, Read, add_people, fill_gaps
from shardwise.cli.output import Result
from shardwise.cli.parsing import Options
from shardwise.comparing.comparisons import Comparisons
from shardwise.core.claim import format_count
from shardwise.core.errors import InputError, Option
from shardwise.core.scores import Scores
from shardwise.writing.gate import write_ledger

NOT_PASSED = 3
"""Exit code of a gate that does not pass."""


def judge_systems(options: Options) -> Result:
    """Compare two systems; the verdict comes with the exit code that says whether it passes."""
    check_choices(options)
    if options.ledger is not None:
        return _judge_by_ledger(options)
    reader, read, base, new = _read_systems(options)
    if options.by or len(read.measures) > 1:
        return _judge_requirements(options, read, base, new)
    options = options.for_measure(read.measures[0])
    if options.margin is None:
        raise InputError(
            f"{read.measures[0]} has no margin",
            remedy=("add one: ", Option("margin", f"{read.measures[0]}=0.01")),
        )
    margin = float(options.margin)
    scores = (
        fill_gaps(read.pick_measure(), options.fill)[0] if ("fill" in options.given) else read.pick_measure()
    )
    how: dict[str, Any] = {"margin": margin, "scores": scores, "alpha": options.alpha}
    how |= {"repeats": options.repeats}
    facts: dict[str, Any] = {"margin": margin, "alpha": options.alpha}
    verdict: Gate | Gates | SequentialGate
    if options.sequential is not None:
        verdict = gate_sequentially(base, new[0] if len(new) == 1 else new, options.sequential, **how)
        facts["measure"] = verdict.measure
    else:
        comparisons = _compare_systems(options, reader, read, base, new)
        how |= {"power": options.power, "no_rare_failures": options.margin.no_rare_failures}
        verdict = gate(base, new, comparisons=comparisons, **how)
        first = verdict.each[0] if isinstance(verdict, Gates) else verdict
        facts |= {name: getattr(first, name) for name in ("measure", "claim", "procedure", "repeats")}
        facts["power"] = options.power
    return Result(
        (str(verdict),),
        verdict.to_frame(),
        read.notes,
        facts={"passes": verdict.passes, **facts},
        answers=True,
        code=0 if verdict.passes else NOT_PASSED,
    )


def _judge_by_ledger(options: Options) -> Result:
    """Judge one candidate of a loop and record it, or show what the next ones need."""
    chosen = sorted(name for name in options.given if options.command.every[name].chooses)
    if chosen or options.margin.no_rare_failures:
        raise InputError(
            (Option(chosen[0] if chosen else "margin", None if chosen else str(options.margin)),
             " has no effect with a ledger, whose tests hold at any level"),
            remedy="remove it",
        )  # fmt: skip
    several = ["measure"] if len(options.measure) > 1 else ["by"] if options.values.get("by") else []
    if several:
        raise InputError(
            (Option(several[0]), ": a ledger judges by one measure, over all items"),
            remedy="name one measure, and no slices",
        )
    how: dict[str, Any] = {name: getattr(options, name) for name in ("alpha", "power")}
    how["margin"] = float(options.margin)
    if options.ledger.exists() and options.ledger.stat().st_size:
        ledger = load_ledger(options.ledger)
        # what was asked at the beginning holds unless something else is said
        how |= {name: ledger.head[name] for name in ("margin", "alpha") if name not in options.given}
    if options.plan:
        ledger = load_ledger(options.ledger)
        return Result(
            tuple(write_ledger(ledger, options.power)),
            ledger.plan(options.power),
            facts={"candidates": len(ledger.looks), "accepted": ledger.accepted, "spent": ledger.spent},
            answers=True,
        )
    alone = len(options.inputs) == 1 and not options.baseline
    if alone:
        reader = InputReader(options).check()
        read = replace(reader.read_input(one=True), notes=())
        names = options.new or read.pick_measure().systems
        base, new = None, names[0] if len(names) == 1 else tuple(names)
    else:
        _, read, base, names = _read_systems(options)
        new = names[0] if len(names) == 1 else names
    scores = read.pick_measure()
    if "fill" in options.given:
        scores = fill_gaps(scores, options.fill)[0]
    asked = {name: getattr(options, name) for name in ("repeats", "reveal", "candidates", "base_of")}
    verdict = gate(base, new, scores=scores, ledger=options.ledger, **asked, **how)
    shown = ("passes", "measure", "margin", "alpha", "power", "revealed", "repeated", "digest")
    return Result(
        (str(verdict),),
        verdict.to_frame(),
        read.notes,
        facts={name: getattr(verdict, name) for name in shown} | {"candidates_declared": verdict.declared},
        answers=True,
        code=0 if verdict.passes else NOT_PASSED,
    )


def _judge_requirements(options: Options, read: Read, base: str, new: tuple[str, ...]) -> Result:
    """Judge by several measures, or on slices; all must pass."""
    chosen = sorted(
        name for name in options.given if options.command.every[name].chooses or name == "sequential"
    )
    if chosen:
        raise InputError(
            (Option(chosen[0]), " takes one measure and no slices"),
            remedy="remove it, or run the gate once for each",
        )
    tables = dict(read.tables)
    if "fill" in options.given:
        tables = {name: fill_gaps(table, options.fill)[0] for name, table in tables.items()}
    margins = {name: options.for_measure(name).margin for name in tables}
    for name, margin in margins.items():
        if margin is None:
            raise InputError(f"{name} has no margin", remedy=("add one: ", Option("margin", f"{name}=0.01")))
    rare = any(margin.no_rare_failures for margin in margins.values())
    how = {
        "alpha": options.alpha,
        "power": options.power,
        "repeats": options.repeats,
        "no_rare_failures": rare,
    }
    plain = {name: float(margin) for name, margin in margins.items()}
    requirements = judge_requirements(base, new, tables, plain, by=options.by, **how)
    first = requirements.each[0].gate
    facts = {
        "passes": requirements.passes,
        "measure": ", ".join(tables),
        "alpha": options.alpha,
        "power": options.power,
    }
    facts |= {name: getattr(first, name) for name in ("claim", "procedure", "repeats")} | {
        "margin": plain[first.measure]
    }
    code = 0 if requirements.passes else NOT_PASSED
    return Result(
        (str(requirements),), requirements.to_frame(), read.notes, facts=facts, answers=True, code=code
    )


def _compare_systems(
    options: Options, reader: InputReader, read: Read, base: str, new: tuple[str, ...]
) -> Comparisons | None:
    """Comparisons by the method that options choose, if they choose one."""
    if not any(options.command.every[name].chooses for name in options.given):
        return None
    two = options.change(only=[base, *new], baseline=[base])
    if options.random:
        return compare_by_factors(read.pick_measure(), two, [base])[1]
    with on_cluster(options.cluster, options.quiet) as executor:
        (analysis,) = analyze_measures(two, reader, read, executor=executor)
    return analysis.comparisons


def _read_systems(options: Options) -> tuple[InputReader, Read, str, tuple[str, ...]]:
    """The input with what was left out, and the names of the system in use and of the new ones."""
    named = bool(options.baseline) and bool(options.new)
    if named or len(options.inputs) == 1:
        reader = InputReader(options).check()
        if not named or len(options.baseline) != 1:
            raise InputError(
                "the two systems are not named",
                where=str(options.inputs[0]),
                remedy="add --baseline (the system in use) and --new",
            )
        read = reader.read_input()
        if not options.measure:
            # refuses to choose
            read.pick_measure()
        return reader, replace(read, notes=()), options.baseline[0], tuple(options.new)
    if options.baseline or options.new:
        raise InputError(
            "one of the two systems is not named", remedy="add both --baseline and --new, or give two files"
        )
    if len(options.inputs) != 2:
        raise InputError(
            f"{len(options.inputs)} files, but a gate compares two systems",
            remedy="give BASE and NEW, or name the systems with --baseline and --new",
        )
    paths = options.inputs
    alike = paths[0].stem == paths[1].stem
    names = tuple(str(path.parent / path.stem) if alike else path.stem for path in paths)
    first, second = (_read_one(options, path) for path in paths)
    joined, dropped = {}, 0
    for sheet, other in zip(first, second, strict=True):
        table, lost = side_by_side(sheet, other, (names[0], names[1]))
        joined[table.measure.name], dropped = table, max(dropped, lost)
    notes = (f"{format_count(dropped, 'item')} that only one file has: left out",) if dropped else ()
    base, *new = next(iter(joined.values())).systems
    read = Read(joined, notes, tuple(paths))
    read = read if options.human is None else add_people(read, options.human)
    return InputReader(options.change(inputs=list(paths[:1]))).check(), read, base, tuple(new)


def _read_one(options: Options, path: Path) -> list[Scores]:
    """Scores of one system, from its own file, by each measure asked for."""
    # People's scores are of both systems, and are added to both.
    read = InputReader(options.change(inputs=[path], human=None)).check().read_input()
    tables = list(read.tables.values()) if options.measure[1:] else [read.pick_measure()]
    scores = tables[0]
    if scores.sizes["system"] != 1:
        raise InputError(
            f"has {format_count(scores.sizes['system'], 'system')}, but a gate compares two",
            where=str(path),
            remedy="give a file per system, or one file with --baseline and --new",
        )
    return tables
