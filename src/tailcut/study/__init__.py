"""Studies: comparisons, backtests, grids of trainings, and reproductions of papers."""
