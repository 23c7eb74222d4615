"""As unseen.py, for the exercises on cells with gates, on batches and histories, and on search.

Where an exercise has more than one blank, those without the mistake are among RIGHT.
"""

from unseen import Unseen

RIGHT = {
    "see_backward": '''
        if reset == "after":
            into = da_n * r
            return into.dot(U_n.T), s * da_n, h.T.dot(into)
        into = da_n.dot(U_n.T)
        return r * into, h * into, s.T.dot(da_n)
    ''',
    "gru": '''
        xs, steps = cache
        U_r, U_z, U_n = np.split(self.U, 3, axis=1)
        dxs = [None] * len(xs)
        for t in range(len(xs) - 1, -1, -1):
            runs, h, r, z, s, n, keep = steps[t]
            total = dh + dys[t]
            dz = runs * total * (h - n) * (1 if self.update == "old" else -1)
            delta_n = total * (1 - keep) * (1 - n * n)
            seen, dr, dU_n = see_backward(self.reset, delta_n, h, r, s, U_n)
            delta_r = dr * r * (1 - r)
            delta_z = dz * z * (1 - z)
            grads.U += np.hstack((h.T @ delta_r, h.T @ delta_z, dU_n))
            deltas = np.hstack((delta_r, delta_z, delta_n))
            grads.W += xs[t].T @ deltas
            grads.b += deltas.sum(axis=0)
            if self.b_n is not None:
                grads.b_n += (r * delta_n).sum(axis=0)
            dxs[t] = deltas @ self.W.T
            dh = total * keep + seen + delta_r @ U_r.T + delta_z @ U_z.T
        return np.array(dxs), dh
    ''',
    "additive step": '''
        memory, q, x, weights = cache
        dmemory.values += np.einsum("bs,bd->bsd", weights, dcontext)
        dalpha = np.einsum("bsd,bd->bs", memory.values, dcontext)
        if dweights is not None:
            dalpha = dalpha + dweights
        dscores = self.softmax_backward(dalpha, weights)
        inner = np.einsum("bs,a->bsa", dscores, self.v_a) * (1 - np.square(x))
        grads.v_a += np.einsum("bs,bsa->a", dscores, x)
        grads.W_a += np.einsum("bq,bsa->qa", q, inner)
        dmemory.keys += inner
        return np.einsum("bsa,qa->bq", inner, self.W_a)
    ''',
    "additive softmax": '''
        return alpha * dalpha - alpha * np.einsum("bs,bs->b", alpha, dalpha)[:, np.newaxis]
    ''',
    "additive read": '''
        grads.U_a += np.einsum("bsd,bsa->da", memory.values, dmemory.keys)
        return np.einsum("bsa,da->bsd", dmemory.keys, self.U_a) + dmemory.values
    ''',
    "causal": '''
        h, values, x, alpha, c, y = cache
        delta = (1 - y * y) * dy
        grads.W_x += np.tensordot(h, delta, ([0, 1], [0, 1]))
        grads.W_r += np.tensordot(c, delta, ([0, 1], [0, 1]))
        grads.b += delta.sum(axis=0).sum(axis=0)
        dc = delta.dot(self.W_r.T)
        weights_in = dalpha + np.einsum("bsh,tbh->tbs", values, dc)
        average = np.einsum("tbs,tbs->tb", alpha, weights_in)
        de = alpha * (weights_in - average[:, :, None])
        grads.v += np.einsum("tbs,tbsa->a", de, x)
        inner = np.einsum("tbs,a,tbsa->tbsa", de, self.v, 1 - x * x)
        asked = inner.sum(axis=2)
        found = inner.sum(axis=0).transpose(1, 0, 2)
        grads.W_q += np.tensordot(h, asked, ([0, 1], [0, 1]))
        grads.W_s += np.tensordot(h, found, ([0, 1], [0, 1]))
        return self.four_roles(delta, asked, found, np.einsum("tbs,tbh->sbh", alpha, dc))
    ''',
    "four_roles": '''
        return sum((d.dot(W.T) for d, W in ((da, self.W_x), (dq, self.W_q), (dk, self.W_s))),
                   dvalues)
    ''',
}

