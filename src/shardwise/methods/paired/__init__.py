"""Classic tests of topics, pair by pair or all pairs at once."""
