"""The results of a study in four forms, each made from `StudyFacts` alone.

StudyFacts ─┬─▶ study_json        one flat object per task, cluster and arm
            ├─▶ study_markdown    the headline table, for a document
            ├─▶ case_table        a table and a few sentences per task and cluster, as wide as the terminal allows
            └─▶ write_study_page  one self-contained HTML file: plots/ (facts of a plot) ─▶ draw/ (matplotlib)
"""

from tailcut.report.study.headline import study_markdown
from tailcut.report.study.json_rows import study_json
from tailcut.report.study.page import write_study_page
from tailcut.report.study.terminal import case_table

__all__ = ["case_table", "study_json", "study_markdown", "write_study_page"]
