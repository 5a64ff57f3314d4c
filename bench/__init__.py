"""Side-by-side measurements; every figure is a ratio within one run."""
