"""Learning: tasks to train, the way from gradients to updates, and learning-rate rules."""

from tailcut.extras import require

require("Training", "torch")
