"""Analysis of variance: the models MD1 to MD6 and any other."""
