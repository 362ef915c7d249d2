"""The whole idea of tailcut in one file: when should a synchronous round stop waiting for its workers?

    python examples/mini.py

Everybody computes one gradient per round. A round can wait for all of them, for a fixed number, or look at who is
in, look at the time, and stop as soon as waiting longer no longer pays. The names are those of the library, which
adds workers that differ, share slow nodes, join, leave and finish late. Here all are alike and the clock is a loop.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

# -- Words ------------------------------------------------------------------------------------------------------
#
# A *rule* is asked once when a round opens: given the number of workers, what past rounds have shown and the
# round's overhead (reduce, apply, broadcast), it answers with a function that decides *during* the round:
#
#     decide(elapsed, count) -> seconds after the opening until which to wait, or CLOSE
#
# It is asked again at every arrival and when the moment it named has come.

CLOSE = -1.0
FOREVER = np.inf
Decide = Callable[[float, int], float]
Past = list[tuple[np.ndarray, np.ndarray]]  # of each round: seconds, and whether each time was observed
Rule = Callable[[int, Past, float], Decide]


# -- Step 1: rules that look at the count alone -----------------------------------------------------------------


def wait_all(n: int, past: Past, overhead: float) -> Decide:
    """Plain synchronous SGD. A round closes by itself once everybody is in."""
    return lambda elapsed, count: FOREVER


def backup(b: int) -> Rule:
    """Wait for n - b workers, whoever they are (Chen et al. 2016)."""

    def rule(n: int, past: Past, overhead: float) -> Decide:
        return lambda elapsed, count: CLOSE if count >= max(n - b, 1) else FOREVER

    return rule


# -- Step 2: a forecast -----------------------------------------------------------------------------------------
#
# A closed round shows the run times of those that came. Of the others it shows only that they took longer: their
# times are *censored*. Dropping them, or making values up for them, would make the forecast too hopeful. Kaplan and
# Meier's estimate uses just what is known: at each time u seen, the share that arrived of those still out at u.


def kaplan_meier(seconds: np.ndarray, observed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distinct observed times, increasing, and the survival P(x > time) from each of them on."""
    times = np.unique(seconds[observed])
    arrived = np.array([(seconds[observed] == u).sum() for u in times])
    still_out = np.array([(seconds >= u).sum() for u in times])
    return times, np.cumprod(1.0 - arrived / still_out)


def recent(past: Past, window: int = 20) -> tuple[np.ndarray, np.ndarray] | None:
    """Forecast: the next run times are like those of the last `window` rounds, the same for every worker."""
    last = past[-window:]
    if not any(observed.any() for _, observed in last):
        return None
    return kaplan_meier(np.concatenate([s for s, _ in last]), np.concatenate([o for _, o in last]))


# -- Step 3: what waiting may bring, and what it costs ----------------------------------------------------------


