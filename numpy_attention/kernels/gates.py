"""All gates of one time step of a recurrent cell, forward and backward.

Shapes: batch B, hidden size H. a is the input's part of the pre-activations, u the recurrent part, one block of H
columns a gate; mask (B,) is False where a sentence has ended: such a row keeps its state and passes its gradient on.
"""

from numpy_attention.kernels.elementary import kernel, sigmoid, tanh


@kernel
def elman(a, u, h, mask, h_next):
    """h' = tanh(a + u)."""
    for b in range(h.shape[0]):
        ab, ub, hb, out = a[b], u[b], h[b], h_next[b]
        if mask[b]:
            for j in range(h.shape[1]):
                out[j] = tanh(ab[j] + ub[j])
        else:
            out[:] = hb


@kernel
def elman_backward(dy, dh_next, h_next, mask, da, dh):
    """Backward of `elman`, with dh' = dy + dh_next.

        da = dh' (1 − h'²)

    dh is 0: all of it passes through the recurrent product, da Uᵀ, which is the caller's. A masked row: da = 0, dh = dh'.
    """
    one, zero = h_next.dtype.type(1), h_next.dtype.type(0)
    for b in range(h_next.shape[0]):
        dyb, dnb, hb, dab, dhb = dy[b], dh_next[b], h_next[b], da[b], dh[b]
        if mask[b]:
            for j in range(h_next.shape[1]):
                dab[j] = (dyb[j] + dnb[j]) * (one - hb[j] * hb[j])
                dhb[j] = zero
        else:
            for j in range(h_next.shape[1]):
                dab[j] = zero
                dhb[j] = dyb[j] + dnb[j]


@kernel
def lstm(a, u, h, c, mask, gates, h_next, c_next):
    """i, f, o = σ(·), g = tanh(·), in the order i f g o;  c' = f c + i g,  h' = o tanh(c')."""
    H = h.shape[1]
    for b in range(h.shape[0]):
        hb, cb, hn, cn = h[b], c[b], h_next[b], c_next[b]
        if mask[b]:
            ai, af, ag, ao = a[b, :H], a[b, H:2 * H], a[b, 2 * H:3 * H], a[b, 3 * H:]
            ui, uf, ug, uo = u[b, :H], u[b, H:2 * H], u[b, 2 * H:3 * H], u[b, 3 * H:]
            gi, gf, gg, go = gates[b, :H], gates[b, H:2 * H], gates[b, 2 * H:3 * H], gates[b, 3 * H:]
            for j in range(H):
                gi[j] = sigmoid(ai[j] + ui[j])
                gf[j] = sigmoid(af[j] + uf[j])
                gg[j] = tanh(ag[j] + ug[j])
                go[j] = sigmoid(ao[j] + uo[j])
                cn[j] = gf[j] * cb[j] + gi[j] * gg[j]
                hn[j] = go[j] * tanh(cn[j])
        else:
            gates[b, :] = 0
            hn[:] = hb
            cn[:] = cb


@kernel
def lstm_backward(dy, dh_next, dc_next, gates, c, c_next, mask, da, dh, dc):
    """Backward of `lstm`, with dh' = dy + dh_next, t = tanh(c') and dct = all of ∂L/∂c'.

        dct = dc_next + dh' o (1 − t²)
        di = dct g i (1 − i),  df = dct c f (1 − f),  dg = dct i (1 − g²),  do = dh' t o (1 − o)

    da = [di df dg do], at the pre-activations; dc = dct f; dh is 0 but for the recurrent part da Uᵀ, which is the caller's.
    A masked row: da = 0, dh = dh', dc = dc_next.
    """
    H = c.shape[1]
    one, zero = c.dtype.type(1), c.dtype.type(0)
    for b in range(c.shape[0]):
        dyb, dnb, dcn, cb, cn, dhb, dcb = dy[b], dh_next[b], dc_next[b], c[b], c_next[b], dh[b], dc[b]
        di, df, dg, do = da[b, :H], da[b, H:2 * H], da[b, 2 * H:3 * H], da[b, 3 * H:]
        if mask[b]:
            gi, gf, gg, go = gates[b, :H], gates[b, H:2 * H], gates[b, 2 * H:3 * H], gates[b, 3 * H:]
            for j in range(H):
                dhj = dyb[j] + dnb[j]
                t = tanh(cn[j])
                dct = dcn[j] + dhj * go[j] * (one - t * t)
                di[j] = dct * gg[j] * gi[j] * (one - gi[j])
                df[j] = dct * cb[j] * gf[j] * (one - gf[j])
                dg[j] = dct * gi[j] * (one - gg[j] * gg[j])
                do[j] = dhj * t * go[j] * (one - go[j])
                dcb[j] = dct * gf[j]
                dhb[j] = zero
        else:
            da[b, :] = 0
            for j in range(H):
                dhb[j] = dyb[j] + dnb[j]
                dcb[j] = dcn[j]


@kernel
def gru(a, u, b_n, h, mask, sign, gates, s, h_next):
    """Reset after the product: r, z = σ(·), n = tanh(a_n + r s), h' = (1 − z) n + z h, gates in order r z n.

    sign −1 makes z weigh the new state: 1 − σ(x) = σ(−x), so z's pre-activation is negated. s = u_n + b_n is kept.
    """
    H = h.shape[1]
    one = h.dtype.type(1)
    for b in range(h.shape[0]):
        hb, hn = h[b], h_next[b]
        if mask[b]:
            ar, az, an = a[b, :H], a[b, H:2 * H], a[b, 2 * H:]
            ur, uz, un = u[b, :H], u[b, H:2 * H], u[b, 2 * H:]
            gr, gz, gn, sb = gates[b, :H], gates[b, H:2 * H], gates[b, 2 * H:], s[b]
            for j in range(H):
                gr[j] = sigmoid(ar[j] + ur[j])
                gz[j] = sigmoid(sign * (az[j] + uz[j]))
                sb[j] = un[j] + b_n[j]
                gn[j] = tanh(an[j] + gr[j] * sb[j])
                hn[j] = (one - gz[j]) * gn[j] + gz[j] * hb[j]
        else:
            gates[b, :] = 0
            s[b, :] = 0
            hn[:] = hb


