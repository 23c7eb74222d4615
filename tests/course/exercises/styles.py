"""Right solutions of the exercises in two styles that are not the package's.

EINSUM: einsum wherever there is a product or a sum; LOOPS: plain loops over the elements. A check
must know what is right whatever hand has written it.
"""

from typing import NamedTuple


class Styled(NamedTuple):
    """A right solution in another style. body: of the blank, one for each where there are two."""

    exercise: str
    body: str | tuple[str, ...]


EINSUM = [
    Styled("softmax", '''
        a = cache
        dots = np.einsum("bs,bs->b", a, dalpha)
        return np.einsum("bs,bs->bs", a, dalpha) - np.einsum("bs,b->bs", a, dots)
    '''),
    Styled("cross-entropy", '''
        shifted, log_sum, y = cache
        powers = np.exp(shifted)
        p = np.einsum("nv,n->nv", powers, 1 / np.einsum("nv->n", powers))
        onehot = np.eye(p.shape[1])[y]
        return np.einsum(",nv->nv", dloss / len(y), p - onehot), None
    '''),
    Styled("embedding", '''
        onehot = np.eye(len(self.E))[cache]
        grads.E += np.einsum("nv,nd->vd", onehot, drows)
    '''),
    Styled("linear", '''
        grads.W += np.einsum("bi,bo->io", cache, dy)
        grads.b += np.einsum("bo->o", dy)
        return np.einsum("bo,io->bi", dy, self.W)
    '''),
    Styled("squash", '''
        x, s = cache
        da = dx - np.einsum("bh,bh,bh->bh", dx, x, x)
        db = np.einsum("bh,bh,bh->bh", ds, s, 1 - s)
        return da, db
    '''),
    Styled("dropout", ('''
        factor = keep.astype(x.dtype) / (1 - p)
        return np.einsum("bh,bh->bh", factor, x), factor
    ''', '''
        return np.einsum("bh,bh->bh", cache, dy), None, None
    ''')),
    Styled("clipping", '''
        flat = np.concatenate([one.reshape(-1) for one in gradients])
        norm = np.sqrt(np.einsum("i,i->", flat, flat))
        if norm <= most:
            return gradients, norm
        return [np.einsum("...,->...", one, most / norm) for one in gradients], norm
    '''),
    Styled("adam", '''
        m = np.einsum("k,ki->i", np.array([beta1, 1 - beta1]), np.stack([m, g]))
        v = np.einsum("k,ki,ki->i", np.array([beta2, 1 - beta2]), np.stack([v, g]),
                      np.stack([np.ones_like(g), g]))
        m_hat = np.einsum(",i->i", 1 / (1 - beta1**step), m)
        v_hat = np.einsum(",i->i", 1 / (1 - beta2**step), v)
        return x - np.einsum(",i,i->i", rate, m_hat, 1 / (np.sqrt(v_hat) + epsilon)), m, v
    '''),
    Styled("perplexity", '''
        there = mask.astype(float)
        return np.exp(np.einsum("tb,tb->", losses, there) / np.einsum("tb->", there))
    '''),
    Styled("bptt", '''
        xs, before, after = cache
        das = np.zeros_like(after)
        dh = dlast
        for t in range(len(xs) - 1, -1, -1):
            das[t] = np.einsum("bh,bh->bh", dh + dys[t], 1 - after[t]**2)
            dh = np.einsum("bh,gh->bg", das[t], self.U)
        grads.W += np.einsum("tbi,tbh->ih", xs, das)
        grads.U += np.einsum("tbg,tbh->gh", before, das)
        grads.b += np.einsum("tbh->h", das)
        return np.einsum("tbh,ih->tbi", das, self.W), dh
    '''),
    Styled("truncated", '''
        hs = states(W, U, xs, h)
        das = np.zeros_like(dhs)
        for t in range(len(xs) - 1, -1, -1):
            above = dhs[t]
            if t + 1 < len(xs) and (t + 1) % k:
                above = above + np.einsum("bh,gh->bg", das[t + 1], U)
            das[t] = np.einsum("bh,bh->bh", above, 1 - hs[t + 1]**2)
        return np.einsum("tbi,tbh->ih", xs, das), np.einsum("tbg,tbh->gh", hs[:-1], das)
    '''),
    Styled("masks", '''
        xs, hs, news, mask = cache
        taken = mask.astype(float)
        das = np.zeros_like(dhs)
        dh = np.zeros_like(dhs[0])
        for t in range(len(xs) - 1, -1, -1):
            dh = dh + dhs[t]
            das[t] = np.einsum("b,bh,bh->bh", taken[t], dh, 1 - news[t]**2)
            dh = (np.einsum("bh,gh->bg", das[t], self.U)
                  + np.einsum("b,bh->bh", 1 - taken[t], dh))
        grads.W += np.einsum("tbi,tbh->ih", xs, das)
        grads.U += np.einsum("tbg,tbh->gh", np.stack(hs[:-1]), das)
        return np.einsum("tbh,ih->tbi", das, self.W), dh, None
    '''),
    Styled("pointing", '''
        sure = np.zeros(weights.shape)
        sure[tuple(np.array(sorted(links)).T)] = 1
        chosen = np.eye(weights.shape[1])[weights.argmax(axis=1)]
        asked = np.einsum("ts->t", sure) > 0
        return np.einsum("ts,ts->", sure, chosen) / np.einsum("t->", asked.astype(float))
    '''),
    Styled("deep-output", '''
        s, y, c, pairs, t = cache
        B, L = t.shape
        taken = np.eye(2)[np.argmax(pairs, axis=2)]
        dpairs = np.einsum("bk,lk,blp->blp", dscores, self.W, taken)
        d = dpairs.reshape(B, 2 * L)
        grads.W += np.einsum("bl,bk->lk", t, dscores)
        grads.U += np.einsum("bh,bm->hm", s, d)
        grads.V += np.einsum("be,bm->em", y, d)
        grads.C += np.einsum("bn,bm->nm", c, d)
        return (np.einsum("bm,hm->bh", d, self.U), np.einsum("bm,em->be", d, self.V),
                np.einsum("bm,nm->bn", d, self.C))
    '''),
    Styled("dot", ('''
        return np.einsum("n,sn->s", h, M), (h, M)
    ''', '''
        h, M = cache
        return np.einsum("s,sn->n", de, M), np.einsum("s,n->sn", de, h)
    ''')),
    Styled("general", '''
        h, M, W, q = cache
        return (np.einsum("s,sn,hn->h", de, M, W), np.einsum("s,h,hn->sn", de, h, W),
                np.einsum("h,s,sn->hn", h, de, M))
    '''),
    Styled("concat", '''
        h, M, W, U, v, x = cache
        slope = 1 - np.einsum("sa,sa->sa", x, x)
        da = np.einsum("s,a,sa->sa", de, v, slope)
        return (np.einsum("sa,ha->h", da, W), np.einsum("sa,na->sn", da, U),
                np.einsum("h,sa->ha", h, da), np.einsum("sn,sa->na", M, da),
                np.einsum("s,sa->a", de, x))
    '''),
    Styled("location", '''
        h, M, W = cache
        first = np.eye(len(M), W.shape[1])
        dh = np.einsum("s,sl,hl->h", de, first, W)
        return dh, np.zeros_like(M), np.einsum("h,s,sl->hl", h, de, first)
    '''),
    Styled("local-p", '''
        h, M, W_p, v_p, x, p, g, a, alpha = cache
        S = len(M)
        dalpha = dalpha + np.einsum("sn,n->s", M, dc)
        jacobian = np.diag(a) - np.einsum("i,j->ij", a, a)
        de = np.einsum("i,i,ij->j", dalpha, g, jacobian)
        dp = np.einsum("s,s,s->", dalpha, alpha, np.arange(S) - p) / (D / 2)**2
        dz = dp * S * (p / S) * (1 - p / S)
        dk = np.einsum(",p,p->p", dz, v_p, 1 - np.einsum("p,p->p", x, x))
        dh = np.einsum("s,sn->n", de, M) + np.einsum("p,np->n", dk, W_p)
        dM = np.einsum("s,n->sn", de, h) + np.einsum("s,n->sn", alpha, dc)
        return dh, dM, np.einsum("n,p->np", h, dk), np.einsum(",p->p", dz, x)
    '''),
    Styled("input-feeding", '''
        M, steps = cache
        dM = np.zeros_like(M)
        dys = [None] * len(steps)
        dk = np.zeros_like(M[:, 0])
        for t in range(len(steps) - 1, -1, -1):
            (y, h_before, fed_before), h, alpha, c, fed = steps[t]
            du = np.einsum("bk,bk->bk", dfeds[t] + np.einsum("bh,kh->bk", dk, self.F), 1 - fed**2)
            dc = np.einsum("bk,hk->bh", du, self.C)
            dalpha = np.einsum("bsh,bh->bs", M, dc) + dalphas[t]
            dalpha = dalpha - np.einsum("bs,bs->b", alpha, dalpha)[:, None]
            de = np.einsum("bs,bs->bs", alpha, dalpha)
            dM += np.einsum("bs,bh->bsh", de, h) + np.einsum("bs,bh->bsh", alpha, dc)
            dh = (np.einsum("bs,bsh->bh", de, M) + np.einsum("bk,hk->bh", du, self.W_h)
                  + np.einsum("bg,hg->bh", dk, self.U))
            dk = np.einsum("bh,bh->bh", dh, 1 - h**2)
            grads.C += np.einsum("bh,bk->hk", c, du)
            grads.W_h += np.einsum("bh,bk->hk", h, du)
            grads.W += np.einsum("be,bh->eh", y, dk)
            grads.U += np.einsum("bg,bh->gh", h_before, dk)
            grads.F += np.einsum("bk,bh->kh", fed_before, dk)
            grads.b += np.einsum("bh->h", dk)
            dys[t] = np.einsum("bh,eh->be", dk, self.W)
        return np.stack(dys), np.einsum("bg,hg->bh", dk, self.U), dM
    '''),
    Styled("scaled-dot", '''
        q, k, v, A, scale = cache
        dA = dA + np.einsum("...tv,...sv->...ts", dY, v)
        mean = np.einsum("...ts,...ts->...t", A, dA)
        dE = np.einsum(",...ts,...ts->...ts", scale, A, dA - mean[..., None])
        return (np.einsum("...ts,...sd->...td", dE, k), np.einsum("...ts,...td->...sd", dE, q),
                np.einsum("...ts,...tv->...sv", A, dY))
    '''),
    Styled("multi-head", '''
        X, M, joined, (q, k, v, A, scale) = cache
        B, T, d = joined.shape
        cut = d, self.heads, d // self.heads
        columns = np.eye(d).reshape(cut)                # which head and place a column stands in
        dY = np.einsum("bto,do,dhw->bhtw", dy, self.W_o, columns)
        dA = np.einsum("bhtw,bhsw->bhts", dY, v) + dweights[:, None] / self.heads
        mean = np.einsum("bhts,bhts->bht", A, dA)
        dE = np.einsum(",bhts,bhts->bhts", scale, A, dA - mean[..., None])
        dq = np.einsum("bhts,bhsw,dhw->btd", dE, k, columns)
        dk = np.einsum("bhts,bhtw,dhw->bsd", dE, q, columns)
        dv = np.einsum("bhts,bhtw,dhw->bsd", A, dY, columns)
        grads.W_o += np.einsum("btd,bto->do", joined, dy)
        grads.b_o += np.einsum("bto->o", dy)
        grads.W_q += np.einsum("btn,btd->nd", X, dq)
        grads.b_q += np.einsum("btd->d", dq)
        grads.W_k += np.einsum("bsm,bsd->md", M, dk)
        grads.W_v += np.einsum("bsm,bsd->md", M, dv)
        grads.b_v += np.einsum("bsd->d", dv)
        dM = np.einsum("bsd,md->bsm", dk, self.W_k) + np.einsum("bsd,md->bsm", dv, self.W_v)
        return np.einsum("btd,nd->btn", dq, self.W_q), dM
    '''),
]