def future(
    times: np.ndarray, survival: np.ndarray, elapsed: float, out: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Look ahead with `out` workers not in after `elapsed` seconds.

    Returns, for each grid time d after `elapsed`: d itself, the arrivals expected by then, and the seconds the
    round is expected to last from now on if it closes at d or when everybody is in.
    """
    start = int(np.searchsorted(times, elapsed, side="right"))
    now = float(np.interp(elapsed, np.concatenate([[0.0], times]), np.concatenate([[1.0], survival])))
    if out == 0 or now <= 1e-12:  # nobody left, or overdue beyond all that was ever seen
        start = len(times)
    moments = times[start:]
    still = survival[start:] / max(now, 1e-12)  # P(x > d | x > elapsed): silence is news too
    arrivals = out * (1.0 - still)  # expectation is linear, so nothing has to be sorted
    anybody = 1.0 - (1.0 - still) ** out  # probability that somebody is still out at d
    before = np.concatenate([[1.0], anybody])[: len(moments)]
    waiting = np.cumsum(np.diff(moments, prepend=elapsed) * (before + anybody) / 2)
    return moments, arrivals, waiting


# -- Step 4: stopping -------------------------------------------------------------------------------------------
#
# What is a second worth? What this round's own forecast says can be had per second: the best rate over all
# deadlines d. That is the price. Waiting until d gains the arrivals expected by d, less the price of the time.
# Wait while some d has a positive gain; the d with the largest gain is when to look again if nobody comes.


def price_of(times: np.ndarray, survival: np.ndarray, n: int, overhead: float) -> float:
    """The price of a second, in gradients."""
    _, arrivals, waiting = future(times, survival, 0.0, n)
    return float((arrivals / (waiting + overhead)).max())


def stop_or_wait(
    times: np.ndarray, survival: np.ndarray, price: float, elapsed: float, count: int, n: int
) -> float:
    """CLOSE, or the moment until which waiting gains most."""
    moments, arrivals, waiting = future(times, survival, elapsed, n - count)
    gain = arrivals - price * waiting
    if len(gain) and (gain.max() > 1e-9 or elapsed == 0.0):  # the price makes the best gain 0 at first: begin
        return float(moments[np.argmax(gain)])
    return CLOSE if count else FOREVER  # a round needs one gradient at least


def stopping(n: int, past: Past, overhead: float) -> Decide:
    """Close as soon as waiting no longer pays. Without a forecast, wait for all."""
    forecast = recent(past)
    if forecast is None:
        return wait_all(n, past, overhead)
    times, survival = forecast
    price = price_of(times, survival, n, overhead)
    return lambda elapsed, count: stop_or_wait(times, survival, price, elapsed, count, n)


# -- Step 5: a simulator ----------------------------------------------------------------------------------------


def play(row: np.ndarray, decide: Decide) -> tuple[float, int]:
    """One round with these run times: when it closes, and with how many."""
    order, elapsed, count = np.sort(row), 0.0, 0
    while count < len(order):
        until = decide(elapsed, count)
        if until == CLOSE:
            break
        if order[count] <= until:  # the next arrival comes first; at the very moment it is still in time
            elapsed, count = float(order[count]), count + 1
        else:
            elapsed = until
    return elapsed, count


def replay(
    table: np.ndarray, rule: Rule, overhead: float = 0.0, sees_all: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Run a rule through a `(rounds, workers)` table of run times; late workers abandon their work.

    `sees_all` tells the rule all run times afterwards, the cut ones too, which abandoned work never shows.
    Returns, for each round, the seconds from opening to close and the gradients used.
    """
    past: Past = []
    closes = []
    for row in table:
        elapsed, count = play(row, rule(len(row), past, overhead))
        seen = (row <= elapsed) | sees_all
        past.append((np.where(seen, row, elapsed), seen))  # all that is known of the others: longer than this
        closes.append((elapsed, count))
    return np.array([e for e, _ in closes]), np.array([c for _, c in closes])


# -- Step 6: compare --------------------------------------------------------------------------------------------


def demo8(rounds: int, seed: int) -> np.ndarray:
    """8 workers, each 10 % likely to be 9 times slow in each round."""
    rng = np.random.default_rng(seed)
    slow = rng.random((rounds, 8)) < 0.1
    return np.exp(0.03 * rng.standard_normal((rounds, 8))) * np.where(slow, 9.0, 1.0)


def best_static(table: np.ndarray, overhead: float = 0.0) -> Rule:
    """The best fixed cutoff in hindsight: a yardstick, since nobody knows it beforehand."""
    ordered = np.sort(table, axis=1)
    rates = [(c + 1) / (ordered[:, c] + overhead).mean() for c in range(table.shape[1])]
    return backup(table.shape[1] - 1 - int(np.argmax(rates)))


def main(rounds: int = 400, seed: int = 0) -> None:
    """Print what each rule makes of the same run times.

    With cut times censored, `stopping` slowly talks itself into closing earlier and earlier: what lies beyond the
    last close is never seen again. The library's answers are `Explore` and a forecast that doubts what it has not
    seen; how much there is to regain, the row that sees all run times shows.
    """
    table = demo8(rounds, seed)
    rows = [("wait-all", wait_all, False), ("backup:b=1", backup(1), False)]
    rows += [("best-static", best_static(table), False)]
    rows += [("stopping, censored", stopping, False), ("stopping, sees all", stopping, True)]
    print(f"{'policy':<18} {'grad/s':>7} {'mean cutoff':>12} {'seconds a round':>16}")
    for name, rule, sees_all in rows:
        elapsed, counts = replay(table, rule, sees_all=sees_all)
        print(f"{name:<18} {counts.sum() / elapsed.sum():7.2f} {counts.mean():12.2f} {elapsed.mean():16.2f}")


if __name__ == "__main__":
    main()
