"""Checkpoints of live training, published once all workers have reached them; and positions in the data.

Checkpoints.stage ─▶ (written in the background) ─▶ Checkpoints.confirmed ─▶ FOLDER/v00000120.safetensors ─▶ newest
"""

# ruff: noqa: E402

from tailcut.extras import require

require("Checkpoints of training", "torch")

from tailcut.engines.live.checkpoints.loading import Checkpoint, newest
from tailcut.engines.live.checkpoints.order import Order
from tailcut.engines.live.checkpoints.positions import Positions
from tailcut.engines.live.checkpoints.retaking import retaking
from tailcut.engines.live.checkpoints.saving import Checkpoints
from tailcut.engines.live.checkpoints.trees import CheckpointError

__all__ = ["Checkpoint", "CheckpointError", "Checkpoints", "Order", "Positions", "newest", "retaking"]
