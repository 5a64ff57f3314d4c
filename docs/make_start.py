"""The home page and the start page: every command and every call is run on the same small files, its real output below.

``python docs/make_start.py`` writes the pages anew; a test runs them and compares.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import random
import re
import shlex
import sys
import tempfile
from pathlib import Path

from shardwise.cli.main import run_command

DOCS = Path(__file__).parent
EXAMPLES = DOCS.parent / "src" / "shardwise" / "app" / "examples"
HOME, START = DOCS / "index.md", DOCS / "start.md"
PAGES = (HOME, START)
BLOCK = re.compile(r"^```console\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
CALL = re.compile(
    r"^```python\n(import shardwise as sw\n.*?)^```\n\n```text\n.*?^```\n", re.MULTILINE | re.DOTALL
)
COMMAND = re.compile(r"^\$ shardwise (.*?)(?:\s+#.*)?$")
SECTION = re.compile(r"^## .*\{ #(\w+) \}$", re.MULTILINE)
MOST = 14  # lines of output that a page shows of one command
CAMPAIGN = (
    "simulate",
    "--topics",
    "40",
    "--systems",
    "8",
    "--depth",
    "100",
    "--corpus",
    "20000",
    "--seed",
    "3",
)


def prepare(folder: Path) -> None:
    """Write the files that the pages speak of: runs and judgments, and answers of three models as tables and logs.

    Parameters
    ----------
    folder : Path
        Where the files go.
    """
    with contextlib.redirect_stdout(io.StringIO()):
        run_command([*CAMPAIGN, "--out", str(folder)])
    answers = (EXAMPLES / "answers.csv").read_text()
    for name in ("answers.csv", "scores.csv"):
        (folder / name).write_text(answers)
    rows = list(csv.DictReader(answers.splitlines()))
    head, *lines = answers.splitlines()
    for name, model in (("base", "medium"), ("new", "large")):
        (folder / f"{name}.csv").write_text(
            "\n".join([head, *(line for line in lines if f",{model}," in line)])
        )
    write_experiment(folder / "ab.csv")
    (folder / "datasets.csv").write_text((DOCS / "notebooks" / "datasets.csv").read_text())
    (folder / "logs").mkdir()
    for model in dict.fromkeys(row["model"] for row in rows):
        samples = [
            {
                "id": row["question"],
                "epoch": int(row["seed"]) + 1,
                "scores": {"match": {"value": "C" if row["correct"] == "1" else "I"}},
                "metadata": {"passage": (int(row["question"].removeprefix("q")) - 1) // 5},
            }
            for row in rows
            if row["model"] == model
        ]
        log = {
            "version": 2,
            "status": "success",
            "eval": {"model": model, "task": "reading"},
            "samples": samples,
        }
        (folder / "logs" / f"{model}.json").write_text(json.dumps(log))


def write_experiment(path: Path) -> None:
    """Write what the users of two variants paid during a test, and before it.

    Parameters
    ----------
    path : Path
        The file.
    """
    rng = random.Random(7)
    with path.open("w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["user", "variant", "country", "revenue", "before"])
        for user in range(3_000):
            variant, country = rng.choice("AB"), rng.choice(("DE", "FR", "US"))
            taste = rng.gammavariate(4.0, 1.0)
            before, revenue = (taste * rng.gammavariate(4.0, 0.5) for _ in range(2))
            gain = 1.05 if variant == "B" else 1.0
            out.writerow([f"u{user}", variant, country, f"{gain * revenue:.2f}", f"{before:.2f}"])


def sections(page: str) -> dict[str, str]:
    """Cut a page at its headings with an anchor, one a reader.

    Parameters
    ----------
    page : str
        Text of the start page.

    Returns
    -------
    dict
        Text of each section by its anchor.
    """
    parts = SECTION.split(page)
    return {anchor: text.partition("\n## ")[0] for anchor, text in zip(parts[1::2], parts[2::2], strict=True)}


def output(arguments: str) -> str:
    """Return what a command prints.

    Parameters
    ----------
    arguments : str
        The command line behind the name of the program.

    Returns
    -------
    str
    """
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        run_command(shlex.split(arguments))
    return printed.getvalue()


def call_output(code: str) -> str:
    """Return what a block of Python prints.

    Parameters
    ----------
    code : str
        Lines of Python.

    Returns
    -------
    str
    """
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(code, {})
    return printed.getvalue()


def filled(page: str) -> str:
    """Return a page with the real output below each command of its console blocks and each call of its examples.

    Parameters
    ----------
    page : str
        Text of a page.

    Returns
    -------
    str
    """

    def fill_commands(match: re.Match[str]) -> str:
        lines = []
        for line in match[1].splitlines():
            if command := COMMAND.match(line):
                shown = [text.rstrip() for text in output(command[1]).splitlines()]
                lines += [line, *shown[:MOST], *(["..."] if len(shown) > MOST else [])]
            elif line.startswith("$"):
                lines.append(line)
        return "```console\n" + "".join(f"{line}\n" for line in lines) + "```\n"

    def fill_call(match: re.Match[str]) -> str:
        shown = "".join(f"{line.rstrip()}\n" for line in call_output(match[1]).splitlines())
        return f"```python\n{match[1]}```\n\n```text\n{shown}```\n"

    return CALL.sub(fill_call, BLOCK.sub(fill_commands, page))


def main() -> None:
    """Write the pages anew."""
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder))
        before = Path.cwd()
        os.chdir(folder)
        try:
            for page in PAGES:
                page.write_text(filled(page.read_text()))
                sys.stdout.write(f"{page.name}\n")
        finally:
            os.chdir(before)


if __name__ == "__main__":
    main()
