"""The published deep state-space model of run times (Teng & Wood 2018, arXiv 1803.04209), as a baseline.

`model.py` holds the learned numbers and needs numpy alone; `state_space.py`, `networks.py` and `forecaster.py` need
torch (`pip install 'tailcut[train]'`), so import them by name and only where they are used.
"""
