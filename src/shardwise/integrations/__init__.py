"""Bridges to other tools: pipelines, ir_measures, data frames, trackers and inspect."""
