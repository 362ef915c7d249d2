"""Rules: a forecast and the arrivals so far in, wait or close out."""

from tailcut.rules.adasync import AdaSync
from tailcut.rules.ahead import Ahead
from tailcut.rules.backup import Backup
from tailcut.rules.bandit import Bandit
from tailcut.rules.base import Opening, Rule
from tailcut.rules.dbw import Dbw
from tailcut.rules.deadline import Deadline
from tailcut.rules.explore import Explore
from tailcut.rules.fair import Fair
from tailcut.rules.floor import Floor
from tailcut.rules.micro import MicroDeadline
from tailcut.rules.patience import Patience
from tailcut.rules.regression import Regression
from tailcut.rules.stopping import Stopping
from tailcut.rules.valued import Valued
from tailcut.rules.wait_all import WaitAll
from tailcut.rules.warm_up import WarmUp

__all__ = [
    "AdaSync",
    "Ahead",
    "Backup",
    "Bandit",
    "Dbw",
    "Deadline",
    "Explore",
    "Fair",
    "Floor",
    "MicroDeadline",
    "Opening",
    "Patience",
    "Regression",
    "Rule",
    "Stopping",
    "Valued",
    "WaitAll",
    "WarmUp",
]
