"""`python -m tailcut.standby`: a process with all modules loaded, which becomes a controller on request.

A line on standard input requests it. Loading takes most of a second of a core during a training that needs
all cores, so a thread of the lowest priority does it. The thread then ends, and a controller in this process
has the usual priority. A line on standard output reports that loading has ended: on a busy machine it can
take a minute, and then a new process is ready sooner.
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
    """Load the modules, wait for a request, and serve; end when standard input is closed."""
    loading = threading.Thread(target=_load)
    loading.start()
    loading.join()
    with suppress(OSError):  # The launcher has ended.
        print(LOADED, flush=True)
    asked = sys.stdin.readline()
    if asked:
        from tailcut.cli import main as command_line

        # The exit code tells the launcher whether a replacement controller is needed.
        command_line(json.loads(asked))


def _load() -> None:
    # Only Linux has priorities of threads; elsewhere the thread keeps the usual one.
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), LOWEST)
    import tailcut.cli.controller_command
    import tailcut.engines.live.controller.serve
    import tailcut.engines.records.learnt
    import tailcut.engines.records.start  # noqa: F401


if __name__ == "__main__":
    main()
