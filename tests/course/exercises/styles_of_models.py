"""As styles.py, for the exercises on cells with gates, on attention over batches and histories.

Beam search has no products and no sums: in place of einsum it is written with arrays of
hypotheses, in place of loops with recursion and a heap.
"""

from styles import Styled

EINSUM = [
    Styled("lstm", '''
        x, h, c, i, f, g, o, squashed = kept
        H = h.shape[1]
        dc = dc + np.einsum("bh,bh,bh->bh", dh, o, 1 - squashed**2)
        da = np.stack([np.einsum("bh,bh,bh,bh->bh", dc, g, i, 1 - i),
                       np.einsum("bh,bh,bh,bh->bh", dc, c, f, 1 - f),
                       np.einsum("bh,bh,bh->bh", dc, i, 1 - g**2),
                       np.einsum("bh,bh,bh,bh->bh", dh, squashed, o, 1 - o)])
        grads.W += np.einsum("bi,kbh->ikh", x, da).reshape(self.W.shape)
        grads.U += np.einsum("bg,kbh->gkh", h, da).reshape(self.U.shape)
        grads.b += np.einsum("kbh->kh", da).reshape(-1)
        return (np.einsum("kbh,ikh->bi", da, self.W.reshape(-1, 4, H)),
                np.einsum("kbh,gkh->bg", da, self.U.reshape(H, 4, H)),
                np.einsum("bh,bh->bh", dc, f))
    '''),
    Styled("gru", ('''
        if reset == "after":
            return (np.einsum("bj,bj,ij->bi", da_n, r, U_n), np.einsum("bj,bj->bj", da_n, s),
                    np.einsum("bi,bj,bj->ij", h, da_n, r))
        return (np.einsum("bj,ij,bi->bi", da_n, U_n, r), np.einsum("bj,ij,bi->bi", da_n, U_n, h),
                np.einsum("bi,bj->ij", s, da_n))
    ''', '''
        xs, steps = cache
        T, B, I = xs.shape
        H = dh.shape[1]
        U = self.U.reshape(H, 3, H)
        sign = 1.0 if self.update == "old" else -1.0
        das = np.zeros((T, 3, B, H))
        dU = np.zeros((H, 3, H))
        for t in range(T - 1, -1, -1):
            runs, h, r, z, s, n, keep = steps[t]
            dh = dh + dys[t]
            dn = np.einsum("bh,bh,bh->bh", dh, 1 - keep, 1 - n**2)
            back, dr, dU_n = see_backward(self.reset, dn, h, r, s, U[:, 2])
            das[t, 0] = np.einsum("bh,bh,bh->bh", dr, r, 1 - r)
            das[t, 1] = np.einsum(",bu,bh,bh,bh,bh->bh", sign, runs.astype(float), dh, h - n, z,
                                  1 - z)
            das[t, 2] = dn
            dU[:, 2] += dU_n
            dU[:, :2] += np.einsum("bi,kbj->ikj", h, das[t, :2])
            if self.b_n is not None:
                grads.b_n += np.einsum("bh,bh->h", dn, r)
            dh = np.einsum("bh,bh->bh", dh, keep) + back + np.einsum("kbj,ikj->bi", das[t, :2],
                                                                    U[:, :2])
        grads.W += np.einsum("tbi,tkbh->ikh", xs, das).reshape(self.W.shape)
        grads.U += dU.reshape(self.U.shape)
        grads.b += np.einsum("tkbh->kh", das).reshape(-1)
        return np.einsum("tkbh,ikh->tbi", das, self.W.reshape(I, 3, H)), dh
    ''')),
    Styled("additive", ('''
        memory, q, x, alpha = cache
        dalpha = np.einsum("bsd,bd->bs", memory.values, dcontext)
        if dweights is not None:
            dalpha = dalpha + dweights
        de = self.softmax_backward(dalpha, alpha)
        da = np.einsum("bs,a,bsa->bsa", de, self.v_a, 1 - np.einsum("bsa,bsa->bsa", x, x))
        dmemory.values += np.einsum("bs,bd->bsd", alpha, dcontext)
        dmemory.keys += da
        grads.v_a += np.einsum("bs,bsa->a", de, x)
        grads.W_a += np.einsum("bq,bsa->qa", q, da)
        return np.einsum("bsa,qa->bq", da, self.W_a)
    ''', '''
        jacobians = (np.einsum("bj,jk->bjk", alpha, np.eye(alpha.shape[1]))
                     - np.einsum("bj,bk->bjk", alpha, alpha))
        return np.einsum("bj,bjk->bk", dalpha, jacobians)
    ''', '''
        grads.U_a += np.einsum("bsd,bsa->da", memory.values, dmemory.keys)
        return dmemory.values + np.einsum("bsa,da->bsd", dmemory.keys, self.U_a)
    ''')),
    Styled("layer-norm", '''
        x_hat, s = cache
        T, D = x_hat.shape
        grads.g += np.einsum("td,td->d", dy, x_hat)
        grads.b += np.einsum("td->d", dy)
        through = (np.eye(D) - 1 / D
                   - np.einsum("tj,tk->tjk", x_hat, x_hat) / D)     # s ∂x̂_j/∂x_k
        return np.einsum("tj,j,tjk,t->tk", dy, self.g, through, 1 / s[:, 0])
    '''),
    Styled("beam", '''
        import numpy as np
        texts, totals = np.zeros((1, 0), dtype=int), np.zeros(1)
        ended = []
        while len(texts):
            log_p = np.stack([next_log_p(tuple(text.tolist())) for text in texts])
            every = (totals[:, np.newaxis] + log_p).reshape(-1)
            best = np.argsort(-every)[:width - len(ended)]
            which, word = np.divmod(best, log_p.shape[1])
            texts, totals = np.column_stack([texts[which], word]), every[best]
            over = (word == end) | (texts.shape[1] == longest)
            ended += zip(map(tuple, texts[over].tolist()), totals[over])
            texts, totals = texts[~over], totals[~over]
        return sorted(ended, key=lambda one: one[1], reverse=True)
    '''),
    Styled("causal", ('''
        h, values, x, alpha, c, y = cache
        da = np.einsum("tbk,tbk->tbk", dy, 1 - y**2)
        dc = np.einsum("tbk,hk->tbh", da, self.W_r)
        into = np.einsum("tbh,sbh->tbs", dc, h) + dalpha
        de = np.einsum("tbs,tbs->tbs", alpha, into)
        de = de - np.einsum("tbs,tbr->tbs", alpha, de)
        dz = np.einsum("tbs,a,tbsa->tbsa", de, self.v, 1 - x**2)
        grads.b += np.einsum("tbk->k", da)
        grads.v += np.einsum("tbs,tbsa->a", de, x)
        grads.W_x += np.einsum("tbh,tbk->hk", h, da)
        grads.W_r += np.einsum("tbh,tbk->hk", c, da)
        grads.W_s += np.einsum("sbh,tbsa->ha", h, dz)
        grads.W_q += np.einsum("tbh,tbsa->ha", h, dz)
        return self.four_roles(da, np.einsum("tbsa->tba", dz), np.einsum("tbsa->sba", dz),
                               np.einsum("tbs,tbh->sbh", alpha, dc))
    ''', '''
        return (np.einsum("tbk,hk->tbh", da, self.W_x) + np.einsum("tba,ha->tbh", dq, self.W_q)
                + np.einsum("sba,ha->sbh", dk, self.W_s) + dvalues)
    ''')),
    Styled("key-value-predict", '''
        h, M, alpha, r, y = cache
        k, v, p = self.parts(h)
        da = np.einsum("to,to->to", dy, 1 - y**2)
        grads.W_r += np.einsum("tn,to->no", r, da)
        grads.W_x += np.einsum("tn,to->no", p, da)
        into = dalpha + np.einsum("to,no,in->ti", da, self.W_r, v)
        de = np.einsum("ti,ti->ti", alpha, into - np.einsum("ti,ti->t", alpha, into)[:, None])
        grads.w += np.einsum("ti,tin->n", de, M)
        dZ = np.einsum("ti,n,tin->tin", de, self.w, 1 - M**2)
        grads.W_Y += np.einsum("im,tin->mn", k, dZ)
        grads.W_h += np.einsum("tm,tin->mn", k, dZ)
        return (np.einsum("tin,mn->tm", dZ, self.W_h), np.einsum("tin,mn->im", dZ, self.W_Y),
                np.einsum("ti,to,no->in", alpha, da, self.W_r),
                np.einsum("to,no->tn", da, self.W_x))
    '''),
]


