"""The K largest of many sums, which beam search needs at every step."""

import math

from numpy_attention.kernels.elementary import kernel, reduction
from numpy_attention.kernels.guard import guarded

BLOCK = 256     # sums that are compared at once with the smallest one found


@reduction
def any_above(before, row, least):
    """Return whether before + row_v is above `least` for any v."""
    found = False
    for v in range(row.shape[0]):
        found |= before + row[v] > least
    return found


@guarded(so_far="N float64", log_p="N V", rows="K int", tokens="K int", totals="K float64")
@kernel
def largest(so_far, log_p, rows, tokens, totals):
    """Find the K largest sums so_far_n + log p_nv, largest first; in a tie, first by n, then v.

    so_far (N,), log_p (N, V). rows, tokens and totals (K,) receive n, v and the sums. Returns the
    number of sums found, which is less than K if fewer than K sums are finite. Each row is searched
    in blocks of BLOCK sums. Most blocks are skipped, because none of their sums exceeds the
    smallest of the K found so far.
    """
    K = totals.shape[0]
    if K == 0:
        return 0
    found = 0
    least = -math.inf           # what a sum must exceed to be found
    for n in range(log_p.shape[0]):
        before = so_far[n]
        for start in range(0, log_p.shape[1], BLOCK):
            block = log_p[n, start:start + BLOCK]
            if not any_above(before, block, least):
                continue
            for v in range(block.shape[0]):
                total = before + block[v]
                if total > least and total < math.inf:
                    place = min(found, K - 1)
                    while place > 0 and totals[place - 1] < total:
                        rows[place] = rows[place - 1]
                        tokens[place] = tokens[place - 1]
                        totals[place] = totals[place - 1]
                        place -= 1
                    rows[place] = n
                    tokens[place] = start + v
                    totals[place] = total
                    found = min(found + 1, K)
                    if found == K:
                        least = totals[K - 1]
    return found
