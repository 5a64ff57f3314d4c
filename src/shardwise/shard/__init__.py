"""Collection -> Splits: which document belongs to which shard."""
