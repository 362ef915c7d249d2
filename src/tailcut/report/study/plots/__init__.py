"""The data of each plot of a study: pure functions from a `CaseFacts` to named tuples, without drawing."""