@kernel
def gru_backward(dy, dh_next, gates, s, h, mask, sign, da, du, dh):
    """Backward of `gru`, with dh' = dy + dh_next.

        dn = dh' (1 − z) (1 − n²)                   at n's pre-activation a_n + r s
        dr = dn s r (1 − r)
        dz = sign dh' (h − n) z (1 − z)             since z = σ(sign x)

    da = [dr dz dn] and du = [dr dz r dn], at the input's and the recurrent part of the pre-activations; dh = z dh' but for
    the recurrent part du Uᵀ, which is the caller's. A masked row: da = du = 0, dh = dh'.
    """
    H = h.shape[1]
    one = h.dtype.type(1)
    for b in range(h.shape[0]):
        dyb, dnb, hb, dhb = dy[b], dh_next[b], h[b], dh[b]
        if mask[b]:
            gr, gz, gn, sb = gates[b, :H], gates[b, H:2 * H], gates[b, 2 * H:], s[b]
            dar, daz, dan = da[b, :H], da[b, H:2 * H], da[b, 2 * H:]
            dur, duz, dun = du[b, :H], du[b, H:2 * H], du[b, 2 * H:]
            for j in range(H):
                dhj = dyb[j] + dnb[j]
                dn = dhj * (one - gz[j]) * (one - gn[j] * gn[j])
                dr = dn * sb[j] * gr[j] * (one - gr[j])
                dz = sign * dhj * (hb[j] - gn[j]) * gz[j] * (one - gz[j])
                dar[j] = dr
                dur[j] = dr
                daz[j] = dz
                duz[j] = dz
                dan[j] = dn
                dun[j] = dn * gr[j]
                dhb[j] = dhj * gz[j]
        else:
            da[b, :] = 0
            du[b, :] = 0
            for j in range(H):
                dhb[j] = dyb[j] + dnb[j]


@kernel
def gru_reset(a, u, h, mask, sign, gates, s):
    """Reset before the product, first half: r, z = σ(·) and s = r ∘ h, which the recurrent weights of n then multiply."""
    H = h.shape[1]
    for b in range(h.shape[0]):
        hb, sb = h[b], s[b]
        if mask[b]:
            ar, az, ur, uz = a[b, :H], a[b, H:2 * H], u[b, :H], u[b, H:]
            gr, gz = gates[b, :H], gates[b, H:2 * H]
            for j in range(H):
                gr[j] = sigmoid(ar[j] + ur[j])
                gz[j] = sigmoid(sign * (az[j] + uz[j]))
                sb[j] = gr[j] * hb[j]
        else:
            gates[b, :] = 0
            sb[:] = 0


@kernel
def gru_update(a, u_n, h, mask, gates, h_next):
    """Second half: n = tanh(a_n + u_n) with u_n = (r ∘ h) U_n, h' = (1 − z) n + z h."""
    H = h.shape[1]
    one = h.dtype.type(1)
    for b in range(h.shape[0]):
        hb, hn = h[b], h_next[b]
        if mask[b]:
            an, un, gz, gn = a[b, 2 * H:], u_n[b], gates[b, H:2 * H], gates[b, 2 * H:]
            for j in range(H):
                gn[j] = tanh(an[j] + un[j])
                hn[j] = (one - gz[j]) * gn[j] + gz[j] * hb[j]
        else:
            hn[:] = hb


@kernel
def gru_update_backward(dy, dh_next, gates, h, mask, sign, da, dh):
    """Backward of the second half, with dh' = dy + dh_next: the z and n blocks of da, and dh = z dh'.

        dn = dh' (1 − z) (1 − n²),  dz = sign dh' (h − n) z (1 − z)
    """
    H = h.shape[1]
    one = h.dtype.type(1)
    for b in range(h.shape[0]):
        dyb, dnb, hb, dhb = dy[b], dh_next[b], h[b], dh[b]
        if mask[b]:
            gz, gn, daz, dan = gates[b, H:2 * H], gates[b, 2 * H:], da[b, H:2 * H], da[b, 2 * H:]
            for j in range(H):
                dhj = dyb[j] + dnb[j]
                daz[j] = sign * dhj * (hb[j] - gn[j]) * gz[j] * (one - gz[j])
                dan[j] = dhj * (one - gz[j]) * (one - gn[j] * gn[j])
                dhb[j] = dhj * gz[j]
        else:
            da[b, :] = 0
            for j in range(H):
                dhb[j] = dyb[j] + dnb[j]


@kernel
def gru_reset_backward(ds, gates, h, mask, da, dh):
    """Backward of the first half, from ds = ∂L/∂(r ∘ h): the r block of da, dr = ds h r (1 − r), and r ds added to dh."""
    H = h.shape[1]
    one = h.dtype.type(1)
    for b in range(h.shape[0]):
        if mask[b]:
            dsb, hb, gr, dar, dhb = ds[b], h[b], gates[b, :H], da[b, :H], dh[b]
            for j in range(H):
                dar[j] = dsb[j] * hb[j] * gr[j] * (one - gr[j])
                dhb[j] += dsb[j] * gr[j]
