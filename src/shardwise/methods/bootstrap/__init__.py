"""The distribution of resampled means."""
