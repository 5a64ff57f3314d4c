"""Mixed models on arrays."""
