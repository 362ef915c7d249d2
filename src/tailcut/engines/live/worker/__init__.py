"""The worker's side of a live run: the optimizer that wraps the user's, and what it needs."""
