"""Measures: what they are, what they are called, and what a grade and a rank count in them."""

from shardwise.scoring.measures.names import Measure, parse_measure, parse_measures

__all__ = ["Measure", "parse_measure", "parse_measures"]
