"""What a worker does with an analysis: read, compare, calibrate or repeat, by the code of the command line."""

from __future__ import annotations

import io
import json
import shutil
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from shardwise.analysis.analysis import Analysis
from shardwise.analysis.leaderboard import leaderboard
from shardwise.app.choices import not_sent
from shardwise.app.reading import describe_files
from shardwise.app.uploads import unpack_archives
from shardwise.cli import inputs as opt
from shardwise.cli.analyzing import analyze_measures
from shardwise.cli.calibrate import describe_calibration
from shardwise.cli.commands import CalibrateOptions, CompareOptions, RepeatOptions
from shardwise.cli.options import Format
from shardwise.cli.output import Listener, redirect_progress, render_table
from shardwise.cli.repeat import repeat_report as run_repeat
from shardwise.cli.shared import call_command
from shardwise.core.errors import InputError
from shardwise.io.atomic import write_atomically
from shardwise.lab.calibrate import Calibration, calibrate
from shardwise.planning.components import variance_components
from shardwise.writing.answer import write_answer, write_scope, write_title
from shardwise.writing.downloads import dump_json, report_json
from shardwise.writing.embedded import read_report
from shardwise.writing.html import render_report
from shardwise.writing.paper import make_paper

Texts = Mapping[str, Sequence[str]]
INPUTS = Path("inputs")  # below the folder of the analysis, in which the worker is while it works on it
RESULTS = Path("results")
OTHER_FILES = ("human", "intents")  # options of a report that would read a file which was not sent
UNSETTLED = ["shown", "intervals"]  # what a calibration shows, which is not said before its end


def do_work(kind: str, choices: Texts, limits: tuple[int, int], tell: Listener) -> str:
    """Work on the analysis whose folder one is in, and return its title.

    Parameters
    ----------
    kind
        read, compare, calibrate or repeat.
    choices
        Options of the command, as they would be typed.
    limits
        Bytes and number of its files.
    tell
        Called with what is being done, how much of it, of how much.
    """
    with redirect_progress(tell):
        if kind == "read":
            return _read_files(choices, limits)
        if not Path("reading.json").is_file():
            _read_files(choices, limits)
        return _KINDS[kind](*_choose_inputs(kind, choices), tell)


def _read_files(choices: Texts, limits: tuple[int, int]) -> str:
    unpack_archives(INPUTS, *limits)
    reading = describe_files(INPUTS, choices)
    write_atomically("reading.json", json.dumps(reading).encode())
    names = [Path(file["name"]).name for file in reading["files"]]
    return f"{', '.join(names[:2])} and {len(names) - 2} more files" if len(names) > 3 else ", ".join(names)


def _choose_inputs(kind: str, choices: Texts) -> tuple[list[Path], Texts]:
    """The files that are compared, and the choices, with the place of the one that holds scores by people."""
    reading = json.loads(Path("reading.json").read_bytes())
    if reading["problem"]:
        raise InputError(reading["problem"])
    if (reading["kind"] == "report") != (kind == "repeat"):
        raise InputError("only a report can be repeated", remedy="make an analysis of another kind")
    inputs = [Path(name) for name in reading["inputs"]]
    if not (people := choices.get("human")):
        return inputs, choices
    if people[-1] not in {item["name"] for item in reading["files"]}:
        raise not_sent(people[-1])
    file = INPUTS / people[-1]
    return [path for path in inputs if path != file], {**choices, "human": [str(file)]}


def compare_systems(inputs: Sequence[Path], choices: Texts, tell: Listener) -> str:
    """Compare the systems by each measure: report, leaderboard, paper, JSON and the TOML that repeats it.

    Parameters
    ----------
    inputs
        The files.
    choices
        Options of ``shardwise compare``.
    tell
        Called with the progress.
    """
    with call_command("compare", CompareOptions, inputs, choices, report=Path("report.html")) as options:
        source = opt.InputReader.from_options(options)
        read = source.read_input()
        analyses = analyze_measures(options, source, read, report=True, calibration=options.calibration)
        ranked = analyses
        if options.baseline:  # ranks need all pairs
            ranked = analyze_measures(replace(options, baseline=[]), source, read)
        tell("writing the report", 0, 0)
        board = leaderboard(*ranked, baseline=options.baseline or None)
        with _collect_results() as folder:
            for k, analysis in enumerate(analyses):
                (folder / _number_file("report.html", k)).write_text(
                    render_report(analysis), "utf-8", "backslashreplace"
                )
                (folder / _number_file("report.json", k)).write_text(dump_json(report_json(analysis)))
            (folder / "leaderboard.html").write_text(board.to_html(page=True), "utf-8", "backslashreplace")
            (folder / "leaderboard.csv").write_text(
                render_table(board.to_frame(), Format.csv), "utf-8", "backslashreplace"
            )
            (folder / "paper.zip").write_bytes(_zip_paper(analyses))
            recipe = analyses[0].recipe
            assert recipe is not None
            (folder / "analysis.toml").write_text(recipe.toml, "utf-8")
            (folder / "summary.json").write_text(
                dump_json(_summarize_analyses(analyses, write_answer(ranked[0])))
            )
    return write_title(analyses[0])


def _number_file(name: str, k: int) -> str:
    return name if k == 0 else name.replace(".", f"-{k + 1}.")


