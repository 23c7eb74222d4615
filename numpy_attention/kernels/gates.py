"""Kernels for one step of a recurrent cell, forward and backward, and for masked rows.

Shapes: batch B, hidden size H, G = gates · H. The pre-activations have an input part `a` (B, G) and
a recurrent part `u` (B, G), with H columns per gate. h' (h_next in the code) is h after the step.

In a backward kernel each comment quotes a forward line, and the code below the comment is the
derivative of this line. The forward lines come in reverse order. dy is the gradient of h' from the
layers that use h', dh_next is the gradient of h' from later steps, and dnext = dy + dh_next. The
caller adds du Uᵀ, which is the gradient that reaches h through u = h U.
"""

from numpy_attention.kernels.elementary import kernel, sigmoid, tanh
from numpy_attention.kernels.guard import guarded


@guarded(mask="B bool", before="B H", after="B H")
@kernel
def keep(mask, before, after):
    """Set after = before in the rows where mask (B,) is False."""
    for b in range(mask.shape[0]):
        if not mask[b]:
            after[b, :] = before[b]


@guarded(mask="B bool", dy="B H", dh_next="B H", da="B G", du="B G", dh="B H")
@kernel
def keep_backward(mask, dy, dh_next, da, du, dh):
    """Backward of `keep` for h: where mask (B,) is False, set dh = dy + dh_next and da = du = 0."""
    for b in range(mask.shape[0]):
        if not mask[b]:
            da[b, :] = 0
            du[b, :] = 0
            dyb = dy[b]
            dhn = dh_next[b]
            dhb = dh[b]
            # h' = h
            for j in range(dhb.shape[0]):
                dhb[j] = dyb[j] + dhn[j]


@kernel
def halves(row):
    """Split a row into the blocks of two gates."""
    H = row.shape[0] // 2
    return row[:H], row[H:]


@kernel
def thirds(row):
    """Split a row into the blocks of three gates."""
    H = row.shape[0] // 3
    return row[:H], row[H:2 * H], row[2 * H:]


@kernel
def quarters(row):
    """Split a row into four blocks of equal size, one for each gate."""
    H = row.shape[0] // 4
    return row[:H], row[H:2 * H], row[2 * H:3 * H], row[3 * H:]


# ---- Elman's network --------------------------------------------------------------------------


@guarded(a="B H", u="B H", h_next="B H")
@kernel
def elman(a, u, h_next):
    """Compute h' = tanh(a + u)."""
    for b in range(a.shape[0]):
        ab = a[b]
        ub = u[b]
        hn = h_next[b]
        for j in range(hn.shape[0]):
            hn[j] = tanh(ab[j] + ub[j])


@guarded(dy="B H", dh_next="B H", h_next="B H", da="B H")
@kernel
def elman_backward(dy, dh_next, h_next, da):
    """Backward of `elman`. da is both ∂L/∂a and ∂L/∂u."""
    one = h_next.dtype.type(1)
    for b in range(h_next.shape[0]):
        dyb = dy[b]
        dhn = dh_next[b]
        hn = h_next[b]
        dab = da[b]
        for j in range(hn.shape[0]):
            dnext = dyb[j] + dhn[j]
            # h' = tanh(a + u)
            dab[j] = dnext * (one - hn[j] * hn[j])


# ---- LSTM: gates in the order i f g o ---------------------------------------------------------


@guarded(a="B 4H", u="B 4H", c="B H", gates="B 4H", h_next="B H", c_next="B H")
@kernel
def lstm(a, u, c, gates, h_next, c_next):
    """Compute i, f, o = σ(a + u) and g = tanh(a + u), then c' = f c + i g and h' = o tanh(c')."""
    for b in range(c.shape[0]):
        ai, af, ag, ao = quarters(a[b])
        ui, uf, ug, uo = quarters(u[b])
        i, f, g, o = quarters(gates[b])
        cb = c[b]
        cn = c_next[b]
        hn = h_next[b]
        for j in range(cb.shape[0]):
            i[j] = sigmoid(ai[j] + ui[j])
            f[j] = sigmoid(af[j] + uf[j])
            g[j] = tanh(ag[j] + ug[j])
            o[j] = sigmoid(ao[j] + uo[j])
            cn[j] = f[j] * cb[j] + i[j] * g[j]
            hn[j] = o[j] * tanh(cn[j])


