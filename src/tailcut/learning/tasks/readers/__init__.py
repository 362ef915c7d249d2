"""Files of data sets, each proven harmless before memory is set aside for it; what is wrong is told in one sentence."""
