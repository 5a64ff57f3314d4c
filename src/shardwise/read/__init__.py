"""files -> Collection, files -> scores."""
