"""Loops that NumPy cannot fuse, compiled by numba and named for the equation they compute.

Every kernel is plain Python that also runs uncompiled (`NUMBA_DISABLE_JIT=1`), row by row: the
first axis is the batch.

Compiled code checks no bounds. So each kernel that is called from outside of its module is guarded:
`guard` compares the shapes and dtypes of its arrays, and the range of its indices, before it runs.
"""
