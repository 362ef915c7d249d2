"""Reports on live training: a table for the terminal, a page with plots.

facts.py      the data: arms with their setting and goal
columns.py    the columns of the table
words.py      sentences
terminal.py   the table
page.py, figures.py   the page; needs the extra `report`
"""

from tailcut.report.train.facts import Training
from tailcut.report.train.page import write_training_page
from tailcut.report.train.terminal import training_table

__all__ = ["Training", "training_table", "write_training_page"]
