"""Fault injection for live training, by a plan, and a checker that shares no code with the engine.

faults.py    a plan: which process is struck, where in the protocol, in what way; plain data, seeded
run.py       `tailcut launch` of job.py under a plan, with a time limit
job.py       the training of its workers, their journals, and the faults that they carry out on themselves
checker.py   checks, by the journals, that no update is lost, doubled or forked; `replay.py` makes them again
recovery.py  times, by the journals, until others continued, and until a killed worker took part again
bugs.py      bugs to put into the engine, each of which the checker must find
"""
