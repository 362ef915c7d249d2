"""Readers of data sets: each file is checked before memory is allocated, and errors are one sentence."""
