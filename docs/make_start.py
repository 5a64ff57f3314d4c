"""The start pages: every command in them is run on the same small files, and its real output put below it.

``python docs/make_start.py`` writes the pages anew; a test runs them and compares.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import sys
import tempfile
from pathlib import Path

from shardwise.cli.main import run

DOCS = Path(__file__).parent
PAGES = sorted(DOCS.glob("start-*.md"))
BLOCK = re.compile(r"^```console\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ shardwise (.*?)(?:\s+#.*)?$")
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
    """Write the files that the pages speak of: runs and judgments, and a table of answers of three models."""
    with contextlib.redirect_stdout(io.StringIO()):
        run([*CAMPAIGN, "--out", str(folder)])
    (folder / "answers.csv").write_bytes((DOCS / "start-answers.csv").read_bytes())


def output(arguments: str) -> str:
    """What a command prints."""
    with contextlib.redirect_stdout(io.StringIO()) as told:
        run(shlex.split(arguments))
    return told.getvalue()


def filled(page: str) -> str:
    """A page with the real output below each command of its console blocks."""

    def block(match: re.Match[str]) -> str:
        lines = []
        for line in match[1].splitlines():
            if found := COMMAND.match(line):
                shown = [text.rstrip() for text in output(found[1]).splitlines()]
                lines += [line, *shown[:MOST], *(["..."] if len(shown) > MOST else [])]
            elif line.startswith("$"):
                lines.append(line)
        return "```console\n" + "".join(f"{line}\n" for line in lines) + "```\n"

    return BLOCK.sub(block, page)


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
