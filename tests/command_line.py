"""Commands run in this process, as their own would."""

from __future__ import annotations

import io
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from unittest import mock

import pytest

from shardwise.cli.main import main


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


PAIR_COLUMNS = [
    "a", "b", "difference", "lower", "upper", "se", "df", "statistic", "p", "p_adjusted", "effect_size"
]  # fmt: skip
