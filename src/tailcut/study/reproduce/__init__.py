"""Scaled-down versions of two papers' experiments: what each claims, and whether it holds here.

findings.py     what an experiment leaves behind: claims, tables, plots, as plain data
judge.py        when a claim holds, and the figure that is shown for it
experiment.py   what an experiment is: jobs whose results are kept, and what is read off them
shelf.py        the results in a folder, so that an interrupted command goes on
carry_out.py    all experiments of a paper, their jobs spread over processes
trainings.py    jobs that train a net in virtual time
timings.py      jobs that only time
curves.py       tables and curves of trainings
chen/           backup workers (Chen et al. 2016, arXiv 1604.00981)
bdsgd/          the published forecaster (Teng & Wood 2018, arXiv 1803.04209)
papers.py       both by name, in a quick and in a full version
"""
