"""The figures of a study's page, drawn with matplotlib. Importing this package needs the extra `report`."""

from tailcut.report import draw as draw  # Reports a missing extra.
from tailcut.report.study.draw.figures import case_drawings
from tailcut.report.study.draw.look import looks

__all__ = ["case_drawings", "looks"]
