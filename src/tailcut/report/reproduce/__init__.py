"""The results of a reproduction in three forms, each made from a `Reproduction` alone.

Reproduction ─┬─▶ reproduction_json        every finding as plain values
              ├─▶ claims_table             each claim with its verdict and its figure, for a terminal
              └─▶ write_reproduction_page  one self-contained HTML file
"""

from tailcut.report.reproduce.json_rows import reproduction_json
from tailcut.report.reproduce.page import write_reproduction_page
from tailcut.report.reproduce.terminal import claims_table

__all__ = ["claims_table", "reproduction_json", "write_reproduction_page"]
