"""Commands run in this process, as their own would."""

from __future__ import annotations

import io
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import pytest

from shardwise.cli.inputs import InputReader
from shardwise.cli.main import main
from shardwise.cli.options import list_commands
from shardwise.cli.parsing import Options, make_options


@dataclass(frozen=True)
class Done:
    returncode: int
    stdout: str
    stderr: str


def shardwise(*arguments: object) -> Done:
    """Run a command in this process, as its own would."""
    out, err = io.StringIO(), io.StringIO()
    with (
        mock.patch.object(sys, "argv", ["shardwise", *map(str, arguments)]),
        redirect_stdout(out),
        redirect_stderr(err),
        pytest.raises(SystemExit) as stopped,
    ):
        main()
    return Done(int(stopped.value.code or 0), out.getvalue(), err.getvalue())


def options_of(command: str, **values: object) -> Options:
    """The options of a command with these values."""
    return make_options(list_commands()[tuple(command.split())], values)


def reader_of(*inputs: Path, **values: object) -> InputReader:
    """What reads the inputs of a comparison with these options."""
    return InputReader(options_of("compare", inputs=list(inputs), **values))


PAIR_COLUMNS = [
    "a", "b", "difference", "lower", "upper", "se", "df", "statistic", "p", "p_adjusted", "effect_size"
]  # fmt: skip
