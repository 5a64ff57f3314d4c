"""Estimates -> Comparisons: it never sees a fit or a score."""
