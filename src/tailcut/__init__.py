"""Synchronous SGD that stops waiting at the right moment."""
