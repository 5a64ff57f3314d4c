"""argv -> calls of the library."""
