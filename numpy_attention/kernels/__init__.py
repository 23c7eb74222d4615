"""Loops that NumPy cannot fuse, compiled by numba and named for the equation they compute.

Every kernel is plain Python that also runs uncompiled (`NUMBA_DISABLE_JIT=1`), row by row: the
first axis is the batch.

They trust their callers: nothing here asks for shapes, dtypes or ids, and what lies past the end of
an array is read and written. Whoever calls one has checked, with the functions of `shapes`, or has
made the arrays itself; no public function of another room hands its arguments over unchecked.
"""
