"""Models of labelled scores, ready to be compared."""
