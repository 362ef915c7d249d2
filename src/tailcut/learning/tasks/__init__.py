"""Tasks to train: one file each."""
