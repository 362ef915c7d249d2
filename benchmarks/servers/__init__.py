"""Training on Ray: what a round costs, what shards and workers change, what dropped gradients cost in traffic."""
