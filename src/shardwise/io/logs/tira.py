"""Evaluations of TIRA and TIREx: ``evaluation.prototext`` holds means only."""

from __future__ import annotations

import re

from shardwise.io.logs.registry import Reader
from shardwise.io.logs.source import LogSource


def explain_means(source: LogSource) -> str:
    """Say where the scores are, if a file is an evaluation."""
    known = source.ending == ".prototext" and re.match(rb"\s*measure\s*\{", source.head)
    return "give the runs and their judgments, which shardwise scores itself" if known else ""


READER = Reader("TIRA evaluation", lambda source: False, lambda source: [], explain_means)
