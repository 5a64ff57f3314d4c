"""The options of each command: light enough that help needs nothing else."""
