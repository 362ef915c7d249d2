"""Training of run-time models: a loop that stops early, can be interrupted, and can be resumed."""
