"""Training on parameter servers: Ray actors around the rounds of `round.py`.

orders.py      the messages between driver, shards and workers
slices.py      which numbers of the net each shard holds                                    (pure)
shard.py       a piece of the parameters with its optimizer: every update once, in order    (torch)
computing.py   a worker's mini-batches, piece by piece                                      (torch)
course.py      rounds, as deeds for workers and shards                                      (pure)
reckoning.py   from gradients to an order, from answers to what they showed                 (pure)
actors.py      the processes                                                                (Ray)
shards.py      the driver's side of the shards: one manifest, all make an update or none    (Ray, asyncio)
crew.py        the driver's side of the workers: jobs, deaths, returns                      (Ray, asyncio)
driver.py      the loop that holds them together                                            (asyncio)
looks.py       evaluations of the net on held-out data
cluster.py     connecting to a cluster or starting one; failures.py: what Ray's errors mean
train.py       carrying out a plan
"""

from tailcut.extras import require

require("Training on Ray", "torch", "ray")