def _summarize_analyses(analyses: Sequence[Analysis], ranks: str) -> dict[str, Any]:
    """What the page says above the report."""
    return {
        "measures": [
            {
                "measure": item.measure,
                "headline": write_answer(item),
                "scope": write_scope(item),
                "report": _number_file("report.html", k),
                "json": _number_file("report.json", k),
            }
            for k, item in enumerate(analyses)
        ],
        "heading": write_scope(analyses[0]),
        "ranks": ranks,
        "warnings": [
            {"name": item.name, "remedy": item.remedy}
            for item in analyses[0].remarks
            if item.warning and item.name
        ],
        "variance": None if analyses[0].power is None else analyses[0].power.sigma_sq,
        "components": _estimate_components(analyses[0]),
        "topics": analyses[0].topics,
        "systems": len(analyses[0].systems),
    }


def _estimate_components(analysis: Analysis) -> dict[str, float] | None:
    """What scores with seeds vary by, for planning."""
    if "instance" not in analysis.scores.dims or bool(analysis.scores.isnull().any()):
        return None
    return dict(variance_components(analysis.scores))


def _zip_paper(analyses: Sequence[Analysis]) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in make_paper(*analyses):
            archive.writestr(zipfile.ZipInfo(f"paper/{file.name}"), file.content, zipfile.ZIP_DEFLATED)
    return held.getvalue()


def calibrate_methods(inputs: Sequence[Path], choices: Texts, tell: Listener) -> str:
    """Try methods on tables like the scores; rates are there to be seen as they fill in.

    Parameters
    ----------
    inputs
        The files.
    choices
        Options of ``shardwise calibrate``.
    tell
        Called with the progress.
    """
    Path("partial.json").unlink(missing_ok=True)  # of a run that was cancelled
    with call_command("calibrate", CalibrateOptions, inputs, choices) as options:
        opt.parse_fill(options.fill)
        read = opt.InputReader.from_options(options).one_measure().read_input()
        scores, gaps = opt.fill_gaps(opt.pick_measure(read), options.fill)
        if "split" in scores.dims and scores.sizes["split"] == 1:
            scores = scores.isel(split=0, drop=True)
        lab = calibrate(
            scores,
            options.method or None,
            alpha=options.alpha,
            repetitions=options.repetitions,
            budget=options.budget,
            seed=options.seed,
            progress=lambda done, total: tell("simulating", done, total),
            watch=lambda some: write_atomically(
                "partial.json", dump_json(_describe_rates(some, UNSETTLED)).encode()
            ),
        )
        with _collect_results() as folder:
            facts, notes = describe_calibration(lab), (*read.notes, *gaps)
            shown = render_table(
                lab.to_frame(), Format.json, title=lab.text(command=True), notes=notes, facts=facts
            )
            (folder / "calibration.json").write_text(shown)
            (folder / "calibration.csv").write_text(render_table(lab.to_frame(), Format.csv))
            (folder / "summary.json").write_text(dump_json(_describe_rates(lab)))
    sizes = lab.scores.partition("(")[2].partition(";")[0]
    return f"Which methods hold on {sizes}?"


def _describe_rates(lab: Calibration, without: Sequence[str] = ()) -> dict[str, Any]:
    frame = lab.shown().drop(columns=list(without))
    return {
        "columns": [str(name) for name in frame.columns],
        "rows": [[str(value) for value in row] for row in frame.itertuples(index=False)],
        "about": lab.text().partition("\n\n")[0],
        "verdicts": [_without_code(verdict.text(command=False)) for verdict in lab.verdicts],
    }


def _without_code(verdict: str) -> str:
    """A verdict without the line that says what to type."""
    return "\n".join(line for line in verdict.splitlines() if not line.lstrip().startswith("now: "))


def repeat_report(inputs: Sequence[Path], choices: Texts, tell: Listener) -> str:
    """Make a report again from its inputs, and say whether the numbers are the same.

    Parameters
    ----------
    inputs
        The report.
    choices
        None: the report says what is to be done.
    tell
        Called with the progress.
    """
    recipe = read_report(inputs[0]).get("recipe")
    text = recipe.get("toml") if isinstance(recipe, dict) else None
    if isinstance(text, str) and any(word in text for word in OTHER_FILES):
        raise InputError(
            "names files beside its inputs", where=inputs[0].name, remedy="repeat it on the command line"
        )
    with _collect_results() as folder:
        out = io.StringIO()
        options = RepeatOptions(
            report=inputs[0], inputs=INPUTS, out=folder / "report.html", format=Format.json, quiet=True
        )
        try:
            with redirect_stdout(out):
                run_repeat(options)
        except typer.Exit:
            pass  # the numbers differ, which is an answer
        result = json.loads(out.getvalue())
        (folder / "repeat.json").write_text(dump_json(result))
        (folder / "summary.json").write_text(dump_json(result))
    return f"Repeated: {inputs[0].name}"


_KINDS: dict[str, Callable[[Sequence[Path], Texts, Listener], str]] = {
    "compare": compare_systems,
    "calibrate": calibrate_methods,
    "repeat": repeat_report,
}


@contextmanager
def _collect_results() -> Iterator[Path]:
    """A folder that becomes the results when all is written: they are there whole, or not at all."""
    draft = Path("results.partial")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir()
    yield draft
    if RESULTS.exists():
        raise InputError("this analysis has its results already")
    draft.rename(RESULTS)
