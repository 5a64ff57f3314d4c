"""Measures written out in numpy, one function a measure: those that are asked for too seldom to be compiled."""
