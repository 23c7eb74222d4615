"""A run is a folder with a checkpoint and what it stands for: a translator, or a writer, that may go on."""
