"""What `bayes` claims, each claim with its table. `make bench-forecast`, or `python -m benchmarks.forecast [SECTION…]`.

One thread each for linear algebra, here and in the processes that are started: jobs share the cores, not threads.
"""

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
