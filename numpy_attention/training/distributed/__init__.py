"""Training on several processes, on one host or many, by MPI (the extra `cluster`)."""
