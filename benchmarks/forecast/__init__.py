"""Benchmarks of `bayes`, a table for each claim.

`make bench-forecast`, or `python -m benchmarks.forecast [SECTION…]`.

Linear algebra uses one thread here and in each process started, because jobs share the cores.
"""

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
