"""Random clusters: one whole number, the seed, determines all ingredients of a cluster.

`recipe_of` turns a seed into a `Recipe`, a frozen record of ingredients; `RandomCluster` draws run times from a recipe.
Nothing is tuned on them by hand, so a policy that holds on a hundred of them is not fitted to a few named clusters.
"""

from tailcut.clusters.random.choose import recipe_of
from tailcut.clusters.random.cluster import RandomCluster, random_cluster
from tailcut.clusters.random.recipe import Recipe

__all__ = ["RandomCluster", "Recipe", "random_cluster", "recipe_of"]
