"""The built-in training job: the same task, data and delays, trained by DDP and under policies, in real processes.

job.py       what to do: plain data, handed to every process in a folder
session.py   one process: all arms of the job, one after the other
ddp.py       plain DistributedDataParallel
rounds.py    `tailcut.Optimizer`, with or without `until_closed`
work.py      what both have in common: mini-batches, delays, gradients
notes.py     what a worker writes down: steps and looks at the net
summary.py   from all workers' notes to figures (pure, without torch)
"""
