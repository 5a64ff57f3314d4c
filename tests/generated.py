"""Files that are made from the code and kept."""

STALE = "is not what the code makes now: run make generate, and look at the difference"