@guarded(dy="B H", dh_next="B H", dc_next="B H", gates="B 4H", c="B H", c_next="B H",
         da="B 4H", dc="B H")
@kernel
def lstm_backward(dy, dh_next, dc_next, gates, c, c_next, da, dc):
    """Backward of `lstm`. da = [di df dg do] is both ∂L/∂a and ∂L/∂u; dc is ∂L/∂c."""
    one = c.dtype.type(1)
    for b in range(c.shape[0]):
        i, f, g, o = quarters(gates[b])
        di, df, dg, do = quarters(da[b])
        dyb = dy[b]
        dhn = dh_next[b]
        dcn = dc_next[b]
        cb = c[b]
        cn = c_next[b]
        dcb = dc[b]
        for j in range(cb.shape[0]):
            dnext = dyb[j] + dhn[j]
            # h' = o tanh(c')
            t = tanh(cn[j])
            dcj = dcn[j] + dnext * o[j] * (one - t * t)
            # c' = f c + i g
            dcb[j] = dcj * f[j]
            # o = σ(a_o + u_o)
            do[j] = dnext * t * o[j] * (one - o[j])
            # g = tanh(a_g + u_g)
            dg[j] = dcj * i[j] * (one - g[j] * g[j])
            # f = σ(a_f + u_f)
            df[j] = dcj * cb[j] * f[j] * (one - f[j])
            # i = σ(a_i + u_i)
            di[j] = dcj * g[j] * i[j] * (one - i[j])


# ---- GRU: gates in the order r z n; new: z weights the new state ------------------------------


@guarded(a="B 3H", u="B 3H", b_n="H", h="B H", gates="B 3H", s="B H", h_next="B H")
@kernel
def gru(a, u, b_n, h, new, gates, s, h_next):
    """Compute a GRU step with reset="after": r, z = σ(a + u), s = u_n + b_n, n = tanh(a_n + r s).

    Then h' = (1 − z) n + z h, or h' = z n + (1 − z) h if `new` is true.
    """
    one = h.dtype.type(1)
    for b in range(h.shape[0]):
        ar, az, an = thirds(a[b])
        ur, uz, un = thirds(u[b])
        r, z, n = thirds(gates[b])
        sb = s[b]
        hb = h[b]
        hn = h_next[b]
        for j in range(hb.shape[0]):
            r[j] = sigmoid(ar[j] + ur[j])
            z[j] = sigmoid(az[j] + uz[j])
            sb[j] = un[j] + b_n[j]
            n[j] = tanh(an[j] + r[j] * sb[j])
            of_n = z[j] if new else one - z[j]
            of_h = one - z[j] if new else z[j]
            hn[j] = of_n * n[j] + of_h * hb[j]


@guarded(dy="B H", dh_next="B H", gates="B 3H", s="B H", h="B H", da="B 3H", du="B 3H",
         dh="B H")
@kernel
def gru_backward(dy, dh_next, gates, s, h, new, da, du, dh):
    """Backward of `gru`. Sets da = [dr dz dn], du = [dr dz ds]; sets dh without the part via u."""
    one = h.dtype.type(1)
    sign = -one if new else one
    for b in range(h.shape[0]):
        r, z, n = thirds(gates[b])
        dar, daz, dan = thirds(da[b])
        dur, duz, dun = thirds(du[b])
        dyb = dy[b]
        dhn = dh_next[b]
        sb = s[b]
        hb = h[b]
        dhb = dh[b]
        for j in range(hb.shape[0]):
            dnext = dyb[j] + dhn[j]
            # h' = (1 − z) n + z h, or with new  h' = z n + (1 − z) h
            of_n = z[j] if new else one - z[j]
            of_h = one - z[j] if new else z[j]
            dhb[j] = dnext * of_h
            dz = sign * dnext * (hb[j] - n[j])
            # n = tanh(a_n + r s)
            dan[j] = dnext * of_n * (one - n[j] * n[j])
            # s = u_n + b_n
            dun[j] = dan[j] * r[j]
            # z = σ(a_z + u_z)
            daz[j] = dz * z[j] * (one - z[j])
            duz[j] = daz[j]
            # r = σ(a_r + u_r)
            dar[j] = dan[j] * sb[j] * r[j] * (one - r[j])
            dur[j] = dar[j]


