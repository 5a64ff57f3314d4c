"""What all families of cases share: how a target is made and tried, and the folder of its files."""

from __future__ import annotations

import os
import random
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fuzz.guard import guarded_parser
from shardwise.core.errors import InputError

FOLDER = (
    Path(tempfile.gettempdir() if not os.path.isdir("/dev/shm") else "/dev/shm")
    / f"shardwise-fuzz-{os.getpid()}"
)


class Wrong(AssertionError):
    """The program and an independent one differ, or the program and what is known of the case."""


@dataclass(frozen=True, slots=True)
class Target:
    """How cases are made and tried; ``weight`` is its share of the cases."""

    make: Callable[[random.Random], Any]
    attempt: Callable[[Any], str]
    weight: float


def try_case(target: Target, name: str, seed: int, index: int) -> str:
    """Try case ``index`` of a target; what is wrong is raised."""
    case = target.make(random.Random(f"{seed}/{name}/{index}"))
    try:
        with warnings.catch_warnings(), guarded_parser():
            warnings.simplefilter("error")
            return target.attempt(case)
    except InputError:
        return "refused"
