"""The published forecaster: Teng & Wood, Bayesian Distributed Stochastic Gradient Descent (arXiv 1803.04209)."""

WHOSE = "Teng & Wood 2018"
PUBLISHED, CLOSED = "bdsgd", "bdsgd, see=closed"
"""The published policy, told all run times afterwards; and as it would run, cut workers imputed."""
