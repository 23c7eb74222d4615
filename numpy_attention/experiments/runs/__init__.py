"""A run is a folder with the checkpoint of a model, which can be used or trained further."""
