"""Validation of what users pass to the library (arrays, arguments, paths), and messages."""
