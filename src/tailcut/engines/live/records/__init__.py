"""The record of a live run: a folder that the controller writes while nobody waits for it.

    rounds of the hub ─▶ listeners (listener.py) ─▶ run_files.py    run.json, rounds.jsonl, now.json
                                                 ├▶ straggling.py   stragglers.json, and a few lines at the end
                                                 └▶ scalars.py      TensorBoard
    folder ─▶ read.py ─▶ RecordedRun ─▶ replayable.py ─▶ a run-time table: what would other policies have made of it?
              now.py  ─▶ Now ─▶ the live view

Reading needs neither torch nor ZeroMQ. All file names are in files.py, the layout of a line in lines.py.
"""
