"""The published forecaster: Teng & Wood, Bayesian Distributed Stochastic Gradient Descent (arXiv 1803.04209)."""

WHOSE = "Teng & Wood 2018"
PUBLISHED, CLOSED = "bdsgd", "bdsgd, see=closed"
"""Names of the published policy: given all run times after each round, and imputing those of cut workers."""
