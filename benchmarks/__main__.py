"""Run every benchmark in one go; exit code 1 if any claim fails."""

from __future__ import annotations

from benchmarks import decision_cost, optimal, scale, sources, training_cost


def main() -> int:
    held = {
        "decision cost": decision_cost.main(),
        "scale": scale.main(),
        "cost of training in virtual time": training_cost.main(),
        "against dynamic programming": optimal.main(),
        "all sources": sources.main(),
    }
    for claim, holds in held.items():
        print(f"{claim}: {'holds' if holds else 'DOES NOT HOLD'}")
    return 0 if all(held.values()) else 1


if __name__ == "__main__":
    raise SystemExit(main())
