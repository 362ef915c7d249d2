"""The same death under tailcut and under torchft."""
