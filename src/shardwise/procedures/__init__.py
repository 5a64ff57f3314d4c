"""The vocabulary of methods: fit, correction and claim under one name."""

from __future__ import annotations

from shardwise.procedures.procedure import Procedure
from shardwise.procedures.vocabulary import available, parse

__all__ = ["Procedure", "available", "parse"]
