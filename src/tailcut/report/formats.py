"""Numbers formatted for people; a dash stands for unknown and infinite values."""

from __future__ import annotations

import math

UNKNOWN = "–"


def known(value: float | None) -> bool:
    """Return whether a value is a finite number."""
    return value is not None and math.isfinite(value)


def share(value: float | None) -> str:
    """Format a share of a rate with three decimals.

    Example:
        >>> share(0.97612), share(None)
        ('0.976', '–')
    """
    return f"{value:.3f}" if value is not None and math.isfinite(value) else UNKNOWN


def span(least: float | None, most: float | None) -> str:
    """Format the smallest and the largest share in a short form: `.961–.982`."""
    if least is None or most is None or not (known(least) and known(most)):
        return UNKNOWN
    return f"{_bare(least)}–{_bare(most)}"


def percent(value: float | None) -> str:
    """Format a part of a whole in whole per cent; a part is 0 % or 100 % only if it is exactly that.

    Example:
        >>> percent(0.312), percent(0.003), percent(0.9999)
        ('31 %', '<1 %', '>99 %')
    """
    if value is None or not math.isfinite(value):
        return UNKNOWN
    if 0 < value < 0.005:
        return "<1 %"
    if 0.995 <= value < 1:
        return ">99 %"
    return f"{100 * value:.0f} %"


def figure(value: float | None, digits: int = 3) -> str:
    """Format with `digits` significant digits, or with all digits before the point if those are more.

    Example:
        >>> figure(1234.5), figure(0.41234, 2), figure(20.0)
        ('1234', '0.41', '20.0')
    """
    if value is None or not math.isfinite(value):
        return UNKNOWN
    if value == 0:
        return "0"
    size = math.floor(math.log10(abs(value)))
    if size < -4 or size > 6:
        return f"{value:.{digits - 1}e}"
    return f"{value:.{max(0, digits - 1 - size)}f}"


def seconds(value: float | None) -> str:
    """Format a duration in seconds or milliseconds.

    Example:
        >>> seconds(0.0123), seconds(1.5), seconds(0.0)
        ('12.3 ms', '1.5 s', '0 s')
    """
    if value is None or not math.isfinite(value):
        return UNKNOWN
    return f"{1000 * value:.3g} ms" if 0 < abs(value) < 0.1 else f"{value:.3g} s"


def cutoff(value: float, workers: int) -> str:
    """Format the gradients used out of `workers`, with a decimal for fewer than 100 workers."""
    return f"{value:.{1 if workers < 100 else 0}f}/{workers}" if known(value) else f"{UNKNOWN}/{workers}"


def _bare(value: float) -> str:
    text = f"{value:.3f}"
    return text[1:] if text.startswith("0.") else text
