"""The law of resampled means."""
