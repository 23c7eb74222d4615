"""The training loop, and all that it needs: optimizers, schedules, threads, checkpoints."""
