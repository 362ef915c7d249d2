"""The results of a comparison in three forms, each made from a `Comparison` alone.

Comparison ─┬─▶ as_json         one flat object per source and policy
            ├─▶ terminal_table  a table and a few sentences, as wide as the terminal allows
            └─▶ write_page      one self-contained HTML file: plots/ (facts of a plot) ─▶ draw/ (matplotlib)
"""

from tailcut.report.json_rows import as_json
from tailcut.report.page import write_page
from tailcut.report.terminal import terminal_table

__all__ = ["as_json", "terminal_table", "write_page"]
