"""Run in an interpreter of an environment under test: try commands and code one after the other in this process.

Reads a JSON list from standard input, one `[arguments, code]` for each row, and prints a JSON list of
`[exit code, standard output, standard error]`. It imports nothing but the standard library and the installed tailcut.
"""

import io
import json
import sys
import traceback
from contextlib import redirect_stderr, redirect_stdout


def attempt(arguments: list[str], code: str) -> tuple[int, str, str]:
    """Run a command, or code, in this process."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            if code:
                exec(code, {})
                ended = 0
            else:
                from tailcut.cli import main

                main(arguments)
        except SystemExit as end:
            ended = end.code if isinstance(end.code, int) else 1
        except BaseException:
            traceback.print_exc()
            ended = 1
    return ended, out.getvalue(), err.getvalue()


if __name__ == "__main__":
    json.dump([attempt(*row) for row in json.load(sys.stdin)], sys.stdout)
