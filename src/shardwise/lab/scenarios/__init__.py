"""Where score tables come from whose truth is known."""
