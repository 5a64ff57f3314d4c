"""The files that were sent -> what they seem to be, for a person to confirm or to change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import xarray as xr

from shardwise.app.wording import describe_error
from shardwise.cli.inputs import parse_columns
from shardwise.core.claim import format_count
from shardwise.core.errors import InputError
from shardwise.core.scores import nouns_of
from shardwise.io.files import bare_name
from shardwise.io.kinds import kind_of
from shardwise.io.reader import read_collection
from shardwise.io.scores import read_file, read_scores
from shardwise.io.tables.readings import choose_reading
from shardwise.io.tables.records import Wishes
from shardwise.io.tables.roles import SAID, Reading
from shardwise.io.tables.sheet import Sheet
from shardwise.writing.embedded import read_report

SAMPLES = 3  # values of a column that are shown
MOST_COLUMNS = 60  # columns that are shown


def describe_files(folder: Path, choices: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Say what the files of an analysis are, which column is what, and what is in them; or what is the matter.

    Parameters
    ----------
    folder
        The files, below the folder one is in.
    choices
        What the person has said already, as for the command line: columns, missing, names, measure.
    """
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    facts: dict[str, Any] = {
        "kind": "scores", "inputs": [], "files": [], "columns": [], "wide": False, "systems": [], "measures": [],
        "primary": "", "sizes": [], "nouns": {}, "dims": [], "said": "", "notes": [], "problem": "", "readings": [],
    }  # fmt: skip
    try:
        kinds = {path: kind_of(path) for path in paths}
        facts["files"] = [
            {"name": str(path.relative_to(folder)), "what": kinds[path], "bytes": path.stat().st_size}
            for path in paths
        ]
        people = {folder / name for name in choices.get("human", ())}
        kind, inputs = _choose_inputs({path: what for path, what in kinds.items() if path not in people})
        facts |= {"kind": kind, "inputs": list(map(str, inputs))}
        if kind == "report":
            facts |= _describe_report(inputs[0])
        elif kind == "runs":
            facts |= _describe_runs(inputs, choices)
        else:
            facts |= _describe_scores(inputs, choices, facts)
    except InputError as error:
        facts["problem"] = describe_error(error)
        if error.argument == "columns":
            facts["readings"] = [
                {"columns": str(choice), "words": describe_choice(choice)}
                for choice in error.choices
                if isinstance(choice, Mapping)
            ]
    return facts


def describe_choice(choice: Mapping[str, str]) -> str:
    """Return a competing reading as a person chooses it.

    Parameters
    ----------
    choice
        Columns by role.

    >>> describe_choice({"item": "question", "system": "a+b"})
    'items are in question, systems are the columns a, b'
    """
    parts = []
    for role, names in choice.items():
        several = names.split("+")
        noun = {"item": "items", "system": "systems", "score": "scores", "repeat": "repeats"}.get(role, role)
        where = f"the columns {', '.join(several[:8])}" if len(several) > 1 else f"in {names}"
        parts.append(f"{noun} are {where}")
    return ", ".join(parts)


def _choose_inputs(kinds: Mapping[Path, str]) -> tuple[str, list[Path]]:
    """What all files are together, and those that are read, as the command line takes them."""
    of = {kind: [path for path, found_kind in kinds.items() if found_kind == kind] for kind in kinds.values()}
    if not kinds:
        raise InputError("no files were sent", remedy="choose some")
    if "report" in of:
        if len(of["report"]) > 1:
            raise InputError("more than one report", remedy="repeat them one at a time")
        return "report", of["report"]
    if "run" in of:
        if len(of.get("qrels", [])) != 1:
            raise InputError(
                f"{format_count(len(of['run']), 'run')} and {len(of.get('qrels', []))} files of judgments (qrels)",
                remedy="send the runs with their one qrels file, which has lines such as: 1 0 doc42 1",
            )
        return "runs", [*of["qrels"], *of["run"]]
    if "qrels" in of and len(kinds) == len(of["qrels"]):
        raise InputError("judgments (qrels) and no runs", remedy="send the runs with them")
    if "scores" not in of:
        raise InputError(
            "only aggregate means; per-item scores are required",
            remedy="send the samples_*.jsonl beside them too",
        )
    return "scores", of["scores"]


def _describe_report(path: Path) -> dict[str, Any]:
    """A report that was made before: its title, and which of its inputs are needed to repeat it."""
    before = read_report(path)
    listed = before.get("inputs")
    needed = (
        [str(item.get("name")) for item in listed if isinstance(item, dict)]
        if isinstance(listed, list)
        else []
    )
    return {"said": f"a report: {before.get('title', '')}", "needed": needed}


def _describe_runs(inputs: Sequence[Path], choices: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    how: dict[str, Any] = {name: choices[name][-1] for name in ("missing", "names") if choices.get(name)}
    read = read_collection([str(path) for path in inputs[1:]], str(inputs[0]), **how)
    systems = list(map(str, read.systems))
    return {
        "systems": systems,
        "dims": ["topic", "system"],
        "sizes": [format_count(len(read.topics), "topic"), format_count(len(systems), "system")],
        "notes": list(read.notes),
        "said": f"{format_count(len(systems), 'run')} with judgments",
    }


def _describe_scores(
    inputs: Sequence[Path], choices: Mapping[str, Sequence[str]], facts: dict[str, Any]
) -> dict[str, Any]:
    columns = parse_columns(choices.get("columns", ()))
    if Path(bare_name(inputs[0])).suffix.lower() not in (".nc", ".nc4", ".netcdf", ".h5"):
        first = read_file(inputs[0], Wishes())
        if isinstance(first, Sheet):
            # shown also where no reading is chosen
            facts["columns"] = _describe_columns(first, None)
            reading = choose_reading(first, columns)
            facts |= {"columns": _describe_columns(first, reading), "wide": reading.wide}
    missing: Any = next(iter(choices.get("missing", ())), None) or None
    scores = read_scores(list(inputs), columns=columns, missing=missing)
    if isinstance(scores, xr.DataArray):
        scores = scores.to_dataset(name=scores.name or "score", promote_attrs=False)
    measures = [str(name) for name in scores.data_vars]
    table = scores[measures[0]]
    nouns = nouns_of(table)
    return {
        "systems": [str(name) for name in table["system"].values],
        "measures": measures,
        "primary": str(scores.attrs.get("primary", "")),
        "dims": [str(d) for d in table.dims],
        "nouns": {str(d): nouns.get(str(d), str(d)) for d in table.dims},
        "sizes": [format_count(int(table.sizes[d]), nouns.get(str(d), str(d))) for d in table.dims],
        "said": str(table.attrs.get("read_as", "")),
    }


def _describe_columns(sheet: Sheet, reading: Reading | None) -> list[dict[str, Any]]:
    """The columns of a table with some of their values, what each is taken for, and why others are left out."""
    roles: dict[str, str] = {}
    if reading is not None:
        roles = {name: SAID.get(role, role) for role, name in reading.roles.items()}
        roles |= dict.fromkeys(reading.scores, "system" if reading.wide else "score")
    omitted = reading.omitted if reading is not None else {}
    return [
        {
            "name": name,
            "samples": [str(value) for value in column.data.slice(0, SAMPLES).to_pylist()],
            "role": roles.get(name, ""),
            "why": omitted.get(name, ""),
        }
        for name, column in list(sheet.columns.items())[:MOST_COLUMNS]
    ]
