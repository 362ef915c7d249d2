"""Facts of each plot of a study: pure functions from a `CaseFacts` to named tuples. Nothing here knows how to draw."""
