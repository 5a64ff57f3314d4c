"""Measures, and rankings into scores."""
