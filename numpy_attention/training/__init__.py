"""The training loop, and all that it needs: optimizers, schedules, threads, checkpoints.

`protocols` says what a model, batches, an optimizer and a schedule must have for it.
"""
