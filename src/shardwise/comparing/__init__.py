"""Estimates into comparisons, and what follows from them."""
