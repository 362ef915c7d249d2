"""Benchmarks of live training under deaths, freezes, cut networks and restarts, judged by a checker."""
