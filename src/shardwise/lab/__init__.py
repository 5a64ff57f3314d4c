"""Scenarios with known truth, and what methods do there."""
