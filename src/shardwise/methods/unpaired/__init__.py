"""Systems that met different items: Welch and Games–Howell, with clusters and a covariate."""
