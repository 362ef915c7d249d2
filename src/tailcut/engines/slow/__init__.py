"""Delays put into real training, so that one machine can stand in for a straggling cluster.

table of run times ─▶ delays.py (which seconds; pure) ─▶ ways.py (how they pass: asleep, busy, in a C call)
"""
