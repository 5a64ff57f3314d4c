"""The same answer in a browser: a small server on one's own machine, over the analysis and the report."""
