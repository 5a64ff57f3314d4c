"""What a worker does with an analysis: read, compare, calibrate or repeat, by the code of the command line."""

from __future__ import annotations

import io
import json
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

from shardwise.analysis.analysis import Analysis
from shardwise.analysis.leaderboard import leaderboard
from shardwise.app.choices import not_sent
from shardwise.app.examples import EXAMPLES
from shardwise.app.reading import describe_files
from shardwise.app.summaries import describe_calibration_page, summarize_analysis
from shardwise.app.uploads import unpack_archives
from shardwise.cli import inputs as opt
from shardwise.cli.analyzing import analyze_measures
from shardwise.cli.checking import calibrate_methods as run_calibrate
from shardwise.cli.compare import MOST_PAIRS, pairs_table
from shardwise.cli.options import Format, list_commands
from shardwise.cli.output import Listener, emit, redirect_progress, render_table
from shardwise.cli.parsing import call_command, make_options
from shardwise.cli.repeat import repeat_report as run_repeat
from shardwise.core.errors import InputError
from shardwise.io.atomic import write_atomically
from shardwise.io.scores import read_scores
from shardwise.lab.calibrate import Calibration
from shardwise.writing.answer import write_title
from shardwise.writing.downloads import dump_json, report_json
from shardwise.writing.embedded import read_report
from shardwise.writing.html import render_report
from shardwise.writing.item_view import render_items
from shardwise.writing.paper import make_paper

COMPARE, CALIBRATE, REPEAT = (list_commands()[name,] for name in ("compare", "calibrate", "repeat"))
Texts = Mapping[str, Sequence[str]]
INPUTS = Path("inputs")  # below the folder of the analysis, in which the worker is while it works on it
RESULTS = Path("results")
ITEMS = "items-view.html"  # the element that the page holds
OTHER_FILES = ("human", "intents")  # options of a report that would read a file which was not sent


def do_work(kind: str, choices: Texts, limits: tuple[int, int], tell: Listener) -> dict[str, Any]:
    """Work on the analysis whose folder one is in.

    Parameters
    ----------
    kind
        read, compare, trust, calibrate or repeat.
    choices
        Options of the command, as they would be typed.
    limits
        Bytes and number of its files.
    tell
        Called with what is being done, how much of it, of how much.

    Returns
    -------
    dict
        The title, and whether error rates are to be simulated next.
    """
    with redirect_progress(tell):
        if kind == "read":
            return {"title": _read_files(choices, limits)}
        if not Path("reading.json").is_file():
            _read_files(choices, limits)
        title = _KINDS[kind](*_choose_inputs(kind, choices), tell)
        return {"title": title, "simulate": kind == "compare" and choices.get("calibration") != ["0"]}


def rehearse_work() -> Iterator[str]:
    """Read, compare and report an example, so that the first real analysis finds everything loaded.

    Yields
    ------
    str
        The step that was made.
    """
    with EXAMPLES["models"].open_path() as path:
        read_scores([path])
        yield "read"
        options = call_command(COMPARE, [path], {}, report=Path("report.html"), quiet=True)
        source = opt.InputReader(options).check()
        analysis = analyze_measures(options, source, source.read_input(), report=True, calibration=0)
        yield "compare"
    summarize_analysis(analysis)
    leaderboard(analysis).to_html(page=True)
    render_report(analysis)
    yield "report"
    _zip_paper(analysis)
    yield "paper"


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
    # the reading says which files are used
    choices = {name: value for name, value in choices.items() if name != "files"}
    if not (people := choices.get("human")):
        return inputs, choices
    if people[-1] not in {item["name"] for item in reading["files"]}:
        raise not_sent(people[-1])
    file = INPUTS / people[-1]
    return [path for path in inputs if path != file], {**choices, "human": [str(file)]}


