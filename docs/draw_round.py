"""Draw `docs/round.svg`, the picture of one round in the README.

    python docs/draw_round.py

The run times are chosen by hand to look like a round of the cluster `demo8`; when the round closes is what the
rule `stopping` decides about them, given that cluster's law.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tailcut import names
from tailcut.engines.simulated import replay
from tailcut.forecast import Truth
from tailcut.policy import Policy
from tailcut.rules import Stopping
from tailcut.table import Table

PICTURE = Path(__file__).with_name("round.svg")
RUN_TIMES = (0.97, 1.03, 9.1, 0.99, 1.01, 1.05, 0.96, 1.02)
SCALE, LEFT, TOP, STEP = 74, 92, 62, 24
WIDTH = 820
BLUE, GREY, RED, INK = "#2166ac", "#d9d9d9", "#b2182b", "#222222"


def close_of_stopping() -> float:
    """Seconds after which `stopping` closes a round with these run times."""
    law = names.source("demo8").draw(seed=0, rounds=2).law
    assert law is not None, "a named cluster has a law"
    table = Table.dense(np.array([RUN_TIMES]))
    return float(replay(table, Policy(Truth(law, np.zeros((1, 0))), Stopping())).elapsed[0])


def text(x: float, y: float, words: str, colour: str = INK, anchor: str = "start") -> str:
    """One line of text."""
    return f'<text x="{x:.0f}" y="{y:.0f}" fill="{colour}" text-anchor="{anchor}">{words}</text>'


def bar(y: float, begin: float, end: float, colour: str) -> str:
    """A horizontal bar from one moment to another."""
    x, width = LEFT + SCALE * begin, SCALE * (end - begin)
    return f'<rect x="{x:.0f}" y="{y:.0f}" width="{width:.0f}" height="14" fill="{colour}"/>'


def line(moment: float, words: str, colour: str, y: float, anchor: str) -> list[str]:
    """A vertical line at a moment, with its label above."""
    x, bottom = LEFT + SCALE * moment, TOP + STEP * len(RUN_TIMES)
    stroke = f'stroke="{colour}" stroke-width="2"'
    return [
        f'<line x1="{x:.0f}" y1="{y + 6:.0f}" x2="{x:.0f}" y2="{bottom:.0f}" {stroke}/>',
        text(x, y, words, colour, anchor),
    ]


def picture() -> str:
    """The whole picture as SVG."""
    close = close_of_stopping()
    height = TOP + STEP * len(RUN_TIMES) + 34
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
        f'viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="13" role="img">',
        "<title>One round of eight workers: where stopping closes it, where waiting for all would</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
    ]
    for place, seconds in enumerate(RUN_TIMES):
        y = TOP + STEP * place + 4
        used = min(seconds, close)
        parts.append(text(LEFT - 10, y + 12, f"worker {place}", anchor="end"))
        parts.append(bar(y, 0.0, used, BLUE if seconds <= close else GREY))
        if seconds > close:
            parts.append(bar(y, used, seconds, "#f2f2f2"))
            parts.append(text(LEFT + SCALE * close + 12, y + 12, "late: abandoned, its run time censored"))
    last = max(RUN_TIMES)
    taken = sum(seconds <= close for seconds in RUN_TIMES)
    parts += line(close, f"stopping closes: {taken} gradients in {close:.2f} s", RED, TOP - 30, "start")
    parts += line(last, f"wait-all closes: {len(RUN_TIMES)} in {last:.2f} s", INK, TOP - 8, "end")
    parts.append(text(LEFT, height - 12, "the round opens"))
    parts.append(text(WIDTH - 20, height - 12, "seconds →", anchor="end"))
    return "\n".join([*parts, "</svg>", ""])


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
