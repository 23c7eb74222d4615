"""Loops that NumPy cannot fuse, compiled by numba and named for the equation they compute.

Every kernel is plain Python and also runs uncompiled (`NUMBA_DISABLE_JIT=1`). It works row by row;
the first axis is the batch.

Compiled code does not check bounds. So each kernel that other modules call is guarded: `guard`
first checks the shapes and dtypes of the arrays, and the range of the indices.
"""
