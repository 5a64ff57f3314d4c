"""The nouns, and what every part needs: claims, scores, errors, arguments, random numbers."""
