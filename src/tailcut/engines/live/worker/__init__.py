"""What runs in every worker: the optimiser that users wrap theirs in, and its line to the controller."""
