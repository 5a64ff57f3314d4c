"""Documents into shards."""
