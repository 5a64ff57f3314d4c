"""Any scores into one answer: the claims, the procedures, what they found, and how far it can be trusted."""
