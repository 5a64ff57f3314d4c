"""Methods that turn tables of scores into estimates, one package a family."""
