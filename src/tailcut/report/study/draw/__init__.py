"""The figures of a study's page, drawn with matplotlib. Importing this package needs the extra `report`."""

from tailcut.report import draw as draw  # It says so itself if the extra is missing.
from tailcut.report.study.draw.figures import case_drawings
from tailcut.report.study.draw.look import looks

__all__ = ["case_drawings", "looks"]
