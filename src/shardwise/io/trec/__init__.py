"""The byte level of TREC files: parsing, interning, ranking."""