LOOPS = [
    Styled("lstm", '''
        x, h, c, i, f, g, o, tanh_c = kept
        B, H = h.shape
        dx, dh_before, dc_before = np.zeros(x.shape), np.zeros((B, H)), np.zeros((B, H))
        for b in range(B):
            for j in range(H):
                at = b, j
                dcell = dc[at] + dh[at] * o[at] * (1 - tanh_c[at]) * (1 + tanh_c[at])
                dc_before[at] = f[at] * dcell
                das = (dcell * g[at] * (i[at] - i[at]**2), dcell * c[at] * (f[at] - f[at]**2),
                       dcell * i[at] * (1 - g[at]) * (1 + g[at]),
                       dh[at] * tanh_c[at] * (o[at] - o[at]**2))
                for gate in range(4):
                    column = gate * H + j
                    grads.b[column] += das[gate]
                    for n in range(x.shape[1]):
                        grads.W[n, column] += x[b, n] * das[gate]
                        dx[b, n] += self.W[n, column] * das[gate]
                    for n in range(H):
                        grads.U[n, column] += h[b, n] * das[gate]
                        dh_before[b, n] += self.U[n, column] * das[gate]
        return dx, dh_before, dc_before
    '''),
    Styled("gru", ('''
        dh, dr, dU_n = np.zeros(h.shape), np.zeros(r.shape), np.zeros(U_n.shape)
        B, H = h.shape
        for b in range(B):
            for j in range(H):
                for i in range(H):
                    if reset == "after":
                        dh[b, i] += U_n[i, j] * r[b, j] * da_n[b, j]
                        dU_n[i, j] += h[b, i] * r[b, j] * da_n[b, j]
                    else:
                        dh[b, i] += U_n[i, j] * r[b, i] * da_n[b, j]
                        dr[b, i] += U_n[i, j] * h[b, i] * da_n[b, j]
                        dU_n[i, j] += h[b, i] * r[b, i] * da_n[b, j]
                if reset == "after":
                    dr[b, j] = s[b, j] * da_n[b, j]
        return dh, dr, dU_n
    ''', '''
        xs, steps = cache
        T, B, I = xs.shape
        H = dh.shape[1]
        dxs = np.zeros(xs.shape)
        for t in range(T - 1, -1, -1):
            runs, h, r, z, s, n, keep = steps[t]
            before, da_n, to_z = np.zeros((B, H)), np.zeros((B, H)), np.zeros((B, H))
            for b in range(B):
                for j in range(H):
                    here = dh[b, j] + dys[t, b, j]
                    if not runs[b, 0]:                      # past the end: nothing but handed on
                        before[b, j] = here
                    elif self.update == "old":
                        before[b, j] = here * z[b, j]
                        da_n[b, j] = here * (1 - z[b, j]) * (1 - n[b, j]**2)
                        to_z[b, j] = here * (h[b, j] - n[b, j])
                    else:
                        before[b, j] = here * (1 - z[b, j])
                        da_n[b, j] = here * z[b, j] * (1 - n[b, j]**2)
                        to_z[b, j] = here * (n[b, j] - h[b, j])
            seen, to_r, dU_n = see_backward(self.reset, da_n, h, r, s, self.U[:, 2 * H:])
            for i in range(H):
                for j in range(H):
                    grads.U[i, 2 * H + j] += dU_n[i, j]
            for b in range(B):
                for j in range(H):
                    das = (to_r[b, j] * r[b, j] * (1 - r[b, j]),
                           to_z[b, j] * z[b, j] * (1 - z[b, j]), da_n[b, j])
                    before[b, j] += seen[b, j]
                    if self.reset == "after":
                        grads.b_n[j] += r[b, j] * das[2]
                    for part in range(3):
                        grads.b[part * H + j] += das[part]
                        for i in range(I):
                            grads.W[i, part * H + j] += xs[t, b, i] * das[part]
                            dxs[t, b, i] += self.W[i, part * H + j] * das[part]
                    for part in range(2):
                        for i in range(H):
                            grads.U[i, part * H + j] += h[b, i] * das[part]
                            before[b, i] += self.U[i, part * H + j] * das[part]
            dh = before
        return dxs, dh
    ''')),
    Styled("additive", ('''
        memory, query, x, alpha = cache
        B, S, A = x.shape
        dalpha, dq = np.zeros((B, S)), np.zeros(query.shape)
        for b in range(B):
            for s in range(S):
                if dweights is not None:
                    dalpha[b, s] = dweights[b, s]
                for d in range(dcontext.shape[1]):
                    dalpha[b, s] += memory.values[b, s, d] * dcontext[b, d]
                    dmemory.values[b, s, d] += alpha[b, s] * dcontext[b, d]
        de = self.softmax_backward(dalpha, alpha)
        for b in range(B):
            for s in range(S):
                for a in range(A):
                    grads.v_a[a] += de[b, s] * x[b, s, a]
                    inner = de[b, s] * self.v_a[a] * (1 - x[b, s, a]) * (1 + x[b, s, a])
                    dmemory.keys[b, s, a] += inner
                    for n in range(query.shape[1]):
                        grads.W_a[n, a] += query[b, n] * inner
                        dq[b, n] += self.W_a[n, a] * inner
        return dq
    ''', '''
        de = np.zeros(alpha.shape)
        for b in range(len(alpha)):
            for j in range(alpha.shape[1]):
                for k in range(alpha.shape[1]):
                    same = 1.0 if j == k else 0.0
                    de[b, k] += dalpha[b, j] * alpha[b, j] * (same - alpha[b, k])
        return de
    ''', '''
        B, S, D = memory.values.shape
        dh = np.zeros((B, S, D))
        for b in range(B):
            for s in range(S):
                for d in range(D):
                    dh[b, s, d] += dmemory.values[b, s, d]
                    for a in range(self.U_a.shape[1]):
                        grads.U_a[d, a] += memory.values[b, s, d] * dmemory.keys[b, s, a]
                        dh[b, s, d] += self.U_a[d, a] * dmemory.keys[b, s, a]
        return dh
    ''')),
    Styled("layer-norm", '''
        x_hat, s = cache
        T, D = x_hat.shape
        dx = np.zeros((T, D))
        for t in range(T):
            to_mean, to_variance = 0.0, 0.0
            for d in range(D):
                grads.g[d] += dy[t, d] * x_hat[t, d]
                grads.b[d] += dy[t, d]
                to_hat = dy[t, d] * self.g[d]
                centred = x_hat[t, d] * s[t, 0]
                to_mean -= to_hat / s[t, 0]
                to_variance -= to_hat * centred / (2 * s[t, 0]**3)
                dx[t, d] = to_hat / s[t, 0]
            for d in range(D):
                dx[t, d] += to_mean / D + to_variance * 2 * x_hat[t, d] * s[t, 0] / D
        return dx
    '''),
    Styled("beam", '''
        import heapq

        def gone_on(running, places):
            if not running:
                return []
            kept = []                                       # a heap: the least probable on top
            for total, words in running:
                for word, log_p in enumerate(next_log_p(words)):
                    heapq.heappush(kept, (total + log_p, words + (word,)))
                    if len(kept) > places:
                        heapq.heappop(kept)
            ended = [one for one in kept if one[1][-1] == end or len(one[1]) == longest]
            others = [one for one in kept if one not in ended]
            return ended + gone_on(others, places - len(ended))

        found = sorted(gone_on([(0.0, ())], width), reverse=True)
        return [(words, total) for total, words in found]
    '''),
    Styled("causal", ('''
        h, values, x, alpha, c, y = cache
        T, B, H = h.shape
        A, K = len(self.v), len(self.b)
        das, dqs, dks = np.zeros((T, B, K)), np.zeros((T, B, A)), np.zeros((T, B, A))
        dvalues = np.zeros((T, B, H))
        for t in range(T):
            for b in range(B):
                dc = np.zeros(H)
                for k in range(K):
                    das[t, b, k] = dy[t, b, k] * (1 - y[t, b, k]**2)
                    grads.b[k] += das[t, b, k]
                    for i in range(H):
                        grads.W_x[i, k] += h[t, b, i] * das[t, b, k]
                        grads.W_r[i, k] += c[t, b, i] * das[t, b, k]
                        dc[i] += self.W_r[i, k] * das[t, b, k]
                into, mean = np.zeros(t), 0.0               # the places before t alone
                for s in range(t):
                    into[s] = dalpha[t, b, s]
                    for i in range(H):
                        into[s] += h[s, b, i] * dc[i]
                        dvalues[s, b, i] += alpha[t, b, s] * dc[i]
                    mean += alpha[t, b, s] * into[s]
                for s in range(t):
                    de = alpha[t, b, s] * (into[s] - mean)
                    for a in range(A):
                        grads.v[a] += de * x[t, b, s, a]
                        inner = de * self.v[a] * (1 - x[t, b, s, a]**2)
                        dqs[t, b, a] += inner
                        dks[s, b, a] += inner
                        for i in range(H):
                            grads.W_s[i, a] += h[s, b, i] * inner
                            grads.W_q[i, a] += h[t, b, i] * inner
        return self.four_roles(das, dqs, dks, dvalues)
    ''', '''
        dh = np.zeros(dvalues.shape)
        for t in range(dh.shape[0]):
            for b in range(dh.shape[1]):
                for i in range(dh.shape[2]):
                    dh[t, b, i] = dvalues[t, b, i]
                    for k in range(len(self.b)):
                        dh[t, b, i] += self.W_x[i, k] * da[t, b, k]
                    for a in range(len(self.v)):
                        dh[t, b, i] += self.W_q[i, a] * dq[t, b, a] + self.W_s[i, a] * dk[t, b, a]
        return dh
    ''')),
    Styled("key-value-predict", '''
        h, M, alpha, r, y = cache
        k, v, p = self.parts(h)
        T, n = k.shape
        O = dy.shape[1]
        query, key, value, predict = (np.zeros((T, n)) for _ in range(4))
        for t in range(T):
            dr = np.zeros(n)
            for o in range(O):
                da = dy[t, o] * (1 - y[t, o]) * (1 + y[t, o])
                for j in range(n):
                    grads.W_r[j, o] += r[t, j] * da
                    grads.W_x[j, o] += p[t, j] * da
                    dr[j] += self.W_r[j, o] * da
                    predict[t, j] += self.W_x[j, o] * da
            first = max(0, t - self.window)
            into, mean = {}, 0.0
            for i in range(first, t):
                into[i] = dalpha[t, i]
                for j in range(n):
                    into[i] += dr[j] * v[i, j]
                    value[i, j] += dr[j] * alpha[t, i]
                mean += alpha[t, i] * into[i]
            for i in range(first, t):
                de = alpha[t, i] * (into[i] - mean)
                for j in range(n):
                    grads.w[j] += de * M[t, i, j]
                    dz = de * self.w[j] * (1 - M[t, i, j]**2)
                    for m in range(n):
                        grads.W_Y[m, j] += k[i, m] * dz
                        grads.W_h[m, j] += k[t, m] * dz
                        key[i, m] += self.W_Y[m, j] * dz
                        query[t, m] += self.W_h[m, j] * dz
        return query, key, value, predict
    '''),
]
