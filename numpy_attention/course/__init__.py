"""The course: its lessons, its exercises, and the trace of a pass."""
