"""Scaled-down versions of two papers' experiments: their claims, and whether those hold here.

findings.py     the findings of an experiment: claims, tables, plots, as plain data
judge.py        the conditions for a claim to hold, and the figure that is shown for it
experiment.py   the interface of an experiment: jobs whose results are kept, and findings from them
shelf.py        the results in a folder, so that an interrupted command can be resumed
carry_out.py    all experiments of a paper, their jobs spread over processes
trainings.py    jobs that train a net in virtual time
timings.py      jobs that measure run times and throughput
curves.py       tables and curves of trainings
chen/           backup workers (Chen et al. 2016, arXiv 1604.00981)
bdsgd/          the published forecaster (Teng & Wood 2018, arXiv 1803.04209)
papers.py       both papers by name, in a quick and in a full version
"""
