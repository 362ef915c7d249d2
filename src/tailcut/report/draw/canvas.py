"""The common style of all figures, and SVG that takes its colors from the page.

Figures are drawn in placeholder colors that stand for variables of the page's style sheet, so that one
drawing serves light mode, dark mode and paper.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import matplotlib.style
from matplotlib.figure import Figure

INK, MUTED, RULE, POLICY, BEST, BOUND = ("#000001", "#000002", "#000003", "#000004", "#000005", "#000006")
STATIC, DEADLINE, INFORMED, ABSENT, WARN = ("#000007", "#000008", "#000009", "#00000a", "#00000b")
_VARIABLES = {
    INK: "ink",
    MUTED: "muted",
    RULE: "rule",
    POLICY: "policy",
    BEST: "best",
    BOUND: "bound",
    STATIC: "static",
    DEADLINE: "deadline",
    INFORMED: "informed",
    ABSENT: "absent",
    WARN: "warn",
}

# Inches; narrow, so that the text stays legible when scaled down to the width of a telephone.
WIDTH = 5.0
# Safe for the color-blind, and without gray, which means "took no part".
LOG_MAP = "viridis"

_LOOK = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9.5,
    "text.color": INK,
    "text.parse_math": False,
    "axes.labelcolor": MUTED,
    "axes.titlecolor": INK,
    "axes.titlesize": 9.2,
    "axes.titlelocation": "left",
    "axes.labelsize": 9.2,
    "axes.edgecolor": RULE,
    "axes.facecolor": "none",
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.color": RULE,
    "grid.linewidth": 0.6,
    "xtick.color": RULE,
    "ytick.color": RULE,
    "xtick.labelcolor": MUTED,
    "ytick.labelcolor": INK,
    "xtick.labelsize": 9.2,
    "ytick.labelsize": 9.2,
    "xtick.major.size": 3.0,
    "ytick.major.size": 0.0,
    "legend.frameon": False,
    "legend.fontsize": 9.2,
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
    "svg.fonttype": "none",
    "svg.image_inline": True,
}


def rendered(draw: Callable[[], Figure], label: str, salt: str) -> str:
    """Render the figure that `draw` makes as an `<svg>` element for a page.

    Args:
        draw: makes the figure; called with the style of the page.
        label: description of the picture for screen readers, already escaped.
        salt: makes the ids of drawings on one page differ, and repeat from run to run.
    """
    with _look(salt):
        file = io.StringIO()
        metadata = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        draw().savefig(file, format="svg", metadata=metadata)
    return _embedded(file.getvalue(), label)


@contextmanager
def _look(salt: str) -> Iterator[None]:
    """Apply the page's style in place of the user's own matplotlib settings."""
    with matplotlib.style.context(["default", {**_LOOK, "svg.hashsalt": salt}]), warnings.catch_warnings():
        # matplotlib's font may lack glyphs, but the reader's browser has its own fonts.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield


def _embedded(svg: str, label: str) -> str:
    """Remove what a page does not need (prologue, comments, group ids, fixed size); use the page's colors."""
    svg = svg[svg.index("<svg") :].strip()
    svg = re.sub(r"<!--.*?-->", "", svg, flags=re.DOTALL)
    svg = re.sub(r'<g id="[^"]*"', "<g", svg)
    svg = re.sub(r">\s*\n\s*<", ">\n<", svg)
    box = re.search(r'viewBox="[^"]*"', svg)
    assert box is not None, "matplotlib wrote an SVG without a viewBox"
    svg = re.sub(r"<svg[^>]*>", f'<svg {box[0]} role="img" aria-label="{label}">', svg, count=1)
    return re.sub(r"#0000[0-9a-f]{2}\b", _variable, svg)


def _variable(colour: re.Match[str]) -> str:
    slot = _VARIABLES.get(colour[0])
    return f"var(--{slot})" if slot else colour[0]
