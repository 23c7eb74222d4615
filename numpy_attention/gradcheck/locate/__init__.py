"""The search for the first wrong line of a backward pass."""
