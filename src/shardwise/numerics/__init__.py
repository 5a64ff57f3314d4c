"""Every statistic once, as pure functions on arrays."""
