"""Scores x Model -> Fit -> Estimates."""
