"""Evaluations of TIRA and TIREx: ``evaluation.prototext`` holds means only."""

from __future__ import annotations

import re

from shardwise.io.logs.log import Log
from shardwise.io.logs.registry import Reader
from shardwise.io.logs.source import LogSource


def recognize_nothing(source: LogSource) -> bool:
    """Return that no file of TIRA holds scores of single items."""
    return False


def explain_means(source: LogSource) -> str:
    """Say where the scores are, if a file is an evaluation."""
    known = source.ending == ".prototext" and re.match(rb"\s*measure\s*\{", source.head)
    return "give the runs and their judgments, which shardwise scores itself" if known else ""


def read_nothing(source: LogSource) -> list[Log]:
    """Return no logs."""
    return []


READER = Reader("TIRA evaluation", recognize_nothing, read_nothing, explain_means)
