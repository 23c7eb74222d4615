"""A run is a folder with a checkpoint: what was trained, and what of; it can be used, and go on."""
