"""The report of a gradient check."""
