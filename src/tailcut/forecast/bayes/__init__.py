"""Bayes: filters over each worker's level, blended by how well they foresee, with what workers share as scenarios.

`levels` is the exact filter, `shape` the law that workers have in common, `pool` the law of all, `blend` the
weights of the variants, `context` and `deep` the pre-trained correction, `belief` all of that together,
`bayes` the forecaster made of it. Cells, own laws and shared factors are those of `trend`.
"""

from tailcut.forecast.bayes.bayes import Bayes
from tailcut.forecast.bayes.belief import BayesBelief

__all__ = ["Bayes", "BayesBelief"]
