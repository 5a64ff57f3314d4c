"""Studies built from the parts: simulation, classic tests, stability, design."""
