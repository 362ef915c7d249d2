"""Engines: the rounds of `tailcut.round` plus a clock and a transport."""