UNSEEN = [
    # ---- lstm ----------------------------------------------------------------------------------
    Unseen("lstm", '''
        x, h, c, i, f, g, o, tanh_c = kept
        delta_i = dc * g * i * (1 - i)
        delta_f = dc * c * f * (1 - f)
        delta_g = dc * i * (1 - g * g)
        delta_o = dh * tanh_c * o * (1 - o)
        deltas = np.hstack([delta_i, delta_f, delta_g, delta_o])
        grads.W += np.einsum("bi,bk->ik", x, deltas)
        grads.U += np.einsum("bh,bk->hk", h, deltas)
        grads.b += np.einsum("bk->k", deltas)
        return deltas.dot(self.W.T), deltas.dot(self.U.T), f * dc
    ''', "c' is heard by the next step alone: the way through h' = o tanh(c') is forgotten"),
    Unseen("lstm", '''
        x, h, c, i, f, g, o, tc = kept
        dcell = dh * o * (1 - tc ** 2)
        gates = [dcell * g * i * (1 - i), dcell * c * f * (1 - f), dcell * i * (1 - g ** 2),
                 dh * tc * o * (1 - o)]
        dx, dh_prev = 0, 0
        Ws, Us = np.split(self.W, 4, axis=1), np.split(self.U, 4, axis=1)
        for a, W, U in zip(gates, Ws, Us):
            dx = dx + a @ W.T
            dh_prev = dh_prev + a @ U.T
        a = np.concatenate(gates, 1)
        grads.W += x.T @ a
        grads.U += h.T @ a
        grads.b += a.sum(0)
        return dx, dh_prev, dcell * f
    ''', "c' is heard through h' alone: what the next step says of it takes no part"),
    Unseen("lstm", '''
        x, h, c, i, f, g, o, tc = kept
        through_h = dc + dh * o * (1 - tc * tc)
        d = np.concatenate([through_h * g * i * (1 - i), through_h * c * f * (1 - f),
                            through_h * i * (1 - g * g), dh * tc * o * (1 - o)], axis=1)
        grads.W += x.T.dot(d)
        grads.U += h.T.dot(d)
        grads.b += d.sum(0)
        return d.dot(self.W.T), d.dot(self.U.T), dc * f
    ''', "c receives what came from the next step, without what came from h' on the way"),
    Unseen("lstm", '''
        x, h, c, i, f, g, o, tc = kept

        def slope(gate):
            return gate - gate ** 2

        dc = dc + dh * o * (1 - tc ** 2)
        da = np.hstack([dc * g * slope(i), dc * c * slope(f), dc * i * slope(g),
                        dh * tc * slope(o)])
        grads.W += x.T @ da
        grads.U += h.T @ da
        grads.b += da.sum(axis=0)
        return da @ self.W.T, da @ self.U.T, dc * f
    ''', "the candidate's derivative is taken to be a sigmoid's, as the gates' are"),
    Unseen("lstm", '''
        x, h, c, i, f, g, o, tc = kept
        after = f * c + i * g
        dc = dc + dh * o * (1 - tc ** 2)
        da_i = dc * g * i * (1 - i)
        da_f = dc * after * f * (1 - f)
        da_g = dc * i * (1 - g ** 2)
        da_o = dh * tc * o * (1 - o)
        da = np.concatenate((da_i, da_f, da_g, da_o), axis=1)
        grads.W += np.einsum("bi,bk->ik", x, da)
        grads.U += np.einsum("bi,bk->ik", h, da)
        grads.b += np.einsum("bk->k", da)
        return np.einsum("bk,ik->bi", da, self.W), np.einsum("bk,ik->bi", da, self.U), dc * f
    ''', "the forget gate meets the cell after the step, not the one before it"),
    Unseen("lstm", '''
        x, h, c, i, f, g, o, tc = kept
        dc = dc + dh * o * (1 - tc ** 2)
        da_i = dc * g * i * (1 - i)
        da_f = dc * c * f * (1 - f)
        da_o = dh * tc * o * (1 - o)
        da_g = dc * i * (1 - g ** 2)
        da = np.concatenate([da_i, da_f, da_o, da_g], axis=1)
        grads.W += x.T @ da
        grads.U += h.T @ da
        grads.b += da.sum(0)
        return da @ self.W.T, da @ self.U.T, dc * f
    ''', "the gates are put together in another order than that in which they were cut"),
    Unseen("lstm", '''
        x, h, c, i, f, g, o, tc = kept
        cell = f * c + i * g
        dc = dc + dh * o * (1 - tc ** 2)
        da = np.concatenate([dc * g * i * (1 - i), dc * c * f * (1 - f), dc * i * (1 - g ** 2),
                             dh * cell * o * (1 - o)], axis=1)
        grads.W += x.T @ da
        grads.U += h.T @ da
        grads.b += np.sum(da, axis=0)
        return np.dot(da, self.W.T), np.dot(da, self.U.T), dc * f
    ''', "the output gate is taken to stand before c', where it stands before tanh(c')"),
    Unseen("lstm", '''
        x, h, c, i, f, g, o, tc = kept
        dc = dc + dh * o * (1 - np.tanh(c) ** 2)
        da = np.concatenate([dc * g * i * (1 - i), dc * c * f * (1 - f), dc * i * (1 - g ** 2),
                             dh * tc * o * (1 - o)], axis=1)
        grads.W += x.T @ da
        grads.U += h.T @ da
        grads.b += da.sum(0)
        return da @ self.W.T, da @ self.U.T, f * dc
    ''', "tanh's slope is taken at the cell before the step"),
    Unseen("lstm", '''
        x, h, c, i, f, g, o, tc = kept
        h_new = o * tc
        dcell = dc + dh * o * (1 - tc ** 2)
        B, H = h.shape
        da = np.zeros((B, 4 * H))
        for b in range(B):
            for j in range(H):
                da[b, j] = dcell[b, j] * g[b, j] * i[b, j] * (1 - i[b, j])
                da[b, H + j] = dcell[b, j] * c[b, j] * f[b, j] * (1 - f[b, j])
                da[b, 2 * H + j] = dcell[b, j] * i[b, j] * (1 - g[b, j] ** 2)
                da[b, 3 * H + j] = dh[b, j] * tc[b, j] * o[b, j] * (1 - o[b, j])
            grads.W += np.outer(x[b], da[b])
            grads.U += np.outer(h_new[b], da[b])
            grads.b += da[b]
        return da @ self.W.T, da @ self.U.T, dcell * f
    ''', "U met the state before the step; it is given the one after"),
    Unseen("lstm", '''
        x, h, c, i, f, g, o, tc = kept
        dc = dc + dh * o * (1 - tc ** 2)
        di, df, dg, do = dc * g, dc * c, dc * i, dh * tc
        da = np.hstack([di * i * (1 - i), df * f * (1 - f), dg * (1 - g ** 2), do * o * (1 - o)])
        grads.W += x.T @ da
        grads.U += h.T @ da
        grads.b += da.sum(0)
        dc_prev = dc * f + df * f * (1 - f)
        return da @ self.W.T, da @ self.U.T, dc_prev
    ''', "c is taken to stand inside the forget gate as well"),
    # ---- gru -----------------------------------------------------------------------------------
    Unseen("gru", (RIGHT["see_backward"], '''
        xs, steps = cache
        U_r, U_z, U_n = np.split(self.U, 3, axis=1)
        dxs = [None] * len(xs)
        for t in range(len(xs) - 1, -1, -1):
            runs, h, r, z, s, n, keep = steps[t]
            total = dh + dys[t]
            dz = runs * total * (h - n) * (1 if self.update == "old" else -1)
            delta_n = total * (1 - keep) * (1 - n * n)
            seen, dr, dU_n = see_backward(self.reset, delta_n, h, r, s, U_n)
            delta_r, delta_z = dr * r * (1 - r), dz * z * (1 - z)
            grads.U += np.hstack((h.T @ delta_r, h.T @ delta_z, dU_n))
            deltas = np.hstack((delta_r, delta_z, delta_n))
            grads.W += xs[t].T @ deltas
            grads.b += deltas.sum(axis=0)
            if self.b_n is not None:
                grads.b_n += (r * delta_n).sum(axis=0)
            dxs[t] = deltas @ self.W.T
            dh = seen + delta_r @ U_r.T + delta_z @ U_z.T
        return np.array(dxs), dh
    '''), "the state that is kept gives nothing back: the way dh * keep is forgotten"),
    Unseen("gru", (RIGHT["see_backward"], '''
        xs, steps = cache
        U_r, U_z, U_n = np.split(self.U, 3, axis=1)
        dxs = [None] * len(xs)
        for t in range(len(xs) - 1, -1, -1):
            runs, h, r, z, s, n, keep = steps[t]
            total = dh + dys[t]
            dz = runs * total * (h - n) * (1 if self.update == "old" else -1)
            delta_n = total * (1 - keep) * (1 - n * n)
            seen, dr, dU_n = see_backward(self.reset, delta_n, h, r, s, U_n)
            delta_r, delta_z = dr * r * (1 - r), dz * z * (1 - z)
            grads.U += np.hstack((h.T @ delta_r, h.T @ delta_z, dU_n))
            deltas = np.hstack((delta_r, delta_z, delta_n))
            grads.W += xs[t].T @ deltas
            grads.b += deltas.sum(axis=0)
            if self.b_n is not None:
                grads.b_n += (r * delta_n).sum(axis=0)
            dxs[t] = deltas @ self.W.T
            dh = total * keep + seen
        return np.array(dxs), dh
    '''), "the gates, too, have read the old state: neither says anything to it"),
    Unseen("gru", (RIGHT["see_backward"], '''
        xs, steps = cache
        U_r, U_z, U_n = np.split(self.U, 3, axis=1)
        dxs = [None] * len(xs)
        for t in range(len(xs) - 1, -1, -1):
            runs, h, r, z, s, n, keep = steps[t]
            total = dh + dys[t]
            dz = total * (h - n)
            if self.update == "new":
                dz = -dz
            delta_n = total * (1 - keep) * (1 - n * n)
            seen, dr, dU_n = see_backward(self.reset, delta_n, h, r, s, U_n)
            delta_r, delta_z = dr * r * (1 - r), dz * z * (1 - z)
            grads.U += np.hstack((h.T @ delta_r, h.T @ delta_z, dU_n))
            deltas = np.hstack((delta_r, delta_z, delta_n))
            grads.W += xs[t].T @ deltas
            grads.b += deltas.sum(axis=0)
            if self.b_n is not None:
                grads.b_n += (r * delta_n).sum(axis=0)
            dxs[t] = deltas @ self.W.T
            dh = total * keep + seen + delta_r @ U_r.T + delta_z @ U_z.T
        return np.array(dxs), dh
    '''), "past the end the update gate had no part, and it is given a gradient"),
    Unseen("gru", (RIGHT["see_backward"], '''
        xs, steps = cache
        U_r, U_z, U_n = np.split(self.U, 3, axis=1)
        dxs = [None] * len(xs)
        for t in range(len(xs) - 1, -1, -1):
            runs, h, r, z, s, n, keep = steps[t]
            total = dh + dys[t]
            dz = runs * total * (h - n)
            delta_n = total * (1 - keep) * (1 - n * n)
            seen, dr, dU_n = see_backward(self.reset, delta_n, h, r, s, U_n)
            delta_r, delta_z = dr * r * (1 - r), dz * z * (1 - z)
            grads.U += np.hstack((h.T @ delta_r, h.T @ delta_z, dU_n))
            deltas = np.hstack((delta_r, delta_z, delta_n))
            grads.W += xs[t].T @ deltas
            grads.b += deltas.sum(axis=0)
            if self.b_n is not None:
                grads.b_n += (r * delta_n).sum(axis=0)
            dxs[t] = deltas @ self.W.T
            dh = total * keep + seen + delta_r @ U_r.T + delta_z @ U_z.T
        return np.array(dxs), dh
    '''),
           "one convention of update alone: in the other z is the new share"),
    Unseen("gru", (RIGHT["see_backward"], '''
        xs, steps = cache
        U_r, U_z, U_n = np.split(self.U, 3, axis=1)
        dxs = [None] * len(xs)
        for t in range(len(xs) - 1, -1, -1):
            runs, h, r, z, s, n, keep = steps[t]
            total = dh + dys[t]
            dz = runs * total * (h - n) * (1 if self.update == "old" else -1)
            new = 1 - z if self.update == "old" else z
            delta_n = total * new * (1 - n * n)
            seen, dr, dU_n = see_backward(self.reset, delta_n, h, r, s, U_n)
            delta_r, delta_z = dr * r * (1 - r), dz * z * (1 - z)
            grads.U += np.hstack((h.T @ delta_r, h.T @ delta_z, dU_n))
            deltas = np.hstack((delta_r, delta_z, delta_n))
            grads.W += xs[t].T @ deltas
            grads.b += deltas.sum(axis=0)
            if self.b_n is not None:
                grads.b_n += (r * delta_n).sum(axis=0)
            dxs[t] = deltas @ self.W.T
            dh = total * keep + seen + delta_r @ U_r.T + delta_z @ U_z.T
        return np.array(dxs), dh
    '''), "the candidate's share is taken from z, past the end as well: the mask is forgotten"),
    Unseen("gru", (RIGHT["see_backward"], '''
        xs, steps = cache
        U_r, U_z, U_n = np.split(self.U, 3, axis=1)
        dxs = [None] * len(xs)
        for t in range(len(xs) - 1, -1, -1):
            runs, h, r, z, s, n, keep = steps[t]
            total = dh + dys[t]
            dz = runs * total * h * (1 if self.update == "old" else -1)
            delta_n = total * (1 - keep) * (1 - n * n)
            seen, dr, dU_n = see_backward(self.reset, delta_n, h, r, s, U_n)
            delta_r, delta_z = dr * r * (1 - r), dz * z * (1 - z)
            grads.U += np.hstack((h.T @ delta_r, h.T @ delta_z, dU_n))
            deltas = np.hstack((delta_r, delta_z, delta_n))
            grads.W += xs[t].T @ deltas
            grads.b += deltas.sum(axis=0)
            if self.b_n is not None:
                grads.b_n += (r * delta_n).sum(axis=0)
            dxs[t] = deltas @ self.W.T
            dh = total * keep + seen + delta_r @ U_r.T + delta_z @ U_z.T
        return np.array(dxs), dh
    '''), "z stands in keep and in 1 − keep: only the first is derived"),
    Unseen("gru", (RIGHT["see_backward"], '''
        xs, steps = cache
        U_r, U_z, U_n = np.split(self.U, 3, axis=1)
        dxs = [None] * len(xs)
        for t in range(len(xs) - 1, -1, -1):
            runs, h, r, z, s, n, keep = steps[t]
            total = dh + dys[t]
            dz = runs * total * (h - n) * (1 if self.update == "old" else -1)
            delta_n = total * (1 - keep) * (1 - n * n)
            seen, dr, dU_n = see_backward(self.reset, delta_n, h, r, s, U_n)
            delta_r, delta_z = dr * r * (1 - r), dz * z * (1 - z)
            grads.U += np.hstack((h.T @ delta_r, h.T @ delta_z, dU_n))
            deltas = np.hstack((delta_r, delta_z, delta_n))
            grads.W += xs[t].T @ deltas
            grads.b += deltas.sum(axis=0)
            if self.b_n is not None:
                grads.b_n += delta_n.sum(axis=0)
            dxs[t] = deltas @ self.W.T
            dh = total * keep + seen + delta_r @ U_r.T + delta_z @ U_z.T
        return np.array(dxs), dh
    '''), "b_n stands within the reset gate, and is treated as if it stood beside b"),
    Unseen("gru", ('''
        da_seen = da_n * r
        if reset == "after":
            return da_seen @ U_n.T, da_n * s, h.T @ da_seen
        return da_seen @ U_n.T, da_n * (h @ U_n), h.T @ da_seen
    ''', RIGHT["gru"]), "the formula of the other convention: r is taken to come behind U_n"),
    Unseen("gru", ('''
        if reset == "after":
            return (da_n * r).dot(U_n.T), da_n * h.dot(U_n), h.T.dot(da_n * r)
        back = da_n.dot(U_n.T)
        return back * r, back * h, (r * h).T.dot(da_n)
    ''', RIGHT["gru"]), "the reset gate meets h U_n without its bias"),
    Unseen("gru", ('''
        if reset == "after":
            dU_n = np.einsum("bi,bj->ij", h, da_n * r)
            return (da_n * r) @ U_n.T, da_n * s, dU_n
        ds = da_n @ U_n.T
        dU_n = np.einsum("bi,bj->ij", h, da_n)
        return ds * r, ds * h, dU_n
    ''', RIGHT["gru"]), "where r comes before U_n, U_n has met r h and not h"),
    Unseen("gru", ('''
        if reset == "after":
            return (da_n * r) @ U_n.T, da_n * s, h.T @ (da_n * r)
        ds = da_n @ U_n.T
        return ds, ds * h, s.T @ da_n
    ''', RIGHT["gru"]),
           "h is given what belongs to r h: the reset gate is forgotten on the way back"),
    Unseen("gru", (RIGHT["see_backward"], '''
        xs, steps = cache
        U_r, U_z, U_n = np.split(self.U, 3, axis=1)
        dxs = [None] * len(xs)
        for t in range(len(xs) - 1, -1, -1):
            runs, h, r, z, s, n, keep = steps[t]
            total = dh
            dz = runs * total * (h - n) * (1 if self.update == "old" else -1)
            delta_n = total * (1 - keep) * (1 - n * n)
            seen, dr, dU_n = see_backward(self.reset, delta_n, h, r, s, U_n)
            delta_r, delta_z = dr * r * (1 - r), dz * z * (1 - z)
            grads.U += np.hstack((h.T @ delta_r, h.T @ delta_z, dU_n))
            deltas = np.hstack((delta_r, delta_z, delta_n))
            grads.W += xs[t].T @ deltas
            grads.b += deltas.sum(axis=0)
            if self.b_n is not None:
                grads.b_n += (r * delta_n).sum(axis=0)
            dxs[t] = deltas @ self.W.T
            dh = total * keep + seen + delta_r @ U_r.T + delta_z @ U_z.T + dys[t]
        return np.array(dxs), dh
    '''), "what stands above a state is added behind its step: one step too early"),
    # ---- additive ------------------------------------------------------------------------------
    Unseen("additive", ('''
        memory, q, x, weights = cache
        dmemory.values[...] = weights[:, :, None] * dcontext[:, None, :]
        dalpha = np.einsum("bsd,bd->bs", memory.values, dcontext)
        if dweights is not None:
            dalpha = dalpha + dweights
        dscores = self.softmax_backward(dalpha, weights)
        inner = np.einsum("bs,a->bsa", dscores, self.v_a) * (1 - np.square(x))
        grads.v_a += np.einsum("bs,bsa->a", dscores, x)
        grads.W_a += np.einsum("bq,bsa->qa", q, inner)
        dmemory.keys[...] = inner
        return np.einsum("bsa,qa->bq", inner, self.W_a)
    ''', RIGHT["additive softmax"], RIGHT["additive read"]),
           "every step reads the memory; only what the last one says of it stays"),
    Unseen("additive", ('''
        memory, q, x, weights = cache
        dmemory.values += np.einsum("bs,bd->bsd", weights, dcontext)
        dalpha = np.einsum("bsd,bd->bs", memory.values, dcontext)
        dscores = self.softmax_backward(dalpha, weights)
        if dweights is not None:
            dscores = dscores + dweights
        inner = np.einsum("bs,a->bsa", dscores, self.v_a) * (1 - np.square(x))
        grads.v_a += np.einsum("bs,bsa->a", dscores, x)
        grads.W_a += np.einsum("bq,bsa->qa", q, inner)
        dmemory.keys += inner
        return np.einsum("bsa,qa->bq", inner, self.W_a)
    ''', RIGHT["additive softmax"], RIGHT["additive read"]),
           "the weights' gradient is added to the scores', behind the softmax"),
    Unseen("additive", ('''
        memory, q, x, weights = cache
        dmemory.values += np.einsum("bs,bd->bsd", weights, dcontext)
        dalpha = np.einsum("bsd,bd->bs", memory.values, dcontext)
        dscores = self.softmax_backward(dalpha, weights)
        inner = np.einsum("bs,a->bsa", dscores, self.v_a) * (1 - np.square(x))
        grads.v_a += np.einsum("bs,bsa->a", dscores, x)
        grads.W_a += np.einsum("bq,bsa->qa", q, inner)
        dmemory.keys += inner
        return np.einsum("bsa,qa->bq", inner, self.W_a)
    ''', RIGHT["additive softmax"], RIGHT["additive read"]),
           "what a loss on the weights says is not listened to"),
    Unseen("additive", ('''
        memory, q, x, weights = cache
        dalpha = np.einsum("bsd,bd->bs", memory.values, dcontext)
        if dweights is not None:
            dalpha = dalpha + dweights
        dscores = self.softmax_backward(dalpha, weights)
        inner = np.einsum("bs,a->bsa", dscores, self.v_a) * (1 - np.square(x))
        grads.v_a += np.einsum("bs,bsa->a", dscores, x)
        grads.W_a += np.einsum("bq,bsa->qa", q, inner)
        dmemory.keys += inner
        return np.einsum("bsa,qa->bq", inner, self.W_a)
    ''', RIGHT["additive softmax"], RIGHT["additive read"]),
           "an annotation is found, and not said: its way through the context is forgotten"),
    Unseen("additive", (RIGHT["additive step"], RIGHT["additive softmax"], '''
        grads.U_a += np.einsum("bsd,bsa->da", memory.values, dmemory.keys)
        return np.einsum("bsa,da->bsd", dmemory.keys, self.U_a)
    '''), "what was gathered of the values is not handed on to the annotations"),
    Unseen("additive", ('''
        memory, q, x, weights = cache
        dmemory.values += np.einsum("bs,bd->bsd", weights, dcontext)
        dalpha = np.einsum("bsd,bd->bs", memory.values, dcontext)
        if dweights is not None:
            dalpha = dalpha + dweights
        dscores = self.softmax_backward(dalpha, weights)
        inner = np.einsum("bs,a->bsa", dscores, self.v_a) * (1 - np.square(x))
        grads.v_a += np.einsum("bs,bsa->a", dscores, x)
        grads.U_a += np.einsum("bsd,bsa->da", memory.values, inner)
        to_query = inner.sum(axis=1)
        grads.W_a += q.T @ to_query
        dmemory.keys += inner
        return to_query @ self.W_a.T
    ''', RIGHT["additive softmax"], RIGHT["additive read"]),
           "U_a is given its gradient in every step, and once more when the keys come back"),
    Unseen("additive", ('''
        memory, q, x, weights = cache
        dmemory.values += np.einsum("bs,bd->bsd", weights, dcontext)
        dalpha = np.einsum("bsd,bd->bs", memory.values, dcontext)
        if dweights is not None:
            dalpha = dalpha + dweights
        dscores = self.softmax_backward(dalpha, weights)
        inner = np.einsum("bs,a->bsa", dscores, self.v_a)
        grads.v_a += np.einsum("bs,bsa->a", dscores, x)
        grads.W_a += np.einsum("bq,bsa->qa", q, inner)
        dmemory.keys += inner
        return np.einsum("bsa,qa->bq", inner, self.W_a)
    ''', RIGHT["additive softmax"], RIGHT["additive read"]),
           "the tanh is walked through as if it were not there"),
    Unseen("additive", (RIGHT["additive step"], '''
        out = np.zeros_like(alpha)
        for j in range(alpha.shape[1]):
            out[:, j] = alpha[:, j] * (1 - alpha[:, j]) * dalpha[:, j]
        return out
    ''', RIGHT["additive read"]), "the softmax's Jacobian with its diagonal alone"),
    Unseen("additive", ('''
        memory, q, x, weights = cache
        dmemory.values += np.einsum("bs,bd->bsd", weights, dcontext)
        dalpha = np.einsum("bsd,bd->bs", memory.values, dcontext)
        if dweights is not None:
            dalpha = dalpha + dweights
        dscores = self.softmax_backward(dalpha, weights)
        inner = np.einsum("bs,a->bsa", dscores, self.v_a) * (1 - np.square(x))
        grads.v_a += np.einsum("bs,bsa->a", weights, x)
        grads.W_a += np.einsum("bq,bsa->qa", q, inner)
        dmemory.keys += inner
        return np.einsum("bsa,qa->bq", inner, self.W_a)
    ''', RIGHT["additive softmax"], RIGHT["additive read"]),
           "v_a is given the weights' mean of x, where the scores' gradients belong"),
    Unseen("additive", ('''
        memory, q, x, weights = cache
        lengths = memory.mask.sum(1)
        dmemory.values += np.einsum("bs,bd->bsd", weights, dcontext)
        dalpha = np.einsum("bsd,bd->bs", memory.values, dcontext)
        if dweights is not None:
            dalpha = dalpha + dweights
        dscores = self.softmax_backward(dalpha, weights)
        inner = np.einsum("bs,a->bsa", dscores, self.v_a) * (1 - np.square(x))
        grads.v_a += np.einsum("bs,bsa->a", dscores, x)
        to_query = inner.sum(axis=1) / lengths[:, None]
        grads.W_a += q.T @ to_query
        dmemory.keys += inner
        return to_query @ self.W_a.T
    ''', RIGHT["additive softmax"], RIGHT["additive read"]),
           "the query met every word, and is given the mean of what they say, not the sum"),
    # ---- layer-norm ----------------------------------------------------------------------------
    Unseen("layer-norm", '''
        x_hat, s = cache
        grads.g += np.einsum("td,td->d", dy, x_hat)
        grads.b += np.einsum("td->d", dy)
        return dy * self.g / s
    ''', "mean and spread are taken for constants"),
    Unseen("layer-norm", '''
        x_hat, s = cache
        grads.g += np.einsum("td,td->d", dy, x_hat)
        grads.b += np.einsum("td->d", dy)
        d = dy * self.g
        D = d.shape[1]
        centering = np.eye(D) - np.ones((D, D)) / D
        return d @ centering / s
    ''', "the spread is taken for a constant: two ways of three"),
    Unseen("layer-norm", '''
        x_hat, s = cache
        grads.g += np.einsum("td,td->d", dy, x_hat)
        grads.b += np.einsum("td->d", dy)
        d = dy * self.g / s
        return d - x_hat * np.einsum("td,td->t", d, x_hat)[:, None] / d.shape[1]
    ''', "the mean is taken for a constant: the spread alone has a way back"),
    Unseen("layer-norm", '''
        x_hat, s = cache
        grads.g += np.einsum("td,td->d", dy, x_hat)
        grads.b += np.einsum("td->d", dy)
        first = dy.mean(axis=1)[:, None]
        second = np.mean(dy * x_hat, axis=1)[:, None]
        return (dy - first - x_hat * second) / s
    ''', "what comes back to x̂ has not gone through g"),
    Unseen("layer-norm", '''
        x_hat, s = cache
        grads.g += np.einsum("td,td->d", dy, x_hat)
        grads.b += np.einsum("td->d", dy)
        first = dy.mean(axis=1, keepdims=True)
        second = (dy * x_hat).mean(axis=1, keepdims=True)
        return self.g * (dy - first - x_hat * second) / s
    ''', "g is taken out of the means, though it differs from column to column"),
    Unseen("layer-norm", '''
        x_hat, s = cache
        grads.g += np.einsum("td,td->d", dy, x_hat)
        grads.b += np.einsum("td->d", dy)
        d = dy * self.g
        return (d - d.mean(axis=0) - x_hat * np.mean(d * x_hat, axis=0)) / s
    ''', "the means are taken along the batch, as batch norm takes them"),
    Unseen("layer-norm", '''
        x_hat, s = cache
        T, D = dy.shape
        grads.g += np.einsum("td,td->d", dy, x_hat)
        grads.b += np.einsum("td->d", dy)
        d = dy * self.g
        centred = x_hat * s
        dvar = -0.5 * (d * centred).sum(1, keepdims=True) / s ** 3
        dmean = -d.sum(1, keepdims=True) / s
        return d / s + dmean / D + dvar * centred / D
    ''', "the derivative of the square has lost its 2"),
    Unseen("layer-norm", '''
        x_hat, s = cache
        T, D = dy.shape
        grads.g += np.einsum("td,td->d", dy, x_hat)
        grads.b += np.einsum("td->d", dy)
        d = dy * self.g
        centred = x_hat * s
        dvar = -0.5 * (d * centred).sum(1, keepdims=True) / s ** 3
        dmean = -d.sum(1, keepdims=True) / s
        return d / s + dmean / D + 2 * dvar * centred / (D - 1)
    ''', "the variance's derivative with D − 1, and the variance with D"),
    Unseen("layer-norm", '''
        x_hat, s = cache
        D = dy.shape[1]
        grads.g += np.einsum("td,td->d", dy, x_hat)
        grads.b += np.einsum("td->d", dy)
        d = dy * self.g
        dx = np.zeros_like(dy)
        for t in range(len(dy)):
            ones, along = 0.0, 0.0
            for j in range(D):
                ones += d[t, j]
                along += d[t, j] * x_hat[t, j]
            for k in range(D):
                dx[t, k] = (d[t, k] - ones - x_hat[t, k] * along) / s[t, 0]
        return dx
    ''', "sums where means belong: each x has only a D-th share in both"),
    Unseen("layer-norm", '''
        x_hat, s = cache
        grads.g += np.einsum("td,td->d", dy, x_hat)
        grads.b += np.einsum("td->d", dy)
        d = dy * self.g
        spread = s ** 2
        return (d - d.mean(1)[:, None] - x_hat * (d * x_hat).mean(1)[:, None]) / spread
    ''', "divided by the variance, not by its root"),
    # ---- beam ----------------------------------------------------------------------------------
    Unseen("beam", '''
        beams, finished = [((), 0.0)], []
        while beams:
            options = []
            for text, score in beams:
                for word, log_p in enumerate(next_log_p(text)):
                    options.append((text + (word,), score + log_p))
            options = sorted(options, key=lambda pair: pair[1], reverse=True)[:width]
            beams = []
            for text, score in options:
                if text[-1] == end or len(text) == longest:
                    finished.append((text, score))
                else:
                    beams.append((text, score))
        return sorted(finished, key=lambda pair: pair[1], reverse=True)
    ''', "what has ended gives up its place: width others go on behind it"),
    Unseen("beam", '''
        beams, finished = [((), 0.0)], []
        while beams:
            options = []
            for text, score in beams:
                for word, log_p in enumerate(next_log_p(text)):
                    options.append((text + (word,), score + log_p))
            options.sort(key=lambda pair: pair[1], reverse=True)
            beams = []
            for text, score in options[:width - len(finished)]:
                if text[-1] == end:
                    finished.append((text, score))
                elif len(text) < longest:
                    beams.append((text, score))
        return sorted(finished, key=lambda pair: pair[1], reverse=True)
    ''', "a hypothesis that has become too long is thrown away, not counted as ended"),
    Unseen("beam", '''
        beams, finished = [((), 0.0)], []
        while beams and not finished:
            options = []
            for text, score in beams:
                for word, log_p in enumerate(next_log_p(text)):
                    options.append((text + (word,), score + log_p))
            options.sort(key=lambda pair: pair[1], reverse=True)
            best = options[:width]
            finished += [one for one in best if one[0][-1] == end or len(one[0]) == longest]
            beams = [one for one in best if one not in finished]
        return sorted(finished, key=lambda pair: pair[1], reverse=True)
    ''', "the search ends with the first hypothesis that ends"),
    Unseen("beam", '''
        pool = [((), 0.0, False)]
        while not all(over for _, _, over in pool):
            new = []
            for text, score, over in pool:
                if over:
                    new.append((text, score, True))
                    continue
                for word, log_p in enumerate(next_log_p(text)):
                    longer = text + (word,)
                    new.append((longer, score + log_p, word == end or len(longer) == longest))
            new.sort(key=lambda one: one[1], reverse=True)
            pool = new[:width]
        return [(text, score) for text, score, _ in pool]
    ''', "what has ended must stand its ground again in every step, and may be pushed out"),
    Unseen("beam", '''
        beams, finished = [((), 0.0)], []
        while beams:
            options = []
            for text, score in beams:
                for word, log_p in enumerate(next_log_p(text)):
                    options.append((log_p, text + (word,), score + log_p))
            options.sort(reverse=True)
            best = [(text, score) for _, text, score in options[:width - len(finished)]]
            finished += [one for one in best if one[0][-1] == end or len(one[0]) == longest]
            beams = [one for one in best if one[0][-1] != end and len(one[0]) < longest]
        finished.sort(key=lambda pair: pair[1], reverse=True)
        return finished
    ''', "continuations are compared by their last word, not by all that they have said"),
    Unseen("beam", '''
        beams, finished = [((), 0.0)], []
        while beams:
            options = []
            for text, score in beams:
                for word, log_p in enumerate(next_log_p(text)):
                    options.append((text + (word,), score + log_p))
            options.sort(key=lambda pair: pair[1], reverse=True)
            best = options[:width - len(finished)]
            finished += [one for one in best if one[0][-1] == end or len(one[0]) == longest]
            beams = [one for one in best if one[0][-1] != end and len(one[0]) < longest]
        return sorted(finished, key=lambda pair: pair[1] / len(pair[0]), reverse=True)
    ''', "the ended ones are put in order by their mean over words"),
    Unseen("beam", '''
        beams, finished = [((), 0.0)], []
        while beams:
            best = []
            for text, score in beams:
                options = [(text + (word,), score + log_p)
                           for word, log_p in enumerate(next_log_p(text))]
                options.sort(key=lambda pair: pair[1], reverse=True)
                best += options[:width if text == () else 1]
            finished += [one for one in best if one[0][-1] == end or len(one[0]) == longest]
            beams = [one for one in best if one[0][-1] != end and len(one[0]) < longest]
        return sorted(finished, key=lambda pair: pair[1], reverse=True)
    ''', "every hypothesis goes on with its own best word: they do not compete with each other"),
    Unseen("beam", '''
        beams, finished = [((), 0.0)], []
        while beams:
            options = []
            for text, score in beams:
                for word, log_p in enumerate(next_log_p(text)):
                    options.append((text + (word,), score + log_p))
            options.sort(key=lambda pair: pair[1], reverse=True)
            best = options[:width - len(finished)]
            finished += [one for one in best if one[0][-1] == end or len(one[0]) == longest]
            beams = [one for one in best if one[0][-1] != end and len(one[0]) < longest]
        return finished
    ''', "returned in the order in which they ended"),
    # ---- causal --------------------------------------------------------------------------------
    Unseen("causal", (RIGHT["causal"], '''
        return da.dot(self.W_x.T) + dq.dot(self.W_q.T) + dk.dot(self.W_s.T)
    '''), "a state that was said by later steps hears nothing of it"),
    Unseen("causal", (RIGHT["causal"], '''
        return da.dot(self.W_x.T) + dq.dot(self.W_q.T)
    '''), "the past is taken for given: only what a state does in its own step comes back"),
    Unseen("causal", ('''
        h, values, x, alpha, c, y = cache
        delta = (1 - y * y) * dy
        grads.W_x += np.tensordot(h, delta, ([0, 1], [0, 1]))
        grads.W_r += np.tensordot(c, delta, ([0, 1], [0, 1]))
        grads.b += delta.sum(axis=0).sum(axis=0)
        dc = delta.dot(self.W_r.T)
        weights_in = dalpha + np.einsum("bsh,tbh->tbs", values, dc)
        average = np.einsum("tbs,tbs->tb", alpha, weights_in)
        de = alpha * (weights_in - average[:, :, None])
        grads.v += np.einsum("tbs,tbsa->a", de, x)
        inner = np.einsum("tbs,a,tbsa->tbsa", de, self.v, 1 - x * x)
        asked = inner.sum(axis=2)
        found = inner.sum(axis=0).transpose(1, 0, 2)
        grads.W_q += np.tensordot(h, asked, ([0, 1], [0, 1]))
        grads.W_s += np.tensordot(h, found, ([0, 1], [0, 1]))
        return self.four_roles(delta, asked, found, np.einsum("tbs,tbh->tbh", alpha, dc))
    ''', RIGHT["four_roles"]),
           "the value's part is summed over the places, and stays in the step that looked"),
    Unseen("causal", ('''
        h, values, x, alpha, c, y = cache
        delta = (1 - y * y) * dy
        grads.W_x += np.tensordot(h, delta, ([0, 1], [0, 1]))
        grads.W_r += np.tensordot(c, delta, ([0, 1], [0, 1]))
        grads.b += delta.sum(axis=0).sum(axis=0)
        dc = delta.dot(self.W_r.T)
        weights_in = dalpha + np.einsum("bsh,tbh->tbs", values, dc)
        average = np.einsum("tbs,tbs->tb", alpha, weights_in)
        de = alpha * (weights_in - average[:, :, None])
        grads.v += np.einsum("tbs,tbsa->a", de, x)
        inner = np.einsum("tbs,a,tbsa->tbsa", de, self.v, 1 - x * x)
        found = inner.sum(axis=2)
        asked = inner.sum(axis=0).transpose(1, 0, 2)
        grads.W_q += np.tensordot(h, asked, ([0, 1], [0, 1]))
        grads.W_s += np.tensordot(h, found, ([0, 1], [0, 1]))
        return self.four_roles(delta, asked, found, np.einsum("tbs,tbh->sbh", alpha, dc))
    ''', RIGHT["four_roles"]), "the sums over those who ask and those who are found are exchanged"),
    Unseen("causal", ('''
        h, values, x, alpha, c, y = cache
        delta = (1 - y * y) * dy
        grads.W_x += np.tensordot(h, delta, ([0, 1], [0, 1]))
        grads.W_r += np.tensordot(c, delta, ([0, 1], [0, 1]))
        grads.b += delta.sum(axis=0).sum(axis=0)
        dc = delta.dot(self.W_r.T)
        weights_in = dalpha + np.einsum("bsh,tbh->tbs", values, dc)
        average = np.einsum("tbs,tbs->tb", alpha, weights_in)
        de = alpha * (weights_in - average[:, :, None])
        grads.v += np.einsum("tbs,tbsa->a", de, x)
        inner = np.einsum("tbs,a,tbsa->tbsa", de, self.v, 1 - x * x)
        asked = inner.sum(axis=2)
        found = inner.sum(axis=0).transpose(1, 0, 2)
        grads.W_q += np.tensordot(h, asked, ([0, 1], [0, 1]))
        grads.W_s += np.einsum("tbh,tbsa->ha", h, inner)
        return self.four_roles(delta, asked, found, np.einsum("tbs,tbh->sbh", alpha, dc))
    ''', RIGHT["four_roles"]), "W_s is given the state that asks, not the one that is found"),
    Unseen("causal", ('''
        h, values, x, alpha, c, y = cache
        delta = (1 - y * y) * dy
        grads.W_x += np.tensordot(h, delta, ([0, 1], [0, 1]))
        grads.W_r += np.tensordot(c, delta, ([0, 1], [0, 1]))
        grads.b += delta.sum(axis=0).sum(axis=0)
        dc = delta.dot(self.W_r.T)
        weights_in = np.einsum("bsh,tbh->tbs", values, dc)
        average = np.einsum("tbs,tbs->tb", alpha, weights_in)
        de = alpha * (weights_in - average[:, :, None])
        grads.v += np.einsum("tbs,tbsa->a", de, x)
        inner = np.einsum("tbs,a,tbsa->tbsa", de, self.v, 1 - x * x)
        asked = inner.sum(axis=2)
        found = inner.sum(axis=0).transpose(1, 0, 2)
        grads.W_q += np.tensordot(h, asked, ([0, 1], [0, 1]))
        grads.W_s += np.tensordot(h, found, ([0, 1], [0, 1]))
        return self.four_roles(delta, asked, found, np.einsum("tbs,tbh->sbh", alpha, dc))
    ''', RIGHT["four_roles"]), "whoever reads the weights besides is not listened to"),
    Unseen("causal", ('''
        h, values, x, alpha, c, y = cache
        delta = (1 - y * y) * dy
        grads.W_x += np.tensordot(h, delta, ([0, 1], [0, 1]))
        grads.W_r += np.tensordot(c, delta, ([0, 1], [0, 1]))
        grads.b += delta.sum(axis=0).sum(axis=0)
        dc = delta.dot(self.W_r.T)
        weights_in = dalpha + np.einsum("bsh,tbh->tbs", values, dc)
        before = np.tri(len(h), k=-1)[:, None]
        average = weights_in.sum(2) / np.maximum(before.sum(2), 1)
        de = alpha * (weights_in - average[:, :, None])
        grads.v += np.einsum("tbs,tbsa->a", de, x)
        inner = np.einsum("tbs,a,tbsa->tbsa", de, self.v, 1 - x * x)
        asked = inner.sum(axis=2)
        found = inner.sum(axis=0).transpose(1, 0, 2)
        grads.W_q += np.tensordot(h, asked, ([0, 1], [0, 1]))
        grads.W_s += np.tensordot(h, found, ([0, 1], [0, 1]))
        return self.four_roles(delta, asked, found, np.einsum("tbs,tbh->sbh", alpha, dc))
    ''', RIGHT["four_roles"]),
           "the average look is a plain mean over the past, not one with the weights"),
    Unseen("causal", ('''
        h, values, x, alpha, c, y = cache
        grads.W_x += np.tensordot(h, dy, ([0, 1], [0, 1]))
        grads.W_r += np.tensordot(c, dy, ([0, 1], [0, 1]))
        grads.b += dy.sum(axis=0).sum(axis=0)
        dc = dy.dot(self.W_r.T)
        weights_in = dalpha + np.einsum("bsh,tbh->tbs", values, dc)
        average = np.einsum("tbs,tbs->tb", alpha, weights_in)
        de = alpha * (weights_in - average[:, :, None])
        grads.v += np.einsum("tbs,tbsa->a", de, x)
        inner = np.einsum("tbs,a,tbsa->tbsa", de, self.v, 1 - x * x)
        asked = inner.sum(axis=2)
        found = inner.sum(axis=0).transpose(1, 0, 2)
        grads.W_q += np.tensordot(h, asked, ([0, 1], [0, 1]))
        grads.W_s += np.tensordot(h, found, ([0, 1], [0, 1]))
        return self.four_roles(dy, asked, found, np.einsum("tbs,tbh->sbh", alpha, dc))
    ''', RIGHT["four_roles"]), "the tanh in front of y is forgotten"),
    # ---- key-value-predict ---------------------------------------------------------------------
    Unseen("key-value-predict", '''
        h, M, alpha, r, y = cache
        k, v, p = self.parts(h)
        delta = dy * (1 - y * y)
        grads.W_r += np.einsum("tn,to->no", r, delta)
        grads.W_x += np.einsum("tn,to->no", p, delta)
        dr = delta.dot(self.W_r.T)
        into = dalpha + np.einsum("tn,in->ti", dr, v)
        de = alpha * (into - np.einsum("ti,ti->t", alpha, into)[:, None])
        grads.w += np.einsum("ti,tin->n", de, M)
        inner = np.einsum("ti,n,tin->tin", de, self.w, 1 - M * M)
        asking, asked = inner.sum(axis=0), inner.sum(axis=1)
        grads.W_Y += k.T @ asked
        grads.W_h += k.T @ asking
        return asking @ self.W_h.T, asked @ self.W_Y.T, alpha.T @ dr, delta @ self.W_x.T
    ''', "the axis of those who ask and that of those who are asked are exchanged"),
    Unseen("key-value-predict", '''
        h, M, alpha, r, y = cache
        k, v, p = self.parts(h)
        delta = dy * (1 - y * y)
        grads.W_r += np.einsum("tn,to->no", r, delta)
        grads.W_x += np.einsum("tn,to->no", p, delta)
        dr = delta.dot(self.W_r.T)
        into = dalpha + np.einsum("tn,in->ti", dr, v)
        de = alpha * (into - np.einsum("ti,ti->t", alpha, into)[:, None])
        grads.w += np.einsum("ti,tin->n", de, M)
        inner = np.einsum("ti,n,tin->tin", de, self.w, 1 - M * M)
        asked, asking = inner.sum(axis=0), inner.sum(axis=1)
        grads.W_Y += k.T @ asked
        grads.W_h += k.T @ asking
        return asking @ self.W_h.T, asked @ self.W_Y.T, alpha @ dr, delta @ self.W_x.T
    ''', "the value's term goes to the step that looked, not to the one that was said"),
    Unseen("key-value-predict", '''
        h, M, alpha, r, y = cache
        k, v, p = self.parts(h)
        delta = dy * (1 - y * y)
        grads.W_r += np.einsum("tn,to->no", r, delta)
        grads.W_x += np.einsum("tn,to->no", p, delta)
        dr = delta.dot(self.W_r.T)
        into = dalpha + np.einsum("tn,in->ti", dr, k)
        de = alpha * (into - np.einsum("ti,ti->t", alpha, into)[:, None])
        grads.w += np.einsum("ti,tin->n", de, M)
        inner = np.einsum("ti,n,tin->tin", de, self.w, 1 - M * M)
        asked, asking = inner.sum(axis=0), inner.sum(axis=1)
        grads.W_Y += k.T @ asked
        grads.W_h += k.T @ asking
        return asking @ self.W_h.T, asked @ self.W_Y.T, alpha.T @ dr, delta @ self.W_x.T
    ''', "what is summed into r is taken to be the keys"),
    Unseen("key-value-predict", '''
        h, M, alpha, r, y = cache
        k, v, p = self.parts(h)
        delta = dy * (1 - y * y)
        grads.W_r += np.einsum("tn,to->no", r, delta)
        grads.W_x += np.einsum("tn,to->no", v, delta)
        dr = delta.dot(self.W_r.T)
        into = dalpha + np.einsum("tn,in->ti", dr, v)
        de = alpha * (into - np.einsum("ti,ti->t", alpha, into)[:, None])
        grads.w += np.einsum("ti,tin->n", de, M)
        inner = np.einsum("ti,n,tin->tin", de, self.w, 1 - M * M)
        asked, asking = inner.sum(axis=0), inner.sum(axis=1)
        grads.W_Y += v.T @ asked
        grads.W_h += k.T @ asking
        return asking @ self.W_h.T, asked @ self.W_Y.T, alpha.T @ dr, delta @ self.W_x.T
    ''', "the past is read by its values where keys are compared, the present where it predicts"),
    Unseen("key-value-predict", '''
        h, M, alpha, r, y = cache
        k, v, p = self.parts(h)
        delta = dy * (1 - y * y)
        grads.W_r += np.einsum("tn,to->no", r, delta)
        grads.W_x += np.einsum("tn,to->no", p, delta)
        dr = delta.dot(self.W_r.T)
        into = dalpha + np.einsum("tn,in->ti", dr, v)
        de = alpha * (into - np.einsum("ti,ti->t", alpha, into)[:, None])
        grads.w += np.einsum("ti,tin->n", de, M)
        inner = np.einsum("ti,n,tin->tin", de, self.w, 1 - M * M)
        asked, asking = inner.sum(axis=0), inner.sum(axis=1)
        grads.W_Y += k.T @ asked
        grads.W_h += k.T @ asking
        return np.zeros_like(k), asked @ self.W_Y.T, alpha.T @ dr, delta @ self.W_x.T
    ''', "the state that asks is k as well, and hears nothing of having asked"),
    Unseen("key-value-predict", '''
        h, M, alpha, r, y = cache
        k, v, p = self.parts(h)
        delta = dy * (1 - y * y)
        grads.W_r += np.einsum("tn,to->no", r, delta)
        grads.W_x += np.einsum("tn,to->no", p, delta)
        dr = delta.dot(self.W_r.T)
        into = dr @ v.T
        de = alpha * (into - np.einsum("ti,ti->t", alpha, into)[:, None])
        grads.w += np.einsum("ti,tin->n", de, M)
        inner = np.einsum("ti,n,tin->tin", de, self.w, 1 - M * M)
        asked, asking = inner.sum(axis=0), inner.sum(axis=1)
        grads.W_Y += k.T @ asked
        grads.W_h += k.T @ asking
        return asking @ self.W_h.T, asked @ self.W_Y.T, alpha.T @ dr, delta @ self.W_x.T
    ''', "the gradient that comes to the weights from outside is left out"),
    Unseen("key-value-predict", '''
        h, M, alpha, r, y = cache
        k, v, p = self.parts(h)
        delta = dy * (1 - y * y)
        grads.W_r += np.einsum("tn,to->no", r, delta)
        grads.W_x += np.einsum("tn,to->no", p, delta)
        dr = delta.dot(self.W_r.T)
        into = dalpha + np.einsum("tn,in->ti", dr, v)
        de = alpha * into
        grads.w += np.einsum("ti,tin->n", de, M)
        inner = np.einsum("ti,n,tin->tin", de, self.w, 1 - M * M)
        asked, asking = inner.sum(axis=0), inner.sum(axis=1)
        grads.W_Y += k.T @ asked
        grads.W_h += k.T @ asking
        return asking @ self.W_h.T, asked @ self.W_Y.T, alpha.T @ dr, delta @ self.W_x.T
    ''',
           "the words have no part in each other's weights: the average is not taken off"),
    Unseen("key-value-predict", '''
        h, M, alpha, r, y = cache
        k, v, p = self.parts(h)
        delta = dy * (1 - y * y)
        grads.W_r += np.einsum("tn,to->no", r, delta)
        grads.W_x += np.einsum("tn,to->no", p, delta)
        dr = delta.dot(self.W_r.T)
        into = dalpha + np.einsum("tn,in->ti", dr, v)
        de = alpha * (into - np.einsum("ti,ti->t", alpha, into)[:, None])
        grads.w += np.einsum("ti,tin->n", de, M)
        inner = np.einsum("ti,n,tin->tin", de, self.w, 1 - M * M)
        asked, asking = inner.sum(axis=0), inner.sum(axis=1)
        grads.W_Y += k.T @ asked
        grads.W_h += k.T @ asking
        return asked @ self.W_Y.T, asking @ self.W_h.T, alpha.T @ dr, delta @ self.W_x.T
    ''', "the key's term stands in the query's place, and the query's in the key's"),
]
