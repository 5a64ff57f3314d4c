"""shardwise repeat: do the analysis of a report again, and say whether the numbers are the same."""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from shardwise.analysis.provenance import hash_files, list_versions
from shardwise.cli.options import TABLE, list_commands
from shardwise.cli.output import Result
from shardwise.cli.parsing import AnalysisFile, Options, to_toml
from shardwise.core.errors import InputError
from shardwise.core.libraries import pd
from shardwise.core.text import escape_controls
from shardwise.io.atomic import write_atomically
from shardwise.writing.embedded import read_report

NAMED_FILES = [
    row.key
    for row in list_commands()["compare",].rows.values()
    if (row.kind is Path or row.path or row.name == "read") and not (row.written or row.positional)
]
"""Options that may name files, which are inputs too."""
PARTS = ("claims", "systems", "pairs", "anova", "splits", "power", "residuals", "scores", "inputs")
STOPPED = 130
ROUNDING = 1e-5
"""Relative difference up to which numbers are the same: they are stored with seven digits, and processors differ."""


def repeat_report(options: Options) -> Result:
    """Make the report of a report again; whether they agree comes with the exit code that says so."""
    report, inputs, out, quiet = options.report, options.inputs, options.out, options.quiet
    if inputs is not None and not inputs.is_dir():
        raise InputError("no such folder", where=str(inputs), remedy="name the folder of the inputs")
    if out is not None and out.exists():
        raise InputError(
            "exists already", where=str(out), remedy="name another file: repeat overwrites nothing"
        )
    before = read_report(report)
    command, table = _read_recipe(before, str(report))
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "report.html"
        if command == "demo":
            arguments = ["--out", folder, "--quiet"]
        else:
            paths = _locate_inputs(before, str(report), inputs)
            files = _take_files(table, paths, str(report))
            if not quiet:
                # What will be read and written is said before anything is.
                listed = list(paths.values())
                more = f" and {len(listed) - 5} more" if len(listed) > 5 else ""
                line = f"reads {', '.join(listed[:5])}{more}; writes {'no file' if out is None else out}"
                sys.stderr.write(f"{escape_controls(line)}\n")
            result = str(Path(folder) / "result.txt")
            arguments = [*files, "--report", str(made), "--out", result, "--quiet"]
        analysis = Path(folder) / "analysis.toml"
        analysis.write_text(to_toml([command], table), encoding="utf-8")
        arguments += ["--config", str(analysis), *(["--jobs", str(options.jobs)] if options.jobs else [])]
        # Loaded here, since it loads this module.
        from shardwise.cli.main import run_command

        if run_command([command, *arguments]) == STOPPED:
            raise KeyboardInterrupt
        after = read_report(made)
        if out is not None:
            write_atomically(out, made.read_bytes())
    frame = compare_reports(before, after)
    total, different = int(frame["figures"].sum()), int(frame["different"].sum())
    worst = float(frame["largest_difference"].max())
    if different:
        first = next(text for text in frame["first"] if text)
        verdict = f"different: {different} of {total} figures, first {first}"
    elif worst > 0.0:
        verdict = f"the same but for rounding: {total} figures, none off by more than {worst:.1g} of its size"
    else:
        verdict = f"the same: {total} figures agree to the last stored digit"
    versions = before.get("versions")
    then, now = versions if isinstance(versions, dict) else {}, list_versions()
    changes = [
        f"{name} {then.get(name) or 'absent'} then, {now.get(name) or 'absent'} now"
        for name in {**then, **now}
        if then.get(name) != now.get(name)
    ]
    used = len(before["inputs"]) if command != "demo" else 0
    note = f"{used} inputs are unchanged" if used else "the inputs were simulated again"
    facts = {"same": not different, "versions_differ": bool(changes)}
    written = () if out is None else (out,)
    return Result((verdict,), frame, (note,), tuple(changes), facts, written=written, code=int(different > 0))


def _read_recipe(before: Mapping[str, Any], where: str) -> tuple[str, dict[str, Any]]:
    """The command and its table; only commands that write reports are taken from a page."""
    recipe = before.get("recipe")
    if recipe is None:
        raise InputError(
            "this report was made from Python, not by a command",
            where=where,
            remedy="run that program again; the report has the hash of its scores",
        )
    if (
        not isinstance(recipe, dict)
        or not isinstance(recipe.get("toml"), str)
        or recipe.get("command") not in (["compare"], ["demo"])
        or not isinstance(before.get("inputs"), list)
    ):
        raise InputError(
            "contains no analysis to repeat", where=where, remedy="give a report that shardwise wrote"
        )
    command = str(recipe["command"][0])
    shown = {row.key for row in TABLE.values() if row.shown}
    tables = AnalysisFile(recipe["toml"], where, None).tables
    table = tables.get(command)
    if set(tables) != {command} or not isinstance(table, dict) or shown & set(table):
        raise InputError(
            "contains more than an analysis", where=where, remedy="give a report that shardwise wrote"
        )
    return command, table


