"""Grids of trainings in virtual time: task × cluster × arm × seed, each run a journal in a folder."""