def compare_systems(inputs: Sequence[Path], choices: Texts, tell: Listener) -> str:
    """Compare the systems by each measure: answer, report, leaderboard, paper, JSON and the TOML that repeats it.

    Error rates are not simulated here: nobody should wait for them to see the answer.

    Parameters
    ----------
    inputs
        The files.
    choices
        Options of ``shardwise compare``.
    tell
        Called with the progress.
    """
    options = call_command(COMPARE, inputs, choices, report=Path("report.html"))
    source = opt.InputReader(options).check()
    read = source.read_input()
    analysis = ranked = analyze_measures(options, source, read, report=True, calibration=0)
    if options.baseline:  # ranks need all pairs
        ranked = analyze_measures(options.change(baseline=[]), source, read)
    tell("writing the report", 0, 0)
    board = leaderboard(ranked, baseline=options.baseline or None)
    for_programs = options.change(format=Format.csv)
    with _collect_results() as folder:
        _write_reports(folder, analysis)
        for k, each in enumerate(analysis.each):
            if len(each.comparisons) <= MOST_PAIRS:
                pairs = render_table(pairs_table(each.comparisons, for_programs), Format.csv)
                (folder / _number_file("pairs.csv", k)).write_text(pairs, "utf-8", "backslashreplace")
        (folder / "leaderboard.html").write_text(board.to_html(page=True), "utf-8", "backslashreplace")
        (folder / "leaderboard.csv").write_text(
            render_table(board.to_frame(), Format.csv), "utf-8", "backslashreplace"
        )
        (folder / "paper.zip").write_bytes(_zip_paper(analysis))
        (folder / "summary.json").write_text(dump_json(summarize_analysis(analysis)))
    return write_title(analysis)


def simulate_trust(inputs: Sequence[Path], choices: Texts, tell: Listener) -> str:
    """Simulate the error rates of a comparison that is done, and put them into its reports.

    Parameters
    ----------
    inputs
        The files.
    choices
        Options of ``shardwise compare``.
    tell
        Called with the progress.
    """
    options = call_command(COMPARE, inputs, choices, report=Path("report.html"))
    source = opt.InputReader(options).check()
    budget = options.calibration or None
    analysis = analyze_measures(options, source, source.read_input(), report=True, calibration=budget)
    with tempfile.TemporaryDirectory(dir=".") as name:
        folder = Path(name)
        _write_reports(folder, analysis)
        (folder / "summary.json").write_text(dump_json(summarize_analysis(analysis)))
        # the summary last: it says that all is there
        for path in sorted(folder.iterdir(), key=lambda path: path.name == "summary.json"):
            path.replace(RESULTS / path.name)
    return write_title(analysis)


def _write_reports(folder: Path, first: Analysis) -> None:
    """The report of each measure, as a page and as JSON, and the TOML that repeats the first."""
    for k, analysis in enumerate(first.each):
        (folder / _number_file("report.html", k)).write_text(
            render_report(analysis), "utf-8", "backslashreplace"
        )
        (folder / _number_file("report.json", k)).write_text(dump_json(report_json(analysis)))
        if (view := render_items(analysis)) is not None:
            (folder / _number_file(ITEMS, k)).write_text(view.html, "utf-8", "backslashreplace")
    recipe = first.recipe
    assert recipe is not None
    (folder / "analysis.toml").write_text(recipe.toml, "utf-8")


def _number_file(name: str, k: int) -> str:
    return name if k == 0 else name.replace(".", f"-{k + 1}.")


def _zip_paper(analysis: Analysis) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in make_paper(analysis):
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
    options = call_command(CALIBRATE, inputs, choices).change(format=Format.json)

    def watch(some: Calibration, nouns: Mapping[str, str]) -> None:
        shown = describe_calibration_page(some, nouns, final=False)
        write_atomically("partial.json", dump_json(shown).encode())

    result = run_calibrate(options, watch, statements=False)
    lab, nouns = result.source
    assert result.table is not None
    with _collect_results() as folder:
        for format in (Format.json, Format.csv):
            text = render_table(
                result.table,
                format,
                title=result.lines[0],
                notes=result.notes,
                facts=result.facts,
                command=CALIBRATE.title,
            )
            (folder / f"calibration.{format}").write_text(text)
        (folder / "summary.json").write_text(dump_json(describe_calibration_page(lab, nouns)))
    sizes = lab.scores.partition("(")[2].partition(";")[0]
    return f"Error rates on data like yours: {sizes}"


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
        values = {"report": inputs[0], "inputs": INPUTS, "out": folder / "report.html"}
        options = make_options(REPEAT, values | {"format": Format.json, "quiet": True})
        with redirect_stdout(out):
            # numbers that differ are an answer too
            emit(run_repeat(options), options)
        result = json.loads(out.getvalue())
        (folder / "repeat.json").write_text(dump_json(result))
        (folder / "summary.json").write_text(dump_json(result))
    return f"Repeated: {inputs[0].name}"


_KINDS: dict[str, Callable[[Sequence[Path], Texts, Listener], str]] = {
    "compare": compare_systems,
    "trust": simulate_trust,
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