def _locate_inputs(before: Mapping[str, Any], where: str, folder: Path | None) -> dict[str, str]:
    """Where each input is now, by its path then; refused unless it is the same byte for byte."""
    paths: dict[str, str] = {}
    for stored in before["inputs"]:
        if not isinstance(stored, dict) or not all(
            isinstance(stored.get(key), str) for key in ("path", "sha256")
        ):
            raise InputError("its list of inputs is damaged", where=where, remedy="make the report again")
        path = Path(stored["path"])
        candidates = [item for item in _list_candidates(path, folder, Path(where).parent) if item.is_file()]
        if not candidates:
            searched = f"in {folder}" if folder is not None else "here"
            raise InputError(
                f"this input of the report is not {searched}",
                where=str(path),
                remedy="name the folder it is in with --inputs",
            )
        now = next((file for file in hash_files(candidates) if file.sha256 == stored["sha256"]), None)
        if now is None:
            (now,) = hash_files(candidates[:1])
            raise InputError(
                f"is not the file that the report was made from (SHA-256 {now.sha256[:12]}…, {now.size} bytes;"
                f" then {stored['sha256'][:12]}…, {stored.get('bytes')} bytes)",
                where=now.path,
                remedy="find the original, or analyse this one anew",
            )
        paths[stored["path"]] = now.path
    return paths


def _list_candidates(path: Path, folder: Path | None, report_folder: Path) -> Iterator[Path]:
    """Where a file may be: in the folder named, with as much of its path as is there; else as then, or beside it."""
    if folder is None:
        yield path
        if not path.is_absolute():
            yield report_folder / path
    else:
        parts = [part for part in path.parts if part not in (path.anchor, "..")]
        inside = folder.resolve()
        for candidate in (folder.joinpath(*parts[k:]) for k in range(len(parts))):
            if candidate.resolve().is_relative_to(inside):  # no link leads out of the folder
                yield candidate


def _take_files(table: dict[str, Any], paths: Mapping[str, str], where: str) -> list[str]:
    """Take the files out of an analysis, as arguments that name where they are now; it may name no others."""

    def move(path: Any) -> str:
        if not isinstance(path, str) or path not in paths:
            raise InputError(
                f"{path!r} is not an input of the report", where=where, remedy="make the report again"
            )
        return f"./{paths[path]}" if paths[path].startswith("-") else paths[path]

    def move_option(key: str, value: Any) -> str:
        before, start, name = re.split("(topical:|intents=|$)", str(value), maxsplit=1)
        if key in ("kind", "read"):
            file, comma, rest = (name, "", "") if name in paths else name.partition(",")
            return f"{before}{start}{move(file)}{comma}{rest}" if start else str(value)
        # A size of the corpus and a pattern of names are not files.
        is_file = value in paths or (key != "instances" and not str(value).isdecimal())
        return move(value) if is_file else str(value)

    arguments = []
    for key in ("scores", "qrels", "runs", *NAMED_FILES):
        value = table.pop(key, [])
        for item in value if isinstance(value, list) else [value]:
            arguments += [f"--{key}", move_option(key, item)] if key in NAMED_FILES else [move(item)]
    return arguments


def compare_reports(before: Mapping[str, Any], after: Mapping[str, Any]) -> pd.DataFrame:
    """For each part of two reports: how many figures it has, how many differ, by how much at most, and the first."""
    rows = []
    for part in PARTS:
        then, now = (dict(_list_figures(_select_part(each, part), part)) for each in (before, after))
        gaps = {name: _relative_difference(then.get(name), now.get(name)) for name in {**then, **now}}
        first = next((name for name, gap in gaps.items() if gap > ROUNDING), "")
        rows.append(
            {
                "part": part,
                "figures": len(gaps),
                "different": sum(gap > ROUNDING for gap in gaps.values()),
                "largest_difference": max(gaps.values(), default=0.0),
                "first": f"{first}: {then.get(first)} then, {now.get(first)} now" if first else "",
            }
        )
    return pd.DataFrame(rows)


def _select_part(report: Mapping[str, Any], part: str) -> Any:
    if part == "scores":
        configuration = report.get("configuration")
        return {"sha256": configuration.get("scores_sha256") if isinstance(configuration, dict) else None}
    if part == "inputs":
        files = report.get("inputs")
        listed = [file for file in files if isinstance(file, dict)] if isinstance(files, list) else []
        return [{"name": file.get("name"), "sha256": file.get("sha256")} for file in listed]
    return report.get(part)


def _list_figures(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    """All single values within a piece of JSON, by where they stand."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _list_figures(item, f"{name}.{key}")
    elif isinstance(value, list):
        for k, item in enumerate(value):
            yield from _list_figures(item, f"{name}[{k}]")
    else:
        yield name, value


def _relative_difference(then: Any, now: Any) -> float:
    """Relative difference of two numbers; infinite where anything else differs."""
    if type(then) is type(now) and then == now:
        return 0.0
    numbers = all(isinstance(x, int | float) and not isinstance(x, bool) for x in (then, now))
    if not numbers or not (np.isfinite(then) and np.isfinite(now)):
        return float("inf")
    size = max(abs(then), abs(now))
    return 0.0 if size < 1e-12 else abs(then - now) / size
