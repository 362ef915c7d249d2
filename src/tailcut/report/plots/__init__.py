"""Facts of each plot: pure functions from a `SourceFacts` to named tuples. Nothing here knows how to draw."""
