"""The live engine: real workers on torch.distributed, one controller process around the state machine of `round.py`."""
