"""The command line in this process: words in, exit code, output, errors and new files out."""

from __future__ import annotations

import contextlib
import io
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from fuzz.cases import FOLDER, Wrong
from shardwise.cli.main import main


@dataclass(frozen=True)
class Done:
    """What a command did."""

    words: tuple[str, ...]
    code: int
    out: str
    err: str
    files: dict[str, bytes]

    def explain(self) -> str:
        """Return the command with its exit code and errors, for messages."""
        return f"shardwise {' '.join(self.words)}: exit {self.code}: {self.err[-300:]}"


def write_inputs(files: dict[str, bytes], name: str = "terminal") -> Path:
    """Return a new folder with these files."""
    folder = FOLDER / name
    shutil.rmtree(folder, ignore_errors=True)
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _list_files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def run_line(folder: Path, *words: str) -> Done:
    """Run a command in a folder; refuse what no command may do, whatever its words are."""
    before = _list_files(folder)
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    code = 0
    with (
        contextlib.chdir(folder),
        mock.patch.object(sys, "argv", ["shardwise", *words]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as stopped:
            code = int(stopped.code or 0)
    texts = [stream.buffer.getvalue().decode() for stream in (out, err)]  # type: ignore[attr-defined]
    after = _list_files(folder)
    done = Done(words, code, *texts, {name: text for name, text in after.items() if before.get(name) != text})
    if any(after.get(name) != text for name, text in before.items() if name not in words):
        raise Wrong(f"inputs changed: {done.explain()}")
    if code not in (0, 2, 3) or (code == 3 and words[0] != "gate"):
        raise Wrong(done.explain())
    if "Traceback" in done.err or "Warning" in done.err:
        raise Wrong(done.explain())
    if code == 2:
        if len(done.err.strip().splitlines()) != 1:
            raise Wrong(f"not one line: {done.explain()}")
        if done.out or done.files:
            raise Wrong(f"half-written {done.out[:80]!r} {sorted(done.files)}: {done.explain()}")
    return done


def run_well(folder: Path, *words: str) -> Done:
    """Run a command that has to succeed."""
    done = run_line(folder, *words)
    if done.code == 2:
        raise Wrong(done.explain())
    return done
