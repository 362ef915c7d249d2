"""Live training against plain DistributedDataParallel, on this machine."""