LOOPS = [
    Styled("softmax", '''
        alpha = cache
        B, S = alpha.shape
        de = np.zeros((B, S))
        for b in range(B):
            for j in range(S):
                for k in range(S):
                    if j == k:
                        de[b, k] += dalpha[b, j] * alpha[b, j] * (1 - alpha[b, j])
                    else:
                        de[b, k] -= dalpha[b, j] * alpha[b, j] * alpha[b, k]
        return de
    '''),
    Styled("cross-entropy", '''
        shifted, log_sum, y = cache
        N, V = shifted.shape
        dz = np.zeros((N, V))
        for n in range(N):
            for v in range(V):
                right = 1.0 if y[n] == v else 0.0
                dz[n, v] = dloss / N * (np.exp(shifted[n, v] - log_sum[n]) - right)
        return dz, None
    '''),
    Styled("embedding", '''
        for n in range(len(cache)):
            for d in range(drows.shape[1]):
                grads.E[cache[n], d] += drows[n, d]
    '''),
    Styled("linear", '''
        x = cache
        dx = np.zeros_like(x)
        for b in range(x.shape[0]):
            for o in range(dy.shape[1]):
                grads.b[o] += dy[b, o]
                for i in range(x.shape[1]):
                    grads.W[i, o] += x[b, i] * dy[b, o]
                    dx[b, i] += self.W[i, o] * dy[b, o]
        return dx
    '''),
    Styled("squash", '''
        x, s = cache
        da, db = np.empty_like(x), np.empty_like(s)
        for r in range(x.shape[0]):
            for c in range(x.shape[1]):
                da[r, c] = (1 - x[r, c]) * (1 + x[r, c]) * dx[r, c]
                db[r, c] = (s[r, c] - s[r, c] * s[r, c]) * ds[r, c]
        return da, db
    '''),
    Styled("dropout", ('''
        y = np.zeros(x.shape)
        for r in range(x.shape[0]):
            for c in range(x.shape[1]):
                if keep[r, c]:
                    y[r, c] = x[r, c] / (1 - p)
        return y, (keep, p)
    ''', '''
        keep, p = cache
        dx = np.zeros(dy.shape)
        for r in range(dy.shape[0]):
            for c in range(dy.shape[1]):
                if keep[r, c]:
                    dx[r, c] = dy[r, c] / (1 - p)
        return dx, None, None
    ''')),
    Styled("clipping", '''
        squares = 0.0
        for array in gradients:
            for number in array.ravel():
                squares += number * number
        norm = squares ** 0.5
        factor = 1.0
        if norm > most:
            factor = most / norm
        shorter = []
        for array in gradients:
            new = np.zeros(array.shape)
            for place in np.ndindex(*array.shape):
                new[place] = factor * array[place]
            shorter.append(new)
        return shorter, norm
    '''),
    Styled("adam", '''
        new_x, new_m, new_v = [], [], []
        for xi, gi, mi, vi in zip(x, g, m, v):
            mi = beta1 * mi + (1 - beta1) * gi
            vi = beta2 * vi + (1 - beta2) * gi * gi
            up = mi / (1 - beta1**step)
            down = (vi / (1 - beta2**step))**0.5 + epsilon
            new_x.append(xi - rate * up / down)
            new_m.append(mi)
            new_v.append(vi)
        return np.array(new_x), np.array(new_m), np.array(new_v)
    '''),
    Styled("perplexity", '''
        total, words = 0.0, 0
        for t in range(len(losses)):
            for b in range(len(losses[t])):
                if mask[t][b]:
                    total += losses[t][b]
                    words += 1
        return np.exp(total / words)
    '''),
    Styled("bptt", '''
        xs, before, after = cache
        T, B, I = xs.shape
        H = len(self.b)
        dxs = np.zeros((T, B, I))
        carry = dlast.copy()
        for t in range(T - 1, -1, -1):
            back = np.zeros((B, H))
            for b in range(B):
                for j in range(H):
                    da = (dys[t, b, j] + carry[b, j]) * (1 - after[t, b, j] * after[t, b, j])
                    grads.b[j] += da
                    for i in range(I):
                        grads.W[i, j] += xs[t, b, i] * da
                        dxs[t, b, i] += self.W[i, j] * da
                    for i in range(H):
                        grads.U[i, j] += before[t, b, i] * da
                        back[b, i] += self.U[i, j] * da
            carry = back
        return dxs, carry
    '''),
    Styled("truncated", '''
        hs = states(W, U, xs, h)
        T, B, I = xs.shape
        H = h.shape[1]
        dW, dU = np.zeros((I, H)), np.zeros((H, H))
        carry = np.zeros((B, H))
        for t in range(T - 1, -1, -1):
            if t % k == k - 1:
                carry = np.zeros((B, H))
            back = np.zeros((B, H))
            for b in range(B):
                for j in range(H):
                    da = (dhs[t, b, j] + carry[b, j]) * (1 - hs[t + 1, b, j]**2)
                    for i in range(I):
                        dW[i, j] += xs[t, b, i] * da
                    for i in range(H):
                        dU[i, j] += hs[t, b, i] * da
                        back[b, i] += U[i, j] * da
            carry = back
        return dW, dU
    '''),
    Styled("masks", '''
        xs, hs, news, mask = cache
        T, B, I = xs.shape
        H = hs[0].shape[1]
        dxs = np.zeros((T, B, I))
        carry = np.zeros((B, H))
        for t in range(T - 1, -1, -1):
            back = np.zeros((B, H))
            for b in range(B):
                for j in range(H):
                    above = carry[b, j] + dhs[t, b, j]
                    if not mask[t, b]:
                        back[b, j] += above
                        continue
                    da = above * (1 - news[t][b, j]**2)
                    for i in range(I):
                        grads.W[i, j] += xs[t, b, i] * da
                        dxs[t, b, i] += self.W[i, j] * da
                    for i in range(H):
                        grads.U[i, j] += hs[t][b, i] * da
                        back[b, i] += self.U[i, j] * da
            carry = back
        return dxs, carry, None
    '''),
    Styled("pointing", '''
        asked = right = 0
        for t in range(weights.shape[0]):
            best = 0
            linked = False
            for s in range(weights.shape[1]):
                if weights[t, s] > weights[t, best]:
                    best = s
                if (t, s) in links:
                    linked = True
            if linked:
                asked += 1
                if (t, best) in links:
                    right += 1
        return right / asked
    '''),
    Styled("deep-output", '''
        s, y, c, pairs, t = cache
        ds, dy, dc = np.zeros(s.shape), np.zeros(y.shape), np.zeros(c.shape)
        B, L = t.shape
        for b in range(B):
            for l in range(L):
                dt = 0.0
                for k in range(dscores.shape[1]):
                    grads.W[l, k] += t[b, l] * dscores[b, k]
                    dt += self.W[l, k] * dscores[b, k]
                column = 2 * l
                if pairs[b, l, 1] > pairs[b, l, 0]:
                    column = 2 * l + 1
                for x, dx, weight, dweight in ((s, ds, self.U, grads.U), (y, dy, self.V, grads.V),
                                               (c, dc, self.C, grads.C)):
                    for i in range(x.shape[1]):
                        dweight[i, column] += x[b, i] * dt
                        dx[b, i] += weight[i, column] * dt
        return ds, dy, dc
    '''),
    Styled("dot", ('''
        S, N = M.shape
        scores = np.zeros(S)
        for s in range(S):
            for n in range(N):
                scores[s] += h[n] * M[s, n]
        return scores, (h, M)
    ''', '''
        h, M = cache
        dh, dM = np.zeros_like(h), np.zeros_like(M)
        for s in range(M.shape[0]):
            for n in range(M.shape[1]):
                dh[n] += de[s] * M[s, n]
                dM[s, n] += de[s] * h[n]
        return dh, dM
    ''')),
    Styled("general", '''
        h, M, W_a, q = cache
        dh, dM, dW_a = np.zeros_like(h), np.zeros_like(M), np.zeros_like(W_a)
        for s in range(len(M)):
            for n in range(len(q)):
                dM[s, n] = de[s] * q[n]
                for i in range(len(h)):
                    dh[i] += de[s] * M[s, n] * W_a[i, n]
                    dW_a[i, n] += de[s] * M[s, n] * h[i]
        return dh, dM, dW_a
    '''),
    Styled("concat", '''
        h, M, W_a, U_a, v_a, x = cache
        dh, dM = np.zeros_like(h), np.zeros_like(M)
        dW_a, dU_a, dv_a = np.zeros_like(W_a), np.zeros_like(U_a), np.zeros_like(v_a)
        for s in range(len(M)):
            for a in range(len(v_a)):
                dv_a[a] += de[s] * x[s, a]
                inner = de[s] * v_a[a] * (1 - x[s, a] * x[s, a])
                for i in range(len(h)):
                    dh[i] += inner * W_a[i, a]
                    dW_a[i, a] += inner * h[i]
                for n in range(M.shape[1]):
                    dM[s, n] += inner * U_a[n, a]
                    dU_a[n, a] += inner * M[s, n]
        return dh, dM, dW_a, dU_a, dv_a
    '''),
    Styled("location", '''
        h, M, W_a = cache
        dh, dW_a = np.zeros_like(h), np.zeros_like(W_a)
        for s in range(len(M)):
            for i in range(len(h)):
                dh[i] += W_a[i, s] * de[s]
                dW_a[i, s] += h[i] * de[s]
        return dh, np.zeros_like(M), dW_a
    '''),
    Styled("local-p", '''
        h, M, W_p, v_p, x, p, g, a, alpha = cache
        S, N = M.shape
        P = len(v_p)
        total = np.zeros(S)
        for s in range(S):
            total[s] = dalpha[s]
            for n in range(N):
                total[s] += M[s, n] * dc[n]
        de = np.zeros(S)
        for i in range(S):
            for j in range(S):
                de[j] += total[i] * g[i] * a[i] * ((1.0 if i == j else 0.0) - a[j])
        sigma = D / 2
        dp = 0.0
        for s in range(S):
            dp += total[s] * a[s] * g[s] * (s - p) / sigma**2
        dz = dp * p * (S - p) / S
        dh, dM = np.zeros(N), np.zeros((S, N))
        dW_p, dv_p = np.zeros((N, P)), np.zeros(P)
        for n in range(N):
            for s in range(S):
                dh[n] += de[s] * M[s, n]
                dM[s, n] = de[s] * h[n] + alpha[s] * dc[n]
            for j in range(P):
                inner = dz * v_p[j] * (1 - x[j]**2)
                dh[n] += inner * W_p[n, j]
                dW_p[n, j] = inner * h[n]
        for j in range(P):
            dv_p[j] = dz * x[j]
        return dh, dM, dW_p, dv_p
    '''),
    Styled("input-feeding", '''
        M, steps = cache
        T = len(steps)
        B, S, H = M.shape
        E, K = len(self.W), len(self.F)
        dys, dM = np.zeros((T, B, E)), np.zeros((B, S, H))
        to_h, to_fed = np.zeros((B, H)), np.zeros((B, K))
        for t in range(T - 1, -1, -1):
            (y, h_before, fed_before), h, alpha, c, fed = steps[t]
            back_h, back_fed = np.zeros((B, H)), np.zeros((B, K))
            for b in range(B):
                dh, dc = list(to_h[b]), [0.0] * H
                for k in range(K):
                    du = (dfeds[t][b][k] + to_fed[b, k]) * (1 - fed[b, k]**2)
                    for i in range(H):
                        grads.C[i, k] += c[b, i] * du
                        grads.W_h[i, k] += h[b, i] * du
                        dc[i] += self.C[i, k] * du
                        dh[i] += self.W_h[i, k] * du
                dalpha, mean = [], 0.0
                for s in range(S):
                    dalpha.append(dalphas[t][b][s])
                    for i in range(H):
                        dalpha[s] += M[b, s, i] * dc[i]
                        dM[b, s, i] += alpha[b, s] * dc[i]
                    mean += alpha[b, s] * dalpha[s]
                for s in range(S):
                    de = alpha[b, s] * (dalpha[s] - mean)
                    for i in range(H):
                        dh[i] += M[b, s, i] * de
                        dM[b, s, i] += h[b, i] * de
                for j in range(H):
                    da = dh[j] * (1 - h[b, j]**2)
                    grads.b[j] += da
                    for i in range(E):
                        grads.W[i, j] += y[b, i] * da
                        dys[t, b, i] += self.W[i, j] * da
                    for i in range(H):
                        grads.U[i, j] += h_before[b, i] * da
                        back_h[b, i] += self.U[i, j] * da
                    for i in range(K):
                        grads.F[i, j] += fed_before[b, i] * da
                        back_fed[b, i] += self.F[i, j] * da
            to_h, to_fed = back_h, back_fed
        return dys, to_h, dM
    '''),
    Styled("scaled-dot", '''
        q, k, v, A, scale = cache
        dq, dk, dv = np.zeros(q.shape), np.zeros(k.shape), np.zeros(v.shape)
        for at in np.ndindex(*A.shape[:-1]):            # (…, t)
            front = at[:-1]
            into, mean = [], 0.0
            for s in range(A.shape[-1]):
                into.append(dA[at][s])
                for j in range(v.shape[-1]):
                    into[s] += dY[at][j] * v[front][s, j]
                    dv[front][s, j] += A[at][s] * dY[at][j]
                mean += A[at][s] * into[s]
            for s in range(A.shape[-1]):
                de = A[at][s] * (into[s] - mean) * scale
                for j in range(q.shape[-1]):
                    dq[at][j] += de * k[front][s, j]
                    dk[front][s, j] += de * q[at][j]
        return dq, dk, dv
    '''),
    Styled("multi-head", '''
        X, M, joined, (q, k, v, A, scale) = cache
        B, T, N = X.shape
        S, columns = M.shape[1], M.shape[2]
        d, O = self.W_o.shape
        width = d // self.heads
        dX, dM = np.zeros(X.shape), np.zeros(M.shape)
        for b in range(B):
            dqs, dks, dvs = np.zeros((T, d)), np.zeros((S, d)), np.zeros((S, d))
            for t in range(T):
                dY = np.zeros(d)
                for o in range(O):
                    grads.b_o[o] += dy[b, t, o]
                    for j in range(d):
                        grads.W_o[j, o] += joined[b, t, j] * dy[b, t, o]
                        dY[j] += self.W_o[j, o] * dy[b, t, o]
                for head in range(self.heads):
                    into, mean = [], 0.0
                    for s in range(S):
                        into.append(dweights[b, t, s] / self.heads)
                        for w in range(width):
                            into[s] += dY[head * width + w] * v[b, head, s, w]
                            dvs[s, head * width + w] += A[b, head, t, s] * dY[head * width + w]
                        mean += A[b, head, t, s] * into[s]
                    for s in range(S):
                        de = A[b, head, t, s] * (into[s] - mean) * scale
                        for w in range(width):
                            dqs[t, head * width + w] += de * k[b, head, s, w]
                            dks[s, head * width + w] += de * q[b, head, t, w]
            for j in range(d):
                for t in range(T):
                    grads.b_q[j] += dqs[t, j]
                    for n in range(N):
                        grads.W_q[n, j] += X[b, t, n] * dqs[t, j]
                        dX[b, t, n] += self.W_q[n, j] * dqs[t, j]
                for s in range(S):
                    grads.b_v[j] += dvs[s, j]
                    for n in range(columns):
                        grads.W_k[n, j] += M[b, s, n] * dks[s, j]
                        grads.W_v[n, j] += M[b, s, n] * dvs[s, j]
                        dM[b, s, n] += self.W_k[n, j] * dks[s, j] + self.W_v[n, j] * dvs[s, j]
        return dX, dM
    '''),
]
