"""Collection x Splits x measures -> Scores, a labelled tensor."""
