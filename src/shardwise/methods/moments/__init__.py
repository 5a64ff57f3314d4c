"""Comparisons of any number of items from counts, means and cross-products."""
