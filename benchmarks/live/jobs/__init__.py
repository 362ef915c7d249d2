"""The job of each worker process in a live benchmark: a net, work that is mostly sleep, and delays."""
