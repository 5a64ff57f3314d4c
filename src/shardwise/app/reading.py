"""The files that were sent -> what they seem to be, for a person to confirm or to change."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from shardwise.app.choices import LABELS, describe_error
from shardwise.cli.inputs import parse_columns
from shardwise.core.claim import format_count
from shardwise.core.errors import InputError
from shardwise.core.scores import Scores, slices_of
from shardwise.io.files import bare_name
from shardwise.io.kinds import kind_of
from shardwise.io.reader import read_collection
from shardwise.io.scores import read_file, read_tables
from shardwise.io.tables.facts import SAID, Choice, Reading
from shardwise.io.tables.readings import choose_reading
from shardwise.io.tables.records import Wishes
from shardwise.io.tables.sheet import Labels, Sheet
from shardwise.io.tables.votes import read_votes
from shardwise.writing.embedded import read_report

SAMPLES = 3  # different values of a column that are shown
MOST_SEARCHED = 20_000  # rows in which they are looked for
MOST_READINGS = 12  # choices that are offered
MOST_PREVIEWED = 20 << 20  # bytes of tables that are read in every way to say what comes out
SETTINGS = ("measure", "names", "missing", "generalize", "repeats", "fill")
"""Options whose values a refusal may offer to choose from."""
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
        "primary": "", "sizes": [], "nouns": {}, "dims": [], "said": "", "notes": [], "problem": "", "culprit": "",
        "readings": [], "lower": [], "slices": [],
    }  # fmt: skip
    try:
        names = {path: str(path.relative_to(folder)) for path in paths}
        wanted = set(choices.get("files", ())) & set(names.values()) or set(names.values())
        kinds = {path: kind_of(path) for path in paths}
        facts["files"] = [
            {"name": name, "what": kinds[path], "bytes": path.stat().st_size, "used": name in wanted}
            for path, name in names.items()
        ]
        people = {folder / name for name in choices.get("human", ())}
        kind, inputs = _choose_inputs(
            {path: what for path, what in kinds.items() if path not in people and names[path] in wanted}
        )
        facts |= {"kind": kind, "inputs": list(map(str, inputs))}
        if kind == "report":
            # made before: its title, and which of its inputs are needed to repeat it
            before = read_report(inputs[0])
            listed = before.get("inputs")
            items = [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []
            facts |= {"said": f"a report: {before.get('title', '')}"}
            facts["needed"] = [str(item.get("name")) for item in items]
        elif kind == "runs":
            how: Any = {name: choices[name][-1] for name in ("names", "missing") if choices.get(name)}
            read = read_collection([str(path) for path in inputs[1:]], str(inputs[0]), **how)
            facts |= {"systems": list(map(str, read.systems)), "dims": ["topic", "system"]}
            sizes = {"topic": len(read.topics), "system": len(read.systems)}
            facts["sizes"] = [format_count(n, noun) for noun, n in sizes.items()]
            facts["notes"] = list(read.notes)
            facts["said"] = f"{format_count(len(read.systems), 'run')} with judgments"
        else:
            facts |= _describe_scores(inputs, choices, facts)
    except InputError as error:
        # the file that the refusal is about, where it names one of those that were sent
        names_sent = [file["name"] for file in facts["files"]]
        about = (rf"{re.escape(str(folder / name))}([:,].*)?" for name in names_sent)
        culprits = (
            name for name, place in zip(names_sent, about, strict=True) if re.fullmatch(place, error.where)
        )
        facts["culprit"] = next(culprits, "")
        facts["readings"] = _list_readings(error, [Path(name) for name in facts["inputs"]])
        if facts["readings"]:
            error = InputError(error.problem, where=error.where, remedy="choose below")
        facts["problem"] = describe_error(error)
    return facts


def _list_readings(error: InputError, inputs: Sequence[Path]) -> list[dict[str, Any]]:
    """What the refusal offers to choose from, each as an option with its value, in words, and with what it leads to."""
    if error.argument != "columns":
        offered = error.choices[:MOST_READINGS] if error.argument in SETTINGS else ()
        named = {"option": error.argument, "sizes": []}
        return [
            named | {"value": str(choice), "words": f"{LABELS[error.argument]}: {choice}"}
            for choice in offered
        ]
    readings = []
    for choice in error.choices:
        if isinstance(choice, Choice):
            reading: dict[str, Any] = {"option": "columns", "value": str(choice), "words": choice.describe()}
            readings.append(reading | {"sizes": []})
            # what a table would hold if it were read so; nothing where it is large, or cannot be read so either
            if sum(path.stat().st_size for path in inputs) <= MOST_PREVIEWED:
                with suppress(InputError):
                    tables, _ = read_tables(inputs, columns=parse_columns([str(choice)]))
                    readings[-1]["sizes"] = _describe_sizes(next(iter(tables.values())))
    return readings


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


def _describe_scores(
    inputs: Sequence[Path], choices: Mapping[str, Sequence[str]], facts: dict[str, Any]
) -> dict[str, Any]:
    columns = parse_columns(choices.get("columns", ()))
    if Path(bare_name(inputs[0])).suffix.lower() not in (".nc", ".nc4", ".netcdf", ".h5"):
        first = read_file(inputs[0], Wishes())
        # the columns of votes have other roles, which are not asked for
        if isinstance(first, Sheet) and read_votes(first, columns) is None:
            # shown also where no reading is chosen
            facts["columns"] = _describe_columns(first, None)
            reading = choose_reading(first, columns)
            facts |= {"columns": _describe_columns(first, reading), "wide": reading.wide}
    missing: Any = next(iter(choices.get("missing", ())), None) or None
    tables, primary = read_tables(inputs, columns=columns, missing=missing)
    table = next(iter(tables.values()))
    labels = slices_of(table)
    return {
        "systems": list(table.systems),
        "measures": list(tables),
        "lower": [name for name, each in tables.items() if each.measure.lower_is_better],
        "primary": primary,
        "slices": [name for name in labels if len(set(labels[name])) > 1],
        "dims": list(table.dims),
        "nouns": {dim: table.nouns.get(dim, dim) for dim in table.dims},
        "sizes": _describe_sizes(table),
        "said": table.read_as,
    }


def _describe_sizes(table: Scores) -> list[str]:
    """Number of levels of each dimension in the user's words: ``["60 questions", "3 models"]``."""
    return [format_count(table.sizes[dim], table.nouns.get(dim, dim)) for dim in table.dims]


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
            "samples": list_samples(column.labels),
            "distinct": column.distinct,
            "role": roles.get(name, ""),
            "why": omitted.get(name, ""),
        }
        for name, column in list(sheet.columns.items())[:MOST_COLUMNS]
    ]


def list_samples(labels: Labels) -> list[str]:
    """Return some different values of a column, in the order in which they come.

    Parameters
    ----------
    labels
        The column.

    >>> list_samples(Labels.of_texts(["q1", "q1", "", "q2", "q2", "q3", "q4"]))
    ['q1', 'q2', 'q3']
    """
    codes = dict.fromkeys(labels.codes[:MOST_SEARCHED].tolist())
    return list(islice((labels.names[code] for code in codes if labels.names[code]), SAMPLES))
