"""Results -> one HTML file that explains them, and tables for the paper."""
