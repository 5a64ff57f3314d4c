"""Tests of systems that give another result each time (J15)."""
