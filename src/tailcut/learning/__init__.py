"""Learning: what is trained, how gradients become updates, and how large the updates are."""

from tailcut.extras import require

require("Training", "torch")
