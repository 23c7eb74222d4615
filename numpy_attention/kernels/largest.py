"""The few largest of many sums, which a beam asks for at every step."""

import math

from numpy_attention.kernels.elementary import kernel
from numpy_attention.kernels.guard import guarded


@guarded(so_far="N float64", log_p="N V", rows="K int", tokens="K int", totals="K float64")
@kernel
def largest(so_far, log_p, rows, tokens, totals):
    """The K largest of so_far_n + log p_nv, largest first, the earlier of equals first.

    so_far (N,), log_p (N, V); rows, tokens and totals (K,) receive n, v and the sums. Returns how
    many there are: fewer than K where fewer are finite. The N · V numbers are read once, and few of
    them are larger than the last of those found, so that sorting costs next to nothing.
    """
    K = totals.shape[0]
    if K == 0:
        return 0
    found = 0
    least = -math.inf           # what a sum must exceed to be among them
    for n in range(log_p.shape[0]):
        before = so_far[n]
        row = log_p[n]
        for v in range(row.shape[0]):
            total = before + row[v]
            if total > least and total < math.inf:
                place = min(found, K - 1)
                while place > 0 and totals[place - 1] < total:
                    rows[place] = rows[place - 1]
                    tokens[place] = tokens[place - 1]
                    totals[place] = totals[place - 1]
                    place -= 1
                rows[place] = n
                tokens[place] = v
                totals[place] = total
                found = min(found + 1, K)
                if found == K:
                    least = totals[K - 1]
    return found
