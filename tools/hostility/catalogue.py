"""Right calls of every room that computes: a maker gives the calls of one class.

The tables of `numpy_attention.names` say which cells, scores and readers there are, so that a new
one is attacked like the others. A maker is make(rng, sizes) → a list of `Call`s, each with
arguments of its own.
"""

import numpy as np

from hostility import (catalogue_attention, catalogue_cells, catalogue_layers, catalogue_numbers,
                       values)

SIMPLE = (np.ndarray, int, float, str, bool, tuple, type(None))
DTYPES = (np.int32, np.int64, np.float16, np.complex64, bool, object, str, "float", "double",
          "f4", ">f4", "float31", None, 4, 3.5, [], values.Rubbish(), np.longdouble, "M8[s]",
          np.float32, np.float64, "float32", np.dtype("f8"))

MAKERS = {**catalogue_layers.MAKERS, **catalogue_cells.MAKERS, **catalogue_attention.MAKERS,
          **catalogue_numbers.MAKERS}
