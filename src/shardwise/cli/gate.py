"""shardwise gate: may the new system replace the one in use?"""

from __future__ import annotations

from pathlib import Path

import typer
import xarray as xr

from shardwise.analysis.gate import Gate, gate, side_by_side
from shardwise.cli import inputs as opt
from shardwise.cli.commands.gate import GateOptions
from shardwise.cli.output import emit
from shardwise.core.claim import counted
from shardwise.core.errors import InputError
from shardwise.core.scores import level_names

NOT_PASSED = 3  # exit code


def judge(options: GateOptions) -> None:
    """Compare two systems, say what may be said, and end with the code that says whether it passes."""
    scores, base, new, notes = _read(options)
    found = gate(scores, base, new, margin=options.margin, power=options.power, alpha=options.alpha)
    _tell(found, options, notes)
    if not found.passes:
        raise typer.Exit(NOT_PASSED)


def _read(options: GateOptions) -> tuple[xr.DataArray, str, str, tuple[str, ...]]:
    """The scores, the names of the two systems, and what was left out."""
    named = options.baseline is not None or options.new is not None
    if len(options.inputs) == 1:
        if options.baseline is None or options.new is None:
            raise InputError(
                "which two of its systems are to be compared is not said",
                where=str(options.inputs[0]),
                remedy="name --baseline and --system",
            )
        return _table(options, options.inputs[0]), options.baseline, options.new, ()
    if len(options.inputs) != 2:
        raise InputError(f"{len(options.inputs)} files, and a gate compares two", remedy="give BASE and NEW")
    if named:
        raise InputError(
            "--baseline and --system name systems of one file", remedy="leave them out, or give one file"
        )
    paths = options.inputs
    alike = paths[0].stem == paths[1].stem
    names = tuple(str(path.parent / path.stem) if alike else path.stem for path in paths)
    first, second = (_table(options, path) for path in paths)
    joined, left = side_by_side(first, second, (names[0], names[1]))
    notes = (f"{counted(left, 'item')} that only one file has: left out",) if left else ()
    base, new = level_names(joined, "system")
    return joined, base, new, notes


def _table(options: GateOptions, path: Path) -> xr.DataArray:
    source = opt.RunInputs.of(options, inputs=[path]).one_measure()
    return opt.single(source.read())


def _tell(found: Gate, options: GateOptions, notes: tuple[str, ...]) -> None:
    facts = {
        "passes": found.passes,
        "measure": found.measure,
        "claim": found.claim,
        "procedure": found.procedure,
        "margin": found.margin,
        "alpha": found.alpha,
        "power": found.power,
    }
    said = () if options.quiet else notes
    emit(found.to_frame(), options.shown, options.out, title=str(found), notes=said, facts=facts)
