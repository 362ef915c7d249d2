"""Is `bayes` ever regretted? `make bench-anywhere`, or `python -m benchmarks.anywhere [SECTION…]`.

A policy is regretted where a fixed choice in hindsight would have been clearly better: the best fixed cutoff, the best
fixed deadline, or waiting for all. The sections play run-time laws that the policy was not written for.

The processes use one thread each for linear algebra: jobs share the cores, not threads.
"""

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
