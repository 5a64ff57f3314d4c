"""Logs of evaluation programs: lm-evaluation-harness and inspect_ai."""
