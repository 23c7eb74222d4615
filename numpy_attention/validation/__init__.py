"""Validation at the border of the library: arrays, arguments, paths, and their messages."""