@guarded(a="B 3H", u="B 2H", h="B H", gates="B 3H", s="B H")
@kernel
def gru_reset(a, u, h, gates, s):
    """Compute the first half of a GRU step with reset="before": r, z = σ(a + u), s = r h.

    u (B, 2H) has blocks for r and z, but not for n.
    """
    for b in range(h.shape[0]):
        ar, az, _ = thirds(a[b])
        ur, uz = halves(u[b])
        r, z, _ = thirds(gates[b])
        sb = s[b]
        hb = h[b]
        for j in range(hb.shape[0]):
            r[j] = sigmoid(ar[j] + ur[j])
            z[j] = sigmoid(az[j] + uz[j])
            sb[j] = r[j] * hb[j]


@guarded(a="B 3H", u_n="B H", h="B H", gates="B 3H", h_next="B H")
@kernel
def gru_update(a, u_n, h, new, gates, h_next):
    """Compute the second half of the step that `gru_reset` begins: n = tanh(a_n + u_n), then h'.

    h' is computed as in `gru`. u_n = s U_n, where s is the result of `gru_reset`.
    """
    one = h.dtype.type(1)
    for b in range(h.shape[0]):
        _, _, an = thirds(a[b])
        _, z, n = thirds(gates[b])
        un = u_n[b]
        hb = h[b]
        hn = h_next[b]
        for j in range(hb.shape[0]):
            n[j] = tanh(an[j] + un[j])
            of_n = z[j] if new else one - z[j]
            of_h = one - z[j] if new else z[j]
            hn[j] = of_n * n[j] + of_h * hb[j]


@guarded(dy="B H", dh_next="B H", gates="B 3H", h="B H", da="B 3H", dh="B H")
@kernel
def gru_update_backward(dy, dh_next, gates, h, new, da, dh):
    """Backward of `gru_update`. Sets dh, and the z and n blocks of da."""
    one = h.dtype.type(1)
    sign = -one if new else one
    for b in range(h.shape[0]):
        _, z, n = thirds(gates[b])
        _, daz, dan = thirds(da[b])
        dyb = dy[b]
        dhn = dh_next[b]
        hb = h[b]
        dhb = dh[b]
        for j in range(hb.shape[0]):
            dnext = dyb[j] + dhn[j]
            # h' = (1 − z) n + z h, or with new  h' = z n + (1 − z) h
            of_n = z[j] if new else one - z[j]
            of_h = one - z[j] if new else z[j]
            dhb[j] = dnext * of_h
            dz = sign * dnext * (hb[j] - n[j])
            # n = tanh(a_n + u_n)
            dan[j] = dnext * of_n * (one - n[j] * n[j])
            # z = σ(a_z + u_z)
            daz[j] = dz * z[j] * (one - z[j])


@guarded(ds="B H", gates="B 3H", h="B H", da="B 3H", dh="B H")
@kernel
def gru_reset_backward(ds, gates, h, da, dh):
    """Backward of `gru_reset` from ds = da_n U_nᵀ. Sets the r block of da, and adds r ds to dh."""
    one = h.dtype.type(1)
    for b in range(h.shape[0]):
        r, _, _ = thirds(gates[b])
        dar, _, _ = thirds(da[b])
        dsb = ds[b]
        hb = h[b]
        dhb = dh[b]
        for j in range(hb.shape[0]):
            # s = r h
            dhb[j] += dsb[j] * r[j]
            # r = σ(a_r + u_r)
            dar[j] = dsb[j] * hb[j] * r[j] * (one - r[j])
