"""A result -> a chart: draws, computes nothing."""
