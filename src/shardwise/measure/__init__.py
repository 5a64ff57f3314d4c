"""One ranking -> one number: definitions and compiled kernels."""
