"""Scores by a judge for all items and by people for some: language models that judge, corrected by those who know."""

from __future__ import annotations

from shardwise.methods.judges.method import labels_worth as labels_worth
from shardwise.methods.judges.method import measure_agreement as measure_agreement
from shardwise.methods.judges.method import measure_raters as measure_raters
from shardwise.methods.judges.method import subtract_people as subtract_people
from shardwise.methods.judges.method import with_human as with_human

__all__ = ["labels_worth", "measure_agreement", "measure_raters", "subtract_people", "with_human"]
