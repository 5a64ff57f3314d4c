"""Charts for those who plan an experiment or a test collection, one module a module of `shardwise.planning`."""
