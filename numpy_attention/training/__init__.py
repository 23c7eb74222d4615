"""The training loop, and all that it needs: optimizers, schedules, threads, checkpoints.

`protocols` says what a model, an optimizer and a schedule must have for it.
"""
