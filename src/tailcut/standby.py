"""`python -m tailcut.standby`: has everything loaded, and is a controller once standard input says so.

Loading takes most of a second of a core, in the midst of a training that needs them all. It is done by a thread of the
lowest priority; who loads ends with that, so the controller that this process may become has the usual one. Its end is
told by a line of standard output: on a busy machine it can take a minute, and another process is there sooner.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from contextlib import suppress

LOWEST = 19
LOADED = "loaded"


def main() -> None:
    """Load, wait, and serve; end with standard input."""
    loading = threading.Thread(target=_load)
    loading.start()
    loading.join()
    with suppress(OSError):  # whoever started it has gone
        print(LOADED, flush=True)
    asked = sys.stdin.readline()
    if asked:
        from tailcut.cli import main as command_line

        # Its exit code tells the launcher whether another has to take its place.
        command_line(json.loads(asked))


def _load() -> None:
    # Only Linux knows priorities of threads; elsewhere there is nothing to be done.
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), LOWEST)
    import tailcut.cli.controller_command
    import tailcut.engines.live.controller.serve
    import tailcut.engines.records.learnt
    import tailcut.engines.records.start  # noqa: F401


if __name__ == "__main__":
    main()
