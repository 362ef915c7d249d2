"""Delays put into real training, so that a straggling cluster can be felt on one machine.

table of run times ─▶ delays.py (which seconds; pure) ─▶ ways.py (how they pass: asleep, busy, in a C call)
"""
