"""The sentences of a report, for the terminal and the page. Names of policies are in back-ticks."""

from __future__ import annotations

import math

from tailcut.report.formats import cutoff, figure, known, percent, seconds, share
from tailcut.report.ranking import best, wait_all, waits_for_all
from tailcut.study.facts import PolicyFacts, SourceFacts, Spread

_NOTHING = "Waiting for all is right here: nothing is to be gained by cutting rounds short."


def printable(text: str) -> str:
    """Replace the characters of `text` that are not printable, which could control a terminal."""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)


def setting(source: SourceFacts) -> str:
    """Describe the setting of a source in one line."""
    parts = [
        _count(source.workers, "worker"),
        _count(source.rounds, "round") + (f" (first {source.warmup} left out)" if source.warmup else ""),
        "late workers finish" if source.late == "finish" else "late workers stop at once",
    ]
    if source.seeds > 1:
        parts.insert(2, _count(source.seeds, "seed"))
    if source.states == "clock":
        parts.append("states move by the clock")
    if source.overhead and known(source.overhead):
        parts.append(f"{seconds(source.overhead)} overhead a round")
    return ", ".join(parts)


def row(facts: PolicyFacts) -> str:
    """Return a line about a finished policy, for a terminal in which others are still simulated."""
    shares = (
        f"{share(facts.of_clairvoyant.mean)} of the clairvoyant",
        f"clock score {_score(facts.clock_score)}",
    )
    return f"{printable(facts.policy)}  {figure(facts.throughput.mean)} grad/s, {', '.join(shares)}"


def _score(spread: Spread | None) -> str:
    return share(spread.mean if spread else None)


def outcome(source: SourceFacts) -> str:
    """Describe the cost of waiting, and how much of it the best policy saves.

    Example:
        "Your workers wait 31 % of the time; `stopping` would give back 24 points."
    """
    winner = best(source)
    waiting = f"Your workers wait {percent(source.idle_before)} of the time"
    if not known(source.idle_before):
        waiting = "How long your workers wait is not known"
    if winner is None:
        return f"{waiting}."
    name = printable(winner.policy)
    points = 100 * (source.idle_before - winner.idle)
    if waits_for_all(winner):
        return f"{waiting}. {_NOTHING}"
    if points >= 1:
        return f"{waiting}; `{name}` would give back {_count(round(points), 'point')}."
    if _gain(source, winner) >= 1.01:
        return f"{waiting}; `{name}` gives back none of it and is faster all the same."
    # Without the idle shares nothing is known about the possible gain.
    return f"{waiting}. {_NOTHING}" if known(points) else f"{waiting}; `{name}` was the fastest."


def details(source: SourceFacts) -> str:
    """Describe the best policy's cutoff, gain and share of the bound; empty if none of these is known."""
    winner = best(source)
    if winner is None:
        return ""
    parts = []
    if known(winner.mean_cutoff):
        parts.append(
            f"takes {cutoff(winner.mean_cutoff, source.workers).replace('/', ' of ')} gradients a round"
        )
    gain = _gain(source, winner)
    if not waits_for_all(winner) and math.isfinite(gain):
        parts.append(f"yields {figure(gain)} times the gradients per second of waiting for all")
    if known(winner.of_clairvoyant.mean):
        whom = "the bound for workers that stop at once" if source.late == "finish" else "the clairvoyant"
        parts.append(f"reaches {percent(winner.of_clairvoyant.mean)} of {whom}")
    return f"`{printable(winner.policy)}` {_listed(parts)}." if parts else ""


def _gain(source: SourceFacts, winner: PolicyFacts) -> float:
    """Return a policy's throughput over that of waiting for all; NaN if that was not compared."""
    plain = wait_all(source)
    if plain is None or not plain.throughput.mean > 0:
        return math.nan
    return winner.throughput.mean / plain.throughput.mean


def _listed(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
