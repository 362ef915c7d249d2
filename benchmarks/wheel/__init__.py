"""What works after `pip install tailcut` with each extra, tried in empty environments with the built wheel.

rows.py       every command and public name, and the optional modules that it needs
attempt.py    one interpreter of such an environment: tries rows, prints what happened; stands alone
judge.py      whether a row did what its needs say: it worked, or printed the one sentence
__main__.py   real environments, made by `venv` and `pip`; prints the table
"""
