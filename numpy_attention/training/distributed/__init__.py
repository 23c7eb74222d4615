"""Training on several processes, on one host or many, with MPI (the extra `cluster`)."""
