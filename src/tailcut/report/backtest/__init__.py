"""The results of a backtest in three forms, each made from a `Backtest` alone.

Backtest ─┬─▶ backtest_json        one flat object per source and forecaster
          ├─▶ backtest_table       a table and a few sentences, as wide as the terminal allows
          └─▶ write_backtest_page  one self-contained HTML file
"""

from tailcut.report.backtest.json_rows import backtest_json
from tailcut.report.backtest.page import write_backtest_page
from tailcut.report.backtest.terminal import backtest_table

__all__ = ["backtest_json", "backtest_table", "write_backtest_page"]
