"""Votes: which of two systems is better, by prompts and voters, as strengths of Davidson's Bradley–Terry model."""
