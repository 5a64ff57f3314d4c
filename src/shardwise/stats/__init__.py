"""Pure functions of arrays: distributions, corrections, intervals, groups, resampling, least squares."""
