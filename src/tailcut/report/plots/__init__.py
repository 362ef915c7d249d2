"""The data of each plot: pure functions from a `SourceFacts` to named tuples, without any drawing."""
