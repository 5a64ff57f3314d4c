"""What a measure is."""
