"""The record of a run: a folder that the engine writes while no worker waits for it.

    rounds, standing.py ─▶ listeners (listener.py) ─▶ run_files.py    run.json, rounds.jsonl, now.json
                                                 ├▶ straggling.py   stragglers.json, and a few lines at the end
                                                 └▶ scalars.py      TensorBoard
    folder ─▶ read.py ─▶ RecordedRun ─▶ replayable.py ─▶ a run-time table: what would other policies have made of it?
              now.py  ─▶ Now ─▶ the live view

Reading needs neither torch nor ZeroMQ. All file names are in files.py, the layout of a line in lines.py.
"""
