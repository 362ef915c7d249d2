"""What runs in every worker process of a live benchmark: a net, work that is mostly sleep, and trouble."""
