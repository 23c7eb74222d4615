"""exp, tanh and σ that LLVM can vectorize, and the decorators `kernel` and `reduction`.

In float32 the functions are short polynomials, which take about 0.3 ns per element; a call to the C
library takes 16 ns. In float64, which is meant for gradient checks, they call the C library. For
NaN, all return NaN. In float32 no function overflows. In float64 exp overflows above 709, but
kernels call exp only for x ≤ 0.

    kernel      may round a·b + c once instead of twice, but never reorders sums, because exp rounds
                to an integer by adding and subtracting a large number
    reduction   may reorder sums, so that LLVM can vectorize loops that sum; must not call exp
"""

import math
import warnings

import numpy as np
from numba import njit, types
from numba.extending import overload

FLAGS = {"contract", "nsz", "arcp"}


def compiled(fastmath):
    """Return numba's njit as a decorator with the given fastmath flags.

    Compiled code is cached on disk. If it cannot be saved there, a RuntimeWarning says so.
    """
    how = {"nogil": True, "error_model": "numpy", "fastmath": fastmath}

    def of(function):
        try:
            made = njit(cache=True, **how)(function)
        except RuntimeError:
            _warn_of_no_folder()
            return njit(**how)(function)
        cache = getattr(made, "_cache", None)
        if cache is None:               # a plain function, with NUMBA_DISABLE_JIT
            return made
        save = cache.save_overload

        def save_if_possible(*compiled_kernel):
            try:
                save(*compiled_kernel)
            except OSError:             # the disk or a quota is full
                _warn_of_no_folder()

        cache.save_overload = save_if_possible
        return made
    return of


def _warn_of_no_folder():
    warnings.warn("numba found no folder for its cache, so every process compiles the kernels "
                  "again; set NUMBA_CACHE_DIR to a folder that you can write to", RuntimeWarning)


kernel = compiled(FLAGS)
reduction = compiled(FLAGS | {"reassoc"})

LOG2_E = np.float32(1.44269504)
LN2_HIGH = np.float32(0.693359375)      # ln 2 in two parts: n · LN2_HIGH is exact for all n here
LN2_LOW = np.float32(-2.12194440e-4)
ROUNDING = np.float32(12582912.0)       # 1.5 · 2^23: adding it rounds to an integer
LOWEST = np.float32(-87.0)
HIGHEST = np.float32(88.0)
# (e^r − 1 − r) / r² on |r| ≤ ln 2 / 2: least squares, reweighted
E0 = np.float32(5.000000027e-01)
E1 = np.float32(1.666657664e-01)
E2 = np.float32(4.166637413e-02)
E3 = np.float32(8.363235321e-03)
E4 = np.float32(1.394121425e-03)
# (tanh(x)/x − 1) / x² in x² on |x| ≤ 0.625: likewise
T0 = np.float32(-3.333332925e-01)
T1 = np.float32(1.333279454e-01)
T2 = np.float32(-5.385406889e-02)
T3 = np.float32(2.101007703e-02)
T4 = np.float32(-6.113185075e-03)
SMALL = np.float32(0.625)
LANES = 128     # columns that row_max compares at a time
ONE = np.float32(1)
TWO = np.float32(2)


@kernel
def exp_float32(x):
    """Return e^x, computed as 2^n e^r with n = round(x / ln 2) and |r| ≤ ln 2 / 2.

    x is clamped to [−87, 88], where the relative error is below 2e-7.
    """
    x = LOWEST if x < LOWEST else x
    x = HIGHEST if x > HIGHEST else x
    n = (x * LOG2_E + ROUNDING) - ROUNDING
    r = (x - n * LN2_HIGH) - n * LN2_LOW
    e_r = ONE + r + r * r * (E0 + r * (E1 + r * (E2 + r * (E3 + r * E4))))
    power = np.int32(np.int32(np.int32(n) + np.int32(127)) << np.int32(23))      # the bits of 2^n
    return e_r * power.view(np.float32)


@kernel
def tanh_float32(x):
    """Return tanh(x), by an odd polynomial if |x| < 0.625, else as ±(1 − 2 / (e^{2|x|} + 1))."""
    size = -x if x < np.float32(0) else x
    z = x * x
    inner = x + x * z * (T0 + z * (T1 + z * (T2 + z * (T3 + z * T4))))
    outer = ONE - TWO / (exp_float32(TWO * size) + ONE)
    outer = -outer if x < np.float32(0) else outer
    return inner if size < SMALL else outer


@kernel
def sigmoid_float32(x):
    """Return σ(x) = 1 / (1 + e^{−x})."""
    return ONE / (ONE + exp_float32(-x))


def exp(x):
    """Return e^x in the dtype of x."""
    return exp_float32(x) if isinstance(x, np.float32) else np.float64(math.exp(x))


def tanh(x):
    """Return tanh(x) in the dtype of x."""
    return tanh_float32(x) if isinstance(x, np.float32) else np.float64(math.tanh(x))


def sigmoid(x):
    """Return σ(x) in the dtype of x. float64 uses (1 + tanh(x / 2)) / 2, which cannot overflow."""
    if isinstance(x, np.float32):
        return sigmoid_float32(x)
    return np.float64(0.5 + 0.5 * math.tanh(0.5 * x))


@overload(exp)
def _exp(x):
    if x == types.float32:
        return lambda x: exp_float32(x)
    return lambda x: math.exp(x)


@overload(tanh)
def _tanh(x):
    if x == types.float32:
        return lambda x: tanh_float32(x)
    return lambda x: math.tanh(x)


@overload(sigmoid)
def _sigmoid(x):
    if x == types.float32:
        return lambda x: sigmoid_float32(x)
    return lambda x: 0.5 + 0.5 * math.tanh(0.5 * x)


@kernel
def row_max(row):
    """Return max_j row_j. A NaN may be ignored; the softmax of the row is NaN even then.

    LLVM does not vectorize the maximum of one row, only the elementwise maximum of two rows. So the
    row is cut into blocks of LANES columns, and their elementwise maximum is computed first.
    """
    tops = row[:LANES].copy()
    for start in range(LANES, row.shape[0], LANES):
        block = row[start:start + LANES]
        for j in range(block.shape[0]):
            tops[j] = block[j] if block[j] > tops[j] else tops[j]
    top = row.dtype.type(-math.inf)
    for j in range(tops.shape[0]):
        top = tops[j] if tops[j] > top else top
    return top


@reduction
def row_sum(row):
    """Return Σ_j row_j."""
    total = row.dtype.type(0)
    for j in range(row.shape[0]):
        total += row[j]
    return total


@reduction
def row_dot(a, b):
    """Return Σ_j a_j b_j."""
    total = a.dtype.type(0)
    for j in range(a.shape[0]):
        total += a[j] * b[j]
    return total
