"""The data plane of the live engine: the accepted workers add up gradients, late workers pull the updates.

FlatBuffer.pack ─▶ stamp(Close) ─▶ reduce (accepted only) ─▶ Update.made ─▶ UpdateLog ─▶ FlatBuffer.unpack
                                                                               └─ UpdateServer ─▶ Puller (late)
"""

from tailcut.engines.live.data.buffer import FlatBuffer, Layout
from tailcut.engines.live.data.group import Group, mesh
from tailcut.engines.live.data.log import UpdateLog
from tailcut.engines.live.data.pulling import Puller, PullError, Wanted
from tailcut.engines.live.data.reducing import ReduceError, reduce
from tailcut.engines.live.data.serving import UpdateServer
from tailcut.engines.live.data.trailer import TrailerError
from tailcut.engines.live.data.updates import START, Update, UpdateError, link

__all__ = [
    "START",
    "FlatBuffer",
    "Group",
    "Layout",
    "PullError",
    "Puller",
    "ReduceError",
    "TrailerError",
    "Update",
    "UpdateError",
    "UpdateLog",
    "UpdateServer",
    "Wanted",
    "link",
    "mesh",
    "reduce",
]
