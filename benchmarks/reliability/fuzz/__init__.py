"""An attack on the ports of a live run while it goes on.

honest.py     the run: a controller in one process, its workers in another; all they come to is known beforehand
watched.py    that run as its attacker sees it: started, looked at, ended
letters.py    what is sent: random, truncated, oversized, replayed and mutated messages, and nonsense
insiders.py   who sends it with the run's key
strangers.py  who sends it without
attack.py     all of it, and what came of it
"""
