"""Is `bayes` regretted on clusters that nobody chose? `make bench-random`, or `python -m benchmarks.random`.

Each seed is a cluster of its own: size, laws and trouble are drawn from it. Policies are developed on the seeds 0 to 99
and judged on the seeds 5000 to 5099.

The processes use one thread each for linear algebra: jobs share the cores, not threads.
"""

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
