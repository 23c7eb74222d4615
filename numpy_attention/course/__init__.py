"""The course: its lessons, its exercises, and traces of forward and backward passes."""
