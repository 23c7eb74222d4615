"""Loops that NumPy cannot fuse, compiled by numba and named for the equation they compute.

Every kernel is plain Python and also runs uncompiled (`NUMBA_DISABLE_JIT=1`). Compiled code does
not check bounds. So each kernel that other packages call with arrays is guarded: `guard` first
checks the shapes and dtypes of the arrays, and the range of the indices.
"""
