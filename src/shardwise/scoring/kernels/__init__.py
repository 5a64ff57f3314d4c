"""Compiled scoring."""
