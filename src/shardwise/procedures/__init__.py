"""The vocabulary of methods: fit, correction and claim under one name."""

from __future__ import annotations

from shardwise.procedures.batch import Procedure
from shardwise.procedures.registry import parse_procedure as parse
from shardwise.procedures.registry import procedures as available

__all__ = ["Procedure", "available", "parse"]
