"""Limits numpy's linear algebra to one thread, unless the environment sets a number; import before numpy.

The matrices are small: a second thread costs more time than it saves. Between two operations it spins for
tens of milliseconds on a core that another process needs.
"""

import os

if "OMP_NUM_THREADS" not in os.environ:
    # OpenBLAS would read OMP_NUM_THREADS too, if its own variable were not set.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
