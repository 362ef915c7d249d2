"""Attack a live run and print what came of it; exit code 1 if anything did that must not.

python -m benchmarks.reliability.fuzz [--messages 100000] [--seed 0]
"""

from __future__ import annotations

import argparse
import time

from benchmarks.claims import Claim, print_table
from benchmarks.reliability.fuzz.attack import BATCH, Report, fuzz

MESSAGES = 100_000
FOR_EACH = 5000


def main(times: int) -> list[Claim]:
    """Attack with `FOR_EACH` messages per repeat, and return the claims."""
    return judged(FOR_EACH * times)


def judged(messages: int, seed: int = 0) -> list[Claim]:
    """Run, show and judge."""
    began = time.monotonic()
    report = fuzz(messages, seed)
    show(report, time.monotonic() - began)
    return report.claims(messages)


def command() -> int:
    """Run the attack as asked for on the command line, and return the exit code."""
    parser = argparse.ArgumentParser(description="Attack a live run.")
    parser.add_argument("--messages", type=int, default=MESSAGES)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    claims = judged(asked.messages, asked.seed)
    for claim in claims:
        print(claim)
    return 0 if all(claim.holds for claim in claims) else 1


def show(report: Report, seconds: float) -> None:
    """The table."""
    rows = [
        [
            way,
            port,
            f"{sent.letters:,}",
            f"{sent.connections:,}",
            "" if way in BATCH else f"{sent.closed:,}",
            "" if way in BATCH else f"{sent.more:,}",
            ", ".join(f"{count:,} {name}" for name, count in sorted(sent.answers.items())),
        ]
        for (way, port), sent in report.sent.items()
    ]
    total = sum(sent.letters for sent in report.sent.values())
    print_table(
        f"{total:,} messages in {seconds:.0f} s: {', '.join(f'{n:,} {kind}' for kind, n in report.kinds.items())}",
        ("how", "port", "messages", "connections", "closed", "bytes beyond", "answers read"),
        rows,
    )
    sides = zip(("controller", "workers"), report.before, report.after, strict=True)
    print_table(
        f"Rounds per second: {report.quiet:.0f} undisturbed, {report.attacked:.0f} attacked",
        ("process", "MB before", "after", "files before", "after"),
        [
            [
                name,
                f"{old.kilobytes / 1024:.1f}",
                f"{new.kilobytes / 1024:.1f}",
                str(old.files),
                str(new.files),
            ]
            for name, old, new in sides
        ],
    )
    served = report.controlled.served
    print(
        f"At the controller {served.malformed:,} were no messages, and {served.dropped:,} were not looked at."
    )


if __name__ == "__main__":
    raise SystemExit(command())
