"""Check what works after `pip install tailcut` with each extra, in empty environments with the built wheel.

rows.py       every command and public name, and the optional modules that it needs
attempt.py    runs in such an environment without the other modules: tries rows, prints the outcomes
judge.py      whether a row did what its needs say: it worked, or printed the one sentence
__main__.py   real environments, made by `venv` and `pip`; prints the table
"""
