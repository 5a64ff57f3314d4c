"""shardwise gate: may the new system replace the one in use?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from shardwise.analysis.gate import (
    Gate,
    Gates,
    Question,
    SequentialGate,
    gate_sequentially,
    judge_systems,
    side_by_side,
)
from shardwise.analysis.ledger import Ledger, LedgerGate, gate_by_ledger, load_ledger
from shardwise.cli.analyzing import analyze_measures, check_choices, compare_by_factors
from shardwise.cli.inputs import InputReader, Read, add_people, fill_gaps
from shardwise.cli.options import Margin
from shardwise.cli.output import Result
from shardwise.cli.parsing import Options
from shardwise.comparing.comparisons import Comparisons
from shardwise.core.claim import format_count
from shardwise.core.errors import InputError, Option
from shardwise.core.scores import Scores
from shardwise.writing.gate import write_ledger

NOT_PASSED = 3
"""Exit code of a gate that does not pass."""
FACTS = ("margin", "alpha", "power", "claim", "procedure", "repeats", "revealed", "repeated", "digest",
         "candidates_declared")  # fmt: skip
"""What JSON says of verdicts that have it."""


def judge_gate(options: Options) -> Result:
    """Compare new systems with the one in use; the verdict comes with the exit code that says whether it passes."""
    check_choices(options)
    ledger = None
    if options.ledger is not None and options.ledger.exists() and options.ledger.stat().st_size:
        ledger = load_ledger(options.ledger)
        options = _recall_question(options, ledger)
    if options.plan:
        ledger = load_ledger(options.ledger) if ledger is None else ledger
        return Result(
            tuple(write_ledger(ledger, options.power)),
            ledger.plan(options.power),
            facts={"candidates": len(ledger.looks), "accepted": ledger.accepted, "spent": ledger.spent},
            answers=True,
        )
    reader, read, base, new = _read_systems(options)
    _check_methods(options, read)
    questions = []
    for name in read.measures:
        margin, scores = options.for_measure(name).margin, read.tables[name]
        if margin is None:
            raise InputError(f"{name} has no margin", remedy=("add one: ", Option("margin", f"{name}=0.01")))
        if "fill" in options.given:
            scores = fill_gaps(scores, options.fill)[0]
        how = (options.alpha, options.power, options.repeats, margin.no_rare_failures)
        questions.append(Question(scores, float(margin), *how))
    verdict: Gate | Gates | SequentialGate | LedgerGate
    if options.ledger is not None:
        asked = {name: getattr(options, name) for name in ("by", "reveal", "candidates", "base_of")}
        verdict = gate_by_ledger(base, new, questions, options.ledger, **asked)
    elif options.sequential is not None:
        verdict = gate_sequentially(base, new, questions[0], options.sequential)
    else:
        comparisons = _compare_systems(options, reader, read, base, new)
        verdict = judge_systems(base, new, questions, by=options.by, comparisons=comparisons)
    first = verdict.each[0] if isinstance(verdict, Gates) else verdict
    facts = {name: getattr(first, name) for name in FACTS if hasattr(first, name)}
    return Result(
        (str(verdict),),
        verdict.to_frame(),
        read.notes,
        facts={"passes": verdict.passes, "measure": ", ".join(read.measures), **facts},
        answers=True,
        code=0 if verdict.passes else NOT_PASSED,
    )


def _recall_question(options: Options, ledger: Ledger) -> Options:
    """The options with what was asked when the ledger was begun, unless something else is said."""
    head, measures = ledger.head, ledger.measures
    margins = ",".join(f"{name}={asked['margin']!r}" for name, asked in measures.items())
    recalled = {"alpha": head["alpha"], "by": head["by"], "margin": Margin(margins)}
    if len(measures) > 1:
        recalled["measure"] = list(measures)
    return options.change(**{name: value for name, value in recalled.items() if name not in options.given})


def _check_methods(options: Options, read: Read) -> None:
    """Refuse a method, which a ledger does not take, nor several measures or slices."""
    chosen = sorted(name for name in options.given if options.command.every[name].chooses)
    several = bool(options.by) or len(read.measures) > 1
    if options.ledger is not None:
        chosen += ["margin"] if options.margin.no_rare_failures else []
        problem, remedy = " has no effect with a ledger, whose tests are valid at any level", "remove it"
    else:
        chosen = [*chosen, *(["sequential"] if options.sequential is not None else [])] if several else []
        problem, remedy = " takes one measure and no slices", "remove it, or run the gate once for each"
    if chosen:
        value = str(options.margin) if chosen[0] == "margin" else None
        raise InputError((Option(chosen[0], value), problem), remedy=remedy)


def _compare_systems(
    options: Options, reader: InputReader, read: Read, base: str, new: tuple[str, ...]
) -> Comparisons | None:
    """Comparisons by the method that options choose, if they choose one."""
    if not any(options.command.every[name].chooses for name in options.given):
        return None
    two = options.change(only=[base, *new], baseline=[base])
    if options.random:
        return compare_by_factors(read.pick_measure(), two, [base])[1]
    analysis = analyze_measures(two, reader, read)
    return analysis.comparisons


def _read_systems(options: Options) -> tuple[InputReader, Read, Any, tuple[str, ...]]:
    """The input with what was left out, and the names of the system in use and of the new ones.

    With a ledger one file may have new systems alone, and the base is None.
    """
    paths, named = options.inputs, bool(options.baseline) and bool(options.new)
    alone = options.ledger is not None and len(paths) == 1 and not options.baseline
    if not alone and (named or len(paths) == 1):
        reader = InputReader(options).check()
        if not named or len(options.baseline) != 1:
            raise InputError(
                "the two systems are not named",
                where=str(paths[0]),
                remedy="add --baseline (the system in use) and --new",
            )
        read = reader.read_input()
        if not options.measure:
            # refuses to choose
            read.pick_measure()
        return reader, replace(read, notes=()), options.baseline[0], tuple(options.new)
    if not alone and (options.baseline or options.new):
        raise InputError(
            "one of the two systems is not named", remedy="add both --baseline and --new, or give two files"
        )
    if not alone and len(paths) != 2:
        raise InputError(
            f"{len(paths)} files, but a gate compares two systems",
            remedy="give BASE and NEW, or name the systems with --baseline and --new",
        )
    tables, dropped, base = _read_measures(options, paths[-1]), 0, None
    new = tuple(options.new) or tables[0].systems
    if not alone:
        alike = paths[0].stem == paths[1].stem
        names = [str(path.parent / path.stem) if alike else path.stem for path in paths]
        pairs = zip(_read_measures(options, paths[0]), tables, strict=True)
        joined = [side_by_side(first, second, (names[0], names[1])) for first, second in pairs]
        tables, dropped = [table for table, _ in joined], max(lost for _, lost in joined)
        base, new = tables[0].systems[0], tables[0].systems[1:]
    notes = (f"{format_count(dropped, 'item')} that only one file has: left out",) if dropped else ()
    read = Read({table.measure.name: table for table in tables}, notes, tuple(paths))
    # people's scores are of both systems, and are added to both
    read = read if options.human is None else add_people(read, options.human)
    return InputReader(options.change(inputs=list(paths[:1]))).check(), read, base, tuple(new)


def _read_measures(options: Options, path: Path) -> list[Scores]:
    """Scores of a file by each measure asked for; each is read alone, so that one system needs no name."""
    tables = []
    for measure in options.measure or [None]:
        asked = options.change(inputs=[path], measure=[] if measure is None else [measure], human=None)
        tables.append(InputReader(asked).check().read_input().pick_measure())
    if tables[0].sizes["system"] != 1 and not (options.ledger and options.new):
        raise InputError(
            f"has {format_count(tables[0].sizes['system'], 'system')}, but a gate compares two",
            where=str(path),
            remedy="give a file per system, or one file with --baseline and --new",
        )
    return tables
