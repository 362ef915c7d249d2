"""The figures of a page, drawn with matplotlib. Importing this package needs the extra `report`."""

from tailcut.errors import MissingExtraError

try:
    from tailcut.report.draw.figures import Drawing, drawings
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] != "matplotlib":
        raise
    raise MissingExtraError("matplotlib", "report", "Drawing the page") from error

__all__ = ["Drawing", "drawings"]
