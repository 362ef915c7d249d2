"""Trouble for live training, by a plan, and a judge of what came of it who knows nothing of the engine.

faults.py    a plan: who is struck, where in the protocol, in what way; plain data, seeded, replayable
run.py       `tailcut launch` of job.py under a plan, never longer than a limit
job.py       what its workers train, their journals, and the strikes that they carry out on themselves
checker.py   from the journals alone: no update lost, doubled or forked; `replay.py` makes the updates once more
recovery.py  likewise: how long it took until the others went on, and until who was killed took part again
bugs.py      mistakes to make in the engine, each of which the checker must find
"""
