"""Files and objects into collections and scores, and back."""
