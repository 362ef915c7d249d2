"""One thread for numpy's matrices, unless the environment says otherwise; to be imported before numpy is.

They are small: a second thread takes more than it gives, and turns idly between two of them, for tens of
milliseconds, on a processor that somebody needs.
"""

import os

if "OMP_NUM_THREADS" not in os.environ:
    # Which numpy would go by as well, were the other not there.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
