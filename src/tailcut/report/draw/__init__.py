"""The figures of a page, drawn with matplotlib. Importing this package needs the extra `report`."""

from tailcut.extras import require

require("Drawing the page", "matplotlib")

from tailcut.report.draw.figures import Drawing, drawings  # noqa: E402

__all__ = ["Drawing", "drawings"]
