"""Mistakes that learners make in the exercises, written by somebody who had not seen the bank.

Each is a whole body of an exercise's blank with one mistake of thinking in it, in the words and the
order of another than the solution's author. What a check names of them says how far the bank
reaches.
"""

import textwrap
from typing import NamedTuple

from numpy_attention.course.exercises.catalogue import EXERCISES
from numpy_attention.course.exercises.source import BLANK


class Unseen(NamedTuple):
    """A wrong solution. body: of the blank, one for each where there are two; wrong: what is.
    """

    exercise: str
    body: str | tuple[str, ...]
    wrong: str


def text_of(one) -> str:
    """The file of a learner who has written this: the exercise's start with its blanks filled."""
    bodies = [one.body] if isinstance(one.body, str) else one.body
    text = EXERCISES[one.exercise].start
    for body in bodies:
        line = next(line for line in text.splitlines() if line.strip() == BLANK)
        indent = line[:-len(BLANK)]
        body = textwrap.indent(textwrap.dedent(body).strip("\n"), indent)
        text = text.replace(line, body, 1)
    return text


UNSEEN = [
    Unseen("softmax", '''
        p = cache
        slope = p * (1 - p)
        return dalpha * slope
    ''', "each weight is taken to depend on its own score alone: the Jacobian's diagonal"),
    Unseen("softmax", '''
        de = np.zeros_like(cache)
        for row in range(cache.shape[0]):
            total = 0.0
            for j in range(cache.shape[1]):
                total += dalpha[row, j]
            for k in range(cache.shape[1]):
                de[row, k] = cache[row, k] * (dalpha[row, k] - total)
        return de
    ''', "what is taken off is the sum of the gradients, not of the gradients times the weights"),
    Unseen("softmax", '''
        weighted = np.einsum("bs,bs->bs", dalpha, cache)
        average = np.mean(weighted, axis=1)
        return weighted - cache * average[:, np.newaxis]
    ''', "the weights average already, and a mean over the places divides once more"),
    Unseen("softmax", '''
        w = cache
        jacobians = np.einsum("bj,bk->bjk", w, w)
        for b in range(len(w)):
            jacobians[b] = jacobians[b] - np.diag(w[b])
        return np.einsum("bj,bjk->bk", dalpha, jacobians)
    ''', "the Jacobian with its two parts the wrong way round: the sign of all of it"),
    Unseen("softmax", '''
        dots = np.einsum("bs,bs->", dalpha, cache)
        return dalpha * cache - dots * cache
    ''', "the sum runs over the whole batch, as if all rows were one softmax"),
    Unseen("cross-entropy", '''
        scores, log_total, labels = cache
        N, V = scores.shape
        grad_z = np.empty((N, V))
        for n in range(N):
            for v in range(V):
                p = np.exp(scores[n, v] - log_total[n])
                grad_z[n, v] = dloss * (p - (v == labels[n]))
        return grad_z, None
    ''', "the loss is a mean over the rows, and the 1/N is forgotten"),
    Unseen("cross-entropy", '''
        logits, lse, target = cache
        n = np.arange(target.size)
        right_p = np.exp(logits[n, target] - lse)
        out = np.zeros_like(logits)
        out[n, target] = right_p - 1
        return dloss * out / target.size, None
    ''', "only the right class's score is given a gradient: the others are in the sum as well"),
    Unseen("cross-entropy", '''
        z, lse, y = cache
        onehot = np.eye(z.shape[1])[y]
        probs = np.exp(z) / np.exp(z).sum(1, keepdims=True)
        return dloss * (probs - onehot) / z.size, None
    ''', "divided by the number of all scores, not of the rows"),
    Unseen("cross-entropy", '''
        z, lse, y = cache
        probs = np.exp(z) / np.sum(np.exp(z), axis=0)
        onehot = (np.arange(z.shape[1])[None, :] == y[:, None]).astype(float)
        return (probs - onehot) * (dloss / z.shape[0]), None
    ''', "the probabilities are normalised over the batch, not over the classes"),
    Unseen("embedding", '''
        for place, word in enumerate(cache):
            grads.E[word] = drows[place]
    ''', "each use of a word takes the place of what its uses before had said"),
    Unseen("embedding", '''
        for word in np.unique(cache):
            where = cache == word
            grads.E[word] += drows[where].mean(axis=0)
    ''', "a word that is read more than once gets the mean of its gradients, not their sum"),
    Unseen("embedding", '''
        vocabulary = self.E.shape[0]
        onehot = np.equal.outer(np.arange(vocabulary), cache).astype(drows.dtype)   # (V, N)
        grads.E[:] = np.einsum("vn,nd->vd", onehot, drows)
    ''', "all of the gradient is assigned: what another use of the table left there is lost"),
    Unseen("embedding", '''
        words, first = np.unique(cache, return_index=True)
        for word, n in zip(words, first):
            grads.E[word] += drows[n]
    ''', "only a word's first place is looked at"),
    Unseen("linear", '''
        inputs = cache
        grads.W += np.einsum("bi,bo->io", inputs, dy)
        grads.b += np.mean(dy, 0)
        return np.einsum("bo,io->bi", dy, self.W)
    ''', "the bias gets the batch's mean where its sum belongs"),
    Unseen("linear", '''
        dx = dy.dot(self.W.transpose())
        for row, d in zip(cache, dy):
            dW = np.outer(row, d)
            db = d
            grads.b += db
        grads.W += dW
        return dx
    ''', "W receives what the last row says, and not the other rows"),
    Unseen("linear", '''
        x = cache
        B, I = x.shape
        O = dy.shape[1]
        dx = np.zeros((B, I))
        for i in range(I):
            for o in range(O):
                total = 0.0
                for b in range(B):
                    total += x[b, i] * dy[b, o]
                    dx[b, i] += self.W[i, o] * dy[b, o]
                grads.W[i, o] = total
        for o in range(O):
            grads.b[o] += sum(dy[b, o] for b in range(B))
        return dx
    ''', "W's gradient is assigned, so a second use of the layer forgets the first"),
    Unseen("linear", '''
        x = cache
        batch = x.shape[0]
        grads.W += (x.T @ dy) / batch
        grads.b += np.einsum("bo->o", dy)
        return (self.W @ dy.T).T
    ''', "a mean over the batch, though the loss has made its own already"),
    Unseen("squash", '''
        th, sg = cache
        da = dx * (1 - th)
        db = ds * (sg - sg**2)
        return da, db
    ''', "tanh' written as 1 − x: the square is forgotten"),
    Unseen("squash", '''
        def sigmoid(z):
            return 1 / (1 + np.exp(-z))

        tanh_out, sig_out = cache
        db = sigmoid(sig_out) * (1 - sigmoid(sig_out)) * ds
        return np.multiply(dx, 1 - np.square(tanh_out)), db
    ''', "σ′ is taken at σ(b), as if the cache held b"),
    Unseen("squash", '''
        x, s = cache
        grad_a = np.zeros(x.shape)
        grad_b = np.zeros(s.shape)
        for i in np.ndindex(*x.shape):
            grad_a[i] = dx[i] * (1 - x[i] * x[i])
            grad_b[i] = ds[i] * (1 - s[i] * s[i])
        return grad_a, grad_b
    ''', "tanh's derivative for σ as well"),
    Unseen("squash", '''
        x, s = cache
        dtanh = 1 / np.cosh(x) ** 2
        dsigma = s * (1 - s)
        return dtanh * dx, dsigma * ds
    ''', "1 / cosh² is tanh′, but of a, and it is given x"),
    Unseen("dropout", ('''
        kept = keep.astype(x.dtype)
        y = np.einsum("bh,bh->bh", x, kept) / p
        return y, (kept, p)
    ''', '''
        kept, p = cache
        dx = np.einsum("bh,bh->bh", dy, kept) / p
        return dx, None, None
    '''), "divided by the share that is left out, not by the share that stays"),
    Unseen("dropout", ('''
        out = np.where(keep, x / (1 - p), 0)
        return out, keep
    ''', '''
        was_kept = cache
        return np.where(was_kept, dy, 0), None, None
    '''), "the way back has the mask and forgets the factor"),
    Unseen("dropout", ('''
        scale = 1 / (1 - p)
        y = x * scale
        y[~keep] = 0
        return y, (scale, keep)
    ''', '''
        scale, keep = cache
        dx = dy * scale
        return dx, None, None
    '''), "the way back has the factor and forgets the mask"),
    Unseen("dropout", ('''
        q = 1 - p
        return x * keep * q, (keep, q)
    ''', '''
        keep, q = cache
        return dy * keep * q, None, None
    '''), "made smaller where it should be made larger: multiplied by 1 − p"),
    Unseen("clipping", '''
        squares = 0.0
        for array in gradients:
            squares += np.einsum("i,i->", array.ravel(), array.ravel())
        total = squares ** 0.5
        clipped = []
        for array in gradients:
            own = np.linalg.norm(array)
            if own > most:
                clipped.append(array / own * most)
            else:
                clipped.append(array.copy())
        return clipped, total
    ''', "each array is shortened by its own norm: one factor for each, not one for all"),
    Unseen("clipping", '''
        norm = sum(np.sum(g * g) for g in gradients)
        if norm <= most:
            return list(gradients), norm
        return [most * g / norm for g in gradients], norm
    ''', "the square root is forgotten: the squared norm is compared and returned"),
    Unseen("clipping", '''
        flat = np.concatenate([g.flatten() for g in gradients])
        length = float(np.sqrt(flat @ flat))
        if length > most:
            return [np.clip(g, -most, most) for g in gradients], length
        return [g + 0 for g in gradients], length
    ''', "every element is cut at the limit: the direction changes"),
    Unseen("clipping", '''
        lengths = [np.linalg.norm(g) for g in gradients]
        norm = np.sum(lengths)
        share = 1.0
        if norm > most:
            share = most / norm
        return [g * share for g in gradients], norm
    ''', "the norms of the arrays are added, not their squares"),
    Unseen("clipping", '''
        norm = np.sqrt(sum(float(x) ** 2 for g in gradients for x in g.flat))
        if norm == 0:
            return [g.copy() for g in gradients], norm
        factor = most / norm
        return [factor * g for g in gradients], norm
    ''', "what is short already is made as long as the limit"),
    Unseen("adam", '''
        mean = beta1 * m + (1 - beta1) * g
        square = beta2 * v + (1 - beta2) * np.multiply(g, g)
        unbiased = mean / (1 - beta1 ** step)
        spread = square
        x = x - rate * unbiased / (spread ** 0.5 + epsilon)
        return x, mean, square
    ''', "the mean is corrected and the mean square is not"),
    Unseen("adam", '''
        first = np.einsum("k,ki->i", [beta1, 1 - beta1], [m, g])
        second = np.einsum("k,ki->i", [beta2, 1 - beta2], [v, g ** 2])
        first = first / (1 - beta1 ** step)
        second = second / (1 - beta2 ** step)
        change = first / (np.sqrt(second) + epsilon)
        return x - rate * change, first, second
    ''', "the corrected means are kept, and will be corrected again"),
    Unseen("adam", '''
        new_m = m + (1 - beta1) * (g - m)
        new_v = v + (1 - beta2) * (g * g - v)
        root = np.sqrt(new_v / (1 - beta2 ** step) + epsilon)
        return x - rate * new_m / (1 - beta1 ** step) / root, new_m, new_v
    ''', "ε stands under the root"),
    Unseen("adam", '''
        new_x, new_m, new_v = np.empty_like(x), np.empty_like(m), np.empty_like(v)
        for i in range(len(x)):
            new_m[i] = (1 - beta1) * m[i] + beta1 * g[i]
            new_v[i] = (1 - beta2) * v[i] + beta2 * g[i] * g[i]
            mh = new_m[i] / (1 - beta1 ** step)
            vh = new_v[i] / (1 - beta2 ** step)
            new_x[i] = x[i] - rate * mh / (vh ** 0.5 + epsilon)
        return new_x, new_m, new_v
    ''', "the shares of old and new are the wrong way round"),
    Unseen("adam", '''
        t = step + 1
        m1 = beta1 * m + (1 - beta1) * g
        v1 = beta2 * v + (1 - beta2) * g**2
        alpha = rate / (1 - beta1 ** t)
        return x - alpha * m1 / (np.sqrt(v1 / (1 - beta2 ** t)) + epsilon), m1, v1
    ''', "steps are counted from 0 in the corrections: one too many"),
    Unseen("perplexity", '''
        masked = np.where(mask, losses, 0)
        return np.exp(masked.mean())
    ''', "padding adds nothing to the sum, but is counted as words"),
    Unseen("perplexity", '''
        total = np.einsum("tb,tb->b", losses, mask.astype(float))
        words = np.einsum("tb->b", mask.astype(float))
        return np.exp((total / words).mean())
    ''', "a mean over sequences of means over words: a short one's words count for more"),
    Unseen("perplexity", '''
        product, words = 0.0, 0
        for t in range(losses.shape[0]):
            for b in range(losses.shape[1]):
                if mask[t, b]:
                    product += np.exp(losses[t, b])
                    words += 1
        return product / words
    ''', "the mean of the 1/p, not the exponential of the mean of −log p"),
    Unseen("perplexity", '''
        present = losses.ravel()[mask.ravel()]
        return 2.0 ** present.mean()
    ''', "2 to the power of natural logarithms"),
    Unseen("bptt", '''
        xs, prev, states = cache
        T = len(xs)
        carried = np.zeros_like(dlast)
        dxs = []
        for t in range(T - 1, -1, -1):
            delta = (carried + dys[t]) * (1 - np.square(states[t]))
            grads.W += np.einsum("bi,bh->ih", xs[t], delta)
            grads.U += np.einsum("bg,bh->gh", prev[t], delta)
            grads.b += np.einsum("bh->h", delta)
            dxs.insert(0, np.einsum("bh,ih->bi", delta, self.W))
            carried = np.einsum("bh,gh->bg", delta, self.U)
        return np.array(dxs), carried
    ''', "what the last state was used for besides is forgotten"),
    Unseen("bptt", '''
        xs, h_before, h_after = cache
        deltas = np.zeros_like(h_after)
        from_next = dlast
        for t in range(len(xs))[::-1]:
            deltas[t] = (dys[t] + from_next) * (1 - h_after[t] * h_after[t])
            from_next = deltas[t].dot(self.U.T)
        grads.W += np.tensordot(xs, deltas, 2 * [[0, 1]])
        grads.U += np.tensordot(h_after, deltas, 2 * [[0, 1]])
        grads.b += deltas.sum((0, 1))
        return deltas @ self.W.T, from_next
    ''', "dU meets the state after the step, not the one before it"),
    Unseen("bptt", '''
        xs, before, after = cache
        dxs = np.zeros(xs.shape)
        dstate = dlast
        for i in range(1, len(xs) + 1):
            t = len(xs) - i
            dstate = dys[t] + dstate
            dpre = (1 - after[t] ** 2) * dstate
            grads.b += dpre.sum(axis=0)
            grads.W += xs[t].T.dot(dpre)
            grads.U += before[t].T.dot(dpre)
            dxs[t] = dpre.dot(self.W.T)
            dstate = dpre.dot(self.U)
        return dxs, dstate
    ''', "U goes back untransposed, and being square it fits"),
    Unseen("bptt", '''
        xs, before, after = cache
        T, B, I = xs.shape
        H = after.shape[2]
        dxs = np.zeros((T, B, I))
        upstream = np.array(dlast)
        for t in reversed(range(T)):
            upstream = upstream + dys[t]
            pre = np.zeros((B, H))
            for b in range(B):
                for j in range(H):
                    pre[b, j] = upstream[b, j] * (1 - after[t, b, j] ** 2)
                    grads.b[j] += pre[b, j]
                    for i in range(I):
                        grads.W[i, j] += xs[t, b, i] * pre[b, j]
                        dxs[t, b, i] += pre[b, j] * self.W[i, j]
                    for k in range(H):
                        grads.U[k, j] += before[t, b, k] * pre[b, j]
            upstream = upstream @ self.U.T
        return dxs, upstream
    ''', "what goes to the step before has not gone through tanh'"),
    Unseen("bptt", '''
        xs, before, after = cache
        dW, dU, db = 0, 0, 0
        dxs = np.empty_like(xs)
        dnext = np.copy(dlast)
        for t in np.arange(len(xs))[::-1]:
            d = (1 - after[t]**2) * dys[t]
            if t == len(xs) - 1:
                d = (1 - after[t]**2) * (dys[t] + dlast)
            dW = dW + xs[t].T @ d
            dU = dU + before[t].T @ d
            db = db + d.sum(0)
            dxs[t] = d @ self.W.T
            dnext = d @ self.U.T
        grads.W += dW
        grads.U += dU
        grads.b += db
        return dxs, dnext
    ''', "a state is heard by what stands above it alone: the next step's gradient is not added"),
    Unseen("bptt", '''
        inputs, before, after = cache
        out = []
        g = dlast
        for x, h0, h1, d in zip(inputs[::-1], before[::-1], after[::-1], dys[::-1]):
            g = (g + d) * (1 - h1 * h1)
            grads.W += x.T @ g
            grads.U += h0.T @ g
            grads.b += g.sum(0)
            out.append(g @ self.W.T)
            g = g @ self.U.T
        return np.array(out), g
    ''', "dxs was collected from the last step to the first and is not turned round"),
    Unseen("truncated", '''
        hs = states(W, U, xs, h)
        T = len(xs)
        dW, dU = np.zeros(W.shape), np.zeros(U.shape)
        carry = np.zeros_like(h)
        for t in range(T - 1, -1, -1):
            if t % k == 0:
                carry = np.zeros_like(h)
            da = (dhs[t] + carry) * (1 - hs[t + 1] ** 2)
            dW += np.einsum("bi,bh->ih", xs[t], da)
            dU += np.einsum("bg,bh->gh", hs[t], da)
            carry = np.einsum("bh,gh->bg", da, U)
        return dW, dU
    ''', "the gradient is cut in front of a chunk's first step, not behind its last"),
    Unseen("truncated", '''
        gW = np.zeros_like(W)
        gU = np.zeros_like(U)
        state = h
        for start in range(0, xs.shape[0], k):
            part = xs[start:start + k]
            upper = dhs[start:start + k]
            state = np.zeros_like(h) if start else h
            inner = states(W, U, part, state)
            back = 0
            for t in range(len(part))[::-1]:
                back = (back + upper[t]) * (1 - inner[t + 1] ** 2)
                gW += part[t].T @ back
                gU += inner[t].T @ back
                back = back @ U.T
            state = inner[-1]
        return gW, gU
    ''', "the state is not carried on: every chunk begins with zeros"),
    Unseen("truncated", '''
        hs = states(W, U, xs, h)
        dW, dU = 0 * W, 0 * U
        g = np.zeros_like(h)
        chunks = [range(i, min(i + k, len(xs))) for i in range(0, len(xs), k)]
        for chunk in chunks[::-1]:
            for t in reversed(chunk):
                g = (g + dhs[t]) * (1 - hs[t + 1] * hs[t + 1])
                dW = dW + xs[t].T.dot(g)
                dU = dU + hs[t].T.dot(g)
                g = g.dot(U.T)
        return dW, dU
    ''', "the gradient goes from chunk to chunk as well: nothing is truncated"),
    Unseen("truncated", '''
        hs = states(W, U, xs, h)
        dW, dU = np.zeros_like(W), np.zeros_like(U)
        T = xs.shape[0]
        for c in range(T // k):
            for t in range(c * k + k - 1, c * k - 1, -1):
                if t == c * k + k - 1:
                    dh = np.zeros_like(h)
                da = (dh + dhs[t]) * (1 - hs[t + 1]**2)
                dW += xs[t].T @ da
                dU += hs[t].T @ da
                dh = da @ U.T
        return dW, dU
    ''', "the last chunk, which is shorter, is left out"),
    Unseen("masks", '''
        xs, hs, news, mask = cache
        keep = mask.astype(float)[:, :, None]
        dxs = np.zeros(xs.shape)
        dstate = np.zeros(hs[0].shape)
        for t in range(len(xs) - 1, -1, -1):
            total = dstate + dhs[t]
            da = keep[t] * total * (1 - news[t] ** 2)
            grads.W += np.einsum("bi,bh->ih", xs[t], da)
            grads.U += np.einsum("bg,bh->gh", hs[t], da)
            dxs[t] = np.einsum("bh,ih->bi", da, self.W)
            dstate = np.einsum("bh,gh->bg", da, self.U)
        return dxs, dstate, None
    ''', "the way past the end, from a state to the same state, is forgotten"),
    Unseen("masks", '''
        xs, hs, news, mask = cache
        dxs = np.zeros_like(xs)
        flow = np.zeros_like(hs[0])
        for t in reversed(range(len(mask))):
            m = mask[t].reshape(-1, 1)
            flow = flow + dhs[t]
            da = m * flow * (1 - news[t] ** 2)
            grads.W += xs[t].T @ da
            grads.U += hs[t].T @ da
            dxs[t] = da @ self.W.T
            flow = da @ self.U.T + flow
        return dxs, flow, None
    ''', "the old state is given the gradient in every step, also where it was not kept"),
    Unseen("masks", '''
        xs, hs, news, mask = cache
        T, B, _ = xs.shape
        dxs = np.zeros_like(xs)
        dh = np.zeros_like(dhs[0])
        for t in range(T)[::-1]:
            dprev = np.zeros_like(dh)
            for b in range(B):
                if mask[t, b]:
                    g = dh[b] + dhs[t, b]
                    da = g * (1 - news[t][b] ** 2)
                    grads.W += np.outer(xs[t, b], da)
                    grads.U += np.outer(hs[t][b], da)
                    dxs[t, b] = self.W @ da
                    dprev[b] = self.U @ da
                else:
                    dprev[b] = dh[b]
            dh = dprev
        return dxs, dh, None
    ''', "what is said from above of a state behind the end is thrown away"),
    Unseen("masks", '''
        xs, hs, news, mask = cache
        dxs = np.empty(xs.shape)
        dh = 0
        for t in range(len(xs) - 1, -1, -1):
            dh = dh + dhs[t]
            through = mask[t][:, None] * (1 - news[t]**2) * dh
            around = (1 - mask[t])[:, None] * dh
            grads.W += xs[t].T @ through
            grads.U += hs[t].T @ through
            dxs[t] = through @ self.W.T
            dh = (through + around) @ self.U.T
        return dxs, dh, None
    ''', "what only stayed where it was is sent through U as well"),
    Unseen("pointing", '''
        best = np.argmax(weights, axis=1)
        hits = 0
        for t in range(len(weights)):
            if (t, best[t]) in links:
                hits += 1
        return hits / len(weights)
    ''', "words without a sure link are asked as well"),
    Unseen("pointing", '''
        correct = 0
        for t, s in links:
            if weights[t].argmax() == s:
                correct += 1
        return correct / len(links)
    ''', "a share of the links, not of the words: a word with two is wrong at least once"),
    Unseen("pointing", '''
        gold = np.zeros(weights.shape, dtype=bool)
        for t, s in links:
            gold[t, s] = True
        asked = gold.any(axis=1)
        mass = np.einsum("ts,ts->t", weights, gold)
        return mass[asked].mean()
    ''', "the weight that lies on the sure links, not whether the largest one does"),
    Unseen("pointing", '''
        answers = {}
        for t, s in sorted(links):
            answers[t] = {s}
        good = [np.argmax(weights[t]) in words for t, words in answers.items()]
        return sum(good) / len(good)
    ''', "of two right answers only the last is known"),
    Unseen("deep-output", '''
        s, y, c, pairs, t = cache
        dt = np.einsum("bk,lk->bl", dscores, self.W)
        dpre = np.repeat(dt, 2, axis=1)
        grads.U += np.einsum("bh,bm->hm", s, dpre)
        grads.V += np.einsum("be,bm->em", y, dpre)
        grads.C += np.einsum("bn,bm->nm", c, dpre)
        grads.W += np.einsum("bl,bk->lk", t, dscores)
        return tuple(np.einsum("bm,xm->bx", dpre, one) for one in (self.U, self.V, self.C))
    ''', "both of a pair are given the gradient, also the one that lost"),
    Unseen("deep-output", '''
        s, y, c, pairs, t = cache
        B, L = t.shape
        dmax = dscores @ self.W.T
        first = pairs[:, :, 0] >= pairs[:, :, 1]
        dwide = np.hstack([dmax * first, dmax * ~first])
        grads.W += t.T @ dscores
        for weight, x in (("U", s), ("V", y), ("C", c)):
            setattr(grads, weight, getattr(grads, weight) + x.T @ dwide)
        return dwide @ self.U.T, dwide @ self.V.T, dwide @ self.C.T
    ''', "the pairs are laid out as two halves, not side by side"),
    Unseen("deep-output", '''
        s, y, c, pairs, t = cache
        grads.W += t.T @ dscores
        g = dscores @ self.W.T
        wide = np.zeros_like(pairs)
        for b in range(wide.shape[0]):
            for l in range(wide.shape[1]):
                if pairs[b, l, 0] > pairs[b, l, 1]:
                    wide[b, l, 1] = g[b, l]
                else:
                    wide[b, l, 0] = g[b, l]
        wide = wide.reshape(len(s), -1)
        grads.U += s.T @ wide
        grads.V += y.T @ wide
        grads.C += c.T @ wide
        return wide @ self.U.T, wide @ self.V.T, wide @ self.C.T
    ''', "the smaller of the pair is given the gradient"),
    Unseen("deep-output", '''
        s, y, c, pairs, t = cache
        grads.W += t.T.dot(dscores)
        d = dscores.dot(self.W.T)[:, :, None] * (pairs > 0)
        d = d.reshape(s.shape[0], 2 * t.shape[1])
        grads.C += c.T.dot(d)
        grads.V += y.T.dot(d)
        grads.U += s.T.dot(d)
        return d.dot(self.U.T), d.dot(self.V.T), d.dot(self.C.T)
    ''', "the derivative of another function: of the larger of each and 0"),
    Unseen("deep-output", '''
        s, y, c, pairs, t = cache
        dt = dscores @ self.W.T
        winner = pairs.argmax(axis=-1)
        dwide = np.zeros(pairs.shape)
        rows, cols = np.indices(winner.shape)
        dwide[rows, cols, winner] = dt * t
        dwide = dwide.reshape(len(t), -1)
        grads.W += t.T @ dscores
        grads.U += s.T @ dwide
        grads.V += y.T @ dwide
        grads.C += c.T @ dwide
        return dwide @ self.U.T, dwide @ self.V.T, dwide @ self.C.T
    ''', "the gradient is multiplied with the maximum, which is taken, not multiplied with"),
    Unseen("dot", ('''
        scores = np.einsum("n,sn->s", h, M)
        return scores, (h, M)
    ''', '''
        query, words = cache
        dquery = np.einsum("s,sn->n", de, words)
        dwords = np.einsum("s,sn->sn", de, words)
        return dquery, dwords
    '''), "each word's gradient is a multiple of the word itself, not of the query"),
    Unseen("dot", ('''
        e = np.zeros(len(M))
        for s, word in enumerate(M):
            e[s] = sum(a * b for a, b in zip(h, word))
        return e, (M, h)
    ''', '''
        M, h = cache
        dh = np.zeros_like(h)
        dM = np.zeros_like(M)
        for s in range(len(M)):
            dh += de[s] * M[s]
            dM[s] = de[s] * h
        return dh / len(M), dM
    '''), "the query gets the mean over the words, not the sum"),
    Unseen("dot", ('''
        n = h.shape[0]
        e = np.inner(M, h) / np.sqrt(n)
        return e, (h, M, n)
    ''', '''
        h, M, n = cache
        scaled = de / np.sqrt(n)
        return scaled.dot(M), scaled[:, None] * h[None, :]
    '''), "the scaled score of another paper, in both passes"),
    Unseen("dot", ('''
        raw = (M * h).sum(axis=1)
        powers = np.exp(raw - raw.max())
        weights = powers / powers.sum()
        return weights, (h, M, weights)
    ''', '''
        h, M, weights = cache
        d = weights * (de - weights @ de)
        return (M * d[:, None]).sum(axis=0), np.multiply.outer(d, h)
    '''), "weights are returned where scores are asked for: a softmax too many"),
    Unseen("general", '''
        h, M, W, q = cache
        dq = np.einsum("s,sn->n", de, M)
        dh = np.einsum("n,hn->h", dq, W)
        dM = np.einsum("s,n->sn", de, q)
        dW = np.einsum("h,sn->hn", h, M)
        return dh, dM, dW
    ''', "W_a is not told which scores are to rise: de is missing in its gradient"),
    Unseen("general", '''
        h, M, W, q = cache
        dh, dM, dW = np.zeros(h.shape), np.zeros(M.shape), np.zeros(W.shape)
        for s in range(len(de)):
            dM[s] = de[s] * q
            dh += de[s] * W.dot(M[s])
            dW = de[s] * np.outer(h, M[s])
        return dh, dM, dW
    ''', "W_a served every word; the last word's gradient alone is left"),
    Unseen("general", '''
        h, M, W_a, q = cache
        dquery = M.T @ de
        dh = W_a @ dquery
        dW = h[:, None] @ dquery[None, :]
        dM = de[:, None] @ dquery[None, :]
        return dh, dM, dW
    ''', "a word meets q, not the gradient of q"),
    Unseen("general", '''
        h, M, W_a, q = cache
        dq = de.dot(M)
        dM = np.outer(de, q)
        dW_a = np.outer(h, q)
        return dq.dot(W_a.T), dM, dW_a
    ''', "the value of q where its gradient belongs"),
    Unseen("concat", '''
        h, M, W, U, v, x = cache
        dx = np.einsum("s,a->sa", de, v)
        da = dx
        summed = np.einsum("sa->a", da)
        return (np.einsum("a,ha->h", summed, W), np.einsum("sa,na->sn", da, U),
                np.einsum("h,a->ha", h, summed), np.einsum("sn,sa->na", M, da),
                np.einsum("s,sa->a", de, x))
    ''', "tanh has no derivative on the way back"),
    Unseen("concat", '''
        h, M, W, U, v, x = cache
        delta = de.reshape(-1, 1) * v * (1 - x * x)
        dW = h.reshape(-1, 1) * delta.mean(axis=0)
        dh = W.dot(delta.mean(axis=0))
        return dh, delta.dot(U.T), dW, M.T.dot(delta), x.T.dot(de)
    ''', "h and W_a get the mean over the words, not the sum"),
    Unseen("concat", '''
        h, M, W, U, v, x = cache
        dh, dM = np.zeros_like(h), np.zeros_like(M)
        dW, dU, dv = np.zeros_like(W), np.zeros_like(U), np.zeros_like(v)
        for s, d in enumerate(de):
            da = d * v * (1 - x[s]**2)
            dv += da * x[s]
            dh += W @ da
            dM[s] = U @ da
            dW += np.outer(h, da)
            dU += np.outer(M[s], da)
        return dh, dM, dW, dU, dv
    ''', "v_a stands behind the tanh, and is given the gradient in front of it"),
    Unseen("concat", '''
        h, M, W, U, v, x = cache
        dtanh = 1 - x**2
        da = np.outer(de, v) * dtanh
        total = da.sum(0)
        dU = np.outer(M.sum(0), total)
        return np.dot(W, total), np.dot(da, U.T), np.outer(h, total), dU, np.dot(de, x)
    ''', "every word is paired with every word's gradient: sums multiplied, not products summed"),
    Unseen("concat", '''
        h, M, W, U, v, x = cache
        pre = (1 - x * x) * de[:, None]
        total = pre.sum(axis=0)
        dh = W @ total
        dM = pre @ U.T
        dW = np.multiply.outer(h, total)
        dU = M.T @ pre
        dv = x.T @ de
        return dh, dM, dW, dU, dv
    ''', "v_a is forgotten on the way down"),
    Unseen("location", '''
        h, M, W = cache
        S, longest = len(M), W.shape[1]
        dW = np.zeros(W.shape)
        for s in range(S):
            dW[:, longest - S + s] = h * de[s]
        dh = np.einsum("hs,s->h", W[:, :S], de)
        return dh, 0 * M, dW
    ''', "the last columns are given the gradient that belongs to the first"),
    Unseen("location", '''
        query, words, table = cache
        S, N = words.shape
        used = table[:, :S]
        d_words = np.tile(de[:, None], (1, N))
        d_table = np.concatenate([np.einsum("h,s->hs", query, de),
                                  np.zeros((len(query), table.shape[1] - S))], axis=1)
        return used.dot(de), d_words, d_table
    ''', "the words are given the scores' gradient, though no score read them"),
    Unseen("location", '''
        h, M, W_a = cache
        S = M.shape[0]
        padded = np.zeros(W_a.shape[1])
        padded[:S] = de
        dW_a = np.outer(np.ones_like(h), padded)
        return W_a.dot(padded), np.zeros(M.shape), dW_a
    ''', "a column receives its score's gradient without the h that it met"),
    Unseen("location", '''
        h, M, W_a = cache
        length = len(de)
        dh = np.zeros_like(h)
        for s in range(length):
            dh = W_a[:, s] * de[s]
        dW = np.hstack([np.outer(h, de), np.zeros((len(h), W_a.shape[1] - length))])
        return dh, np.zeros_like(M), dW
    ''', "h made every score; the last place's gradient alone is left"),
    Unseen("local-p", '''
        h, M, W_p, v_p, x, p, bell, soft, alpha = cache
        S = len(M)
        dweights = dalpha + np.einsum("sn,n->s", M, dc)
        dsoft = dweights * bell
        dscore = soft * (dsoft - np.einsum("s,s->", soft, dsoft))
        sigma = D / 2
        dp = np.einsum("s,s,s->", dweights, alpha, (np.arange(S) - p) / sigma**2)
        dz = dp * p * (S - p) / S
        dpre = dz * v_p * (1 - x**2)
        dh = np.einsum("s,sn->n", dscore, M)
        dM = np.einsum("s,n->sn", dscore, h) + np.einsum("s,n->sn", alpha, dc)
        return dh, dM, np.einsum("n,p->np", h, dpre), dz * x
    ''', "h aims as well as it scores: its way through the place p is forgotten"),
    Unseen("local-p", '''
        h, M, W_p, v_p, x, p, bell, soft, alpha = cache
        S = len(M)
        d = M @ dc + dalpha
        da = d * bell
        de = np.zeros(S)
        for i in range(S):
            for j in range(S):
                de[i] += da[j] * soft[j] * ((i == j) - soft[i])
        dbell = d * soft
        dp = 0.0
        for s in range(S):
            dp += dbell[s] * bell[s] * (s - p) * 4 / D**2
        sig = p / S
        dz = dp * sig * (1 - sig)
        dk = v_p * dz * (1 - x * x)
        dM = np.outer(de, h) + np.outer(alpha, dc)
        return M.T @ de + W_p @ dk, dM, np.outer(h, dk), x * dz
    ''', "p = S σ, and the S is forgotten on the way back"),
    Unseen("local-p", '''
        h, M, W_p, v_p, x, p, bell, soft, alpha = cache
        S = len(M)
        dweights = dalpha + M.dot(dc)
        dscores = alpha * (dweights - alpha.dot(dweights))
        distance = np.arange(S) - p
        dplace = np.sum(dweights * alpha * distance) / (D / 2) ** 2
        dlogit = dplace * p * (1 - p / S)
        daim = dlogit * v_p * (1 - np.square(x))
        return (dscores.dot(M) + W_p.dot(daim), np.outer(dscores, h) + np.outer(alpha, dc),
                np.outer(h, daim), dlogit * x)
    ''', "α is taken for a softmax; it is a softmax times a bell"),
    Unseen("local-p", '''
        h, M, W_p, v_p, x, p, bell, soft, alpha = cache
        S = len(M)
        dall = dc @ M.T + dalpha
        da = dall
        de = soft * da - soft * (soft @ da)
        dp = (dall * alpha) @ (np.arange(S) - p) * (4 / D**2)
        dz = dp * p * (1 - p / S)
        dk = (1 - x**2) * (dz * v_p)
        dM = np.multiply.outer(alpha, dc) + np.multiply.outer(de, h)
        return de @ M + dk @ W_p.T, dM, np.multiply.outer(h, dk), dz * x
    ''', "the softmax's weights were multiplied by the bell, and the way back is not"),
    Unseen("local-p", '''
        h, M, W_p, v_p, x, p, bell, soft, alpha = cache
        S = len(M)
        dg = (M @ dc + dalpha) * soft
        s = np.arange(S)
        dp = np.sum(dg * bell * 2 * (s - p) / D**2)
        dsoft = (M @ dc + dalpha) * bell
        de = soft * (dsoft - (soft * dsoft).sum())
        sigmoid = p / S
        dz = dp * S * sigmoid * (1 - sigmoid)
        du = dz * v_p * (1 - x**2)
        dh = M.T @ de + W_p @ du
        dM = np.outer(alpha, dc) + np.outer(de, h)
        return dh, dM, np.outer(h, du), dz * x
    ''', "the bell's derivative without the 2 of the square"),
    Unseen("local-p", '''
        h, M, W_p, v_p, x, p, bell, soft, alpha = cache
        S = len(M)
        dw = M @ dc
        da = bell * dw
        de = soft * (da - np.dot(soft, da))
        offset = np.arange(S) - p
        dp = np.dot(dw, alpha * offset) / (D / 2)**2
        dz = dp * p * (1 - p / S)
        dtanh = dz * v_p
        dW_p = np.outer(h, dtanh * (1 - x**2))
        dv_p = dz * x
        dh = np.dot(de, M) + np.dot(W_p, dtanh * (1 - x**2))
        dM = np.outer(de, h) + np.outer(alpha, dc)
        return dh, dM, dW_p, dv_p
    ''', "whoever reads the weights themselves is not heard"),
    Unseen("local-p", '''
        h, M, W_p, v_p, x, p, bell, soft, alpha = cache
        S = len(M)
        dalpha_total = np.array([M[s] @ dc + dalpha[s] for s in range(S)])
        da = dalpha_total * bell
        mean = sum(soft[s] * da[s] for s in range(S))
        de = np.array([soft[s] * (da[s] - mean) for s in range(S)])
        dp = sum(dalpha_total[s] * alpha[s] * (s - p) for s in range(S)) / (D * D / 4)
        dz = dp * p * (1 - p / S)
        dk = dz * v_p * (1 - x**2)
        dM = np.array([de[s] * h for s in range(S)])
        return M.T @ de + W_p @ dk, dM, np.outer(h, dk), dz * x
    ''', "a word is found and said, and what it said is forgotten"),
    Unseen("local-p", '''
        h, M, W_p, v_p, x, p, bell, soft, alpha = cache
        S = len(M)
        g = M.dot(dc) + dalpha
        dp = 0
        for s in range(S):
            dp += g[s] * alpha[s] * (p - s) / (D / 2) ** 2
        da = g * bell
        de = (np.diag(soft) - np.outer(soft, soft)) @ da
        dz = dp * p * (1 - p / S)
        dx = dz * v_p
        dk = dx - dx * x**2
        dM = np.outer(de, h) + np.outer(alpha, dc)
        return M.T.dot(de) + W_p.dot(dk), dM, np.outer(h, dk), dz * x
    ''',
           "a word whose weight should grow pushes p away: the inner derivative of (s − p)² is "
           "forgotten"),
    Unseen("input-feeding", '''
        M, steps = cache
        dM = np.zeros(M.shape)
        dnext = np.zeros((M.shape[0], M.shape[2]))
        dys = np.zeros((len(steps), *steps[0][0][0].shape))
        for t in range(len(steps) - 1, -1, -1):
            (y, h0, fed0), h, alpha, c, fed = steps[t]
            du = dfeds[t] * (1 - fed**2)
            grads.C += np.einsum("bh,bk->hk", c, du)
            grads.W_h += np.einsum("bh,bk->hk", h, du)
            dc = np.einsum("bk,hk->bh", du, self.C)
            da = dalphas[t] + np.einsum("bsh,bh->bs", M, dc)
            de = alpha * (da - np.einsum("bs,bs->b", alpha, da)[:, None])
            dM += np.einsum("bs,bh->bsh", alpha, dc) + np.einsum("bs,bh->bsh", de, h)
            dh = (np.einsum("bk,hk->bh", du, self.W_h) + np.einsum("bs,bsh->bh", de, M)
                  + np.einsum("bg,hg->bh", dnext, self.U))
            dnext = dh * (1 - h**2)
            grads.W += np.einsum("be,bh->eh", y, dnext)
            grads.U += np.einsum("bg,bh->gh", h0, dnext)
            grads.F += np.einsum("bk,bh->kh", fed0, dnext)
            grads.b += np.einsum("bh->h", dnext)
            dys[t] = np.einsum("bh,eh->be", dnext, self.W)
        return dys, np.einsum("bh,gh->bg", dnext, self.U), dM
    ''', "what was fed to the next step gets nothing back from it"),
    Unseen("input-feeding", '''
        M, steps = cache
        T = len(steps)
        dys, dM = [None] * T, np.zeros_like(M)
        dh_next = np.zeros_like(steps[0][1])
        dfed_next = np.zeros_like(steps[0][4])
        for t in reversed(range(T)):
            (y, h_old, fed_old), h, alpha, c, fed = steps[t]
            dpre = (dfeds[t] + dfed_next) * (1 - fed * fed)
            grads.C += c.T.dot(dpre)
            grads.W_h += h.T.dot(dpre)
            dcontext = dpre.dot(self.C.T)
            dweights = dalphas[t] + np.matmul(M, dcontext[:, :, None])[:, :, 0]
            dscores = alpha * dweights - alpha * (alpha * dweights).sum(1)[:, None]
            dM += alpha[:, :, None] * dcontext[:, None, :]
            dM += dscores[:, :, None] * h[:, None, :]
            dh = dh_next + dpre.dot(self.W_h.T)
            da = dh * (1 - h * h)
            grads.W += y.T.dot(da)
            grads.U += h_old.T.dot(da)
            grads.F += fed_old.T.dot(da)
            grads.b += da.sum(axis=0)
            dys[t] = da.dot(self.W.T)
            dh_next = da.dot(self.U.T)
            dfed_next = da.dot(self.F.T)
        return np.array(dys), dh_next, dM
    ''', "h was the query, too: its way through the scores is forgotten"),
    Unseen("input-feeding", '''
        M, steps = cache
        dM = np.zeros_like(M)
        dys = np.zeros((len(steps),) + steps[0][0][0].shape)
        dh_from_next, dfed_from_next = 0, 0
        for t in range(len(steps))[::-1]:
            before, h, alpha, c, fed = steps[t]
            dout = (dfeds[t] + dfed_from_next) * (1 - fed**2)
            grads.C += c.T @ dout
            grads.W_h += h.T @ dout
            dcontext = dout @ self.W_h.T
            dh = dout @ self.C.T + dh_from_next
            dscores = np.zeros_like(alpha)
            for b in range(len(M)):
                dalpha = M[b] @ dcontext[b] + dalphas[t, b]
                dscores[b] = alpha[b] * (dalpha - alpha[b] @ dalpha)
                dM[b] += np.outer(alpha[b], dcontext[b]) + np.outer(dscores[b], h[b])
                dh[b] += dscores[b] @ M[b]
            dtanh = dh * (1 - h**2)
            grads.W += before[0].T @ dtanh
            grads.U += before[1].T @ dtanh
            grads.F += before[2].T @ dtanh
            grads.b += dtanh.sum(0)
            dys[t] = dtanh @ self.W.T
            dh_from_next = dtanh @ self.U.T
            dfed_from_next = dtanh @ self.F.T
        return dys, dh_from_next, dM
    ''', "C and W_h have one shape, and each sends back what belongs to the other's input"),
    Unseen("input-feeding", '''
        M, steps = cache
        dM = np.zeros_like(M)
        dys = []
        da = np.zeros_like(M[:, 0])
        for step, dk, dw in zip(steps[::-1], dfeds[::-1], dalphas[::-1]):
            (y, h0, k0), h, w, c, k = step
            du = (dk + da @ self.F.T) * (1 - k**2)
            dc = du @ self.C.T
            dw = dw + np.einsum("bsh,bh->bs", M, dc)
            de = w * (dw - (w * dw).sum(axis=1, keepdims=True))
            dM += np.einsum("bs,bh->bsh", de, h)
            dh = np.einsum("bs,bsh->bh", de, M) + du @ self.W_h.T + da @ self.U.T
            da = dh * (1 - h**2)
            grads.C += c.T @ du
            grads.W_h += h.T @ du
            grads.W += y.T @ da
            grads.U += h0.T @ da
            grads.F += k0.T @ da
            grads.b += da.sum(0)
            dys = [da @ self.W.T] + dys
        return np.array(dys), da @ self.U.T, dM
    ''', "the annotations are what was found and what was said; the second is forgotten"),
    Unseen("input-feeding", '''
        M, steps = cache
        T, B = len(steps), len(M)
        dM = np.zeros_like(M)
        dys = [0] * T
        after = np.zeros_like(M[:, 0])
        for i in range(T):
            t = T - 1 - i
            (y, h_prev, fed_prev), h, alpha, c, fed = steps[t]
            dfed = (dfeds[t] + after @ self.F.T) * (1 - fed**2)
            grads.W_h += h.T @ dfed
            grads.C += c.T @ dfed
            dc = dfed @ self.C.T
            dalpha = np.array([M[b] @ dc[b] for b in range(B)])
            de = alpha * (dalpha - np.einsum("bs,bs->b", alpha, dalpha).reshape(B, 1))
            for b in range(B):
                dM[b] += np.outer(alpha[b], dc[b]) + np.outer(de[b], h[b])
            dh = dfed @ self.W_h.T + after @ self.U.T
            dh = dh + np.array([de[b] @ M[b] for b in range(B)])
            after = dh * (1 - h**2)
            grads.W += y.T @ after
            grads.U += h_prev.T @ after
            grads.F += fed_prev.T @ after
            grads.b += after.sum(0)
            dys[t] = after @ self.W.T
        return np.array(dys), after @ self.U.T, dM
    ''', "whoever reads the weights themselves is not heard"),
    Unseen("input-feeding", '''
        M, steps = cache
        dys, dM = [], 0 * M
        dh_next = np.zeros_like(M[:, 0])
        dfed_next = np.zeros_like(dfeds[0])
        for t in range(len(steps) - 1, -1, -1):
            (y, h_prev, fed_prev), h, alpha, c, fed = steps[t]
            du = (dfeds[t] + dfed_next) * (1 - fed ** 2)
            grads.C += c.T @ du
            grads.W_h += h.T @ du
            dc = du @ self.C.T
            dalpha = dalphas[t] + np.sum(M * dc[:, None, :], axis=2)
            de = alpha * (dalpha - np.sum(alpha * dalpha, axis=1, keepdims=True))
            dM = dM + alpha[:, :, None] * dc[:, None, :] + de[:, :, None] * h[:, None, :]
            dh = np.sum(de[:, :, None] * M, axis=1) + du @ self.W_h.T
            da = dh * (1 - h ** 2)
            grads.W += y.T @ da
            grads.U += h_prev.T @ da
            grads.F += fed_prev.T @ da
            grads.b += da.sum(axis=0)
            dys.append(da @ self.W.T)
            dh_next = da @ self.U.T
            dfed_next = da @ self.F.T
        return np.stack(dys[::-1]), dh_next, dM
    ''', "the gradient goes from step to step through F alone: the way through U is forgotten"),
    Unseen("input-feeding", '''
        M, steps = cache
        dM = np.zeros_like(M)
        dys = []
        da = np.zeros_like(M[:, 0])
        for step, dk, dw in zip(steps[::-1], dfeds[::-1], dalphas[::-1]):
            (y, h0, k0), h, w, c, k = step
            du = (dk + da @ self.F.T) * (1 - k**2)
            dc = du @ self.C.T
            dw = dw + (M @ dc[:, :, None])[:, :, 0]
            de = w * (dw - (w * dw).sum(axis=1, keepdims=True))
            dM += np.einsum("bs,bh->bsh", de, h) + np.einsum("bs,bh->bsh", w, dc)
            dh = (de[:, None] @ M)[:, 0] + du @ self.W_h.T + da @ self.U.T
            da = dh * (1 - h**2)
            grads.C += c.T @ du
            grads.W_h += h.T @ du
            grads.W += y.T @ da
            grads.U += h.T @ da
            grads.F += k0.T @ da
            grads.b += da.sum(0)
            dys = [da @ self.W.T] + dys
        return np.array(dys), da @ self.U.T, dM
    ''', "U met the state before the step, and is given the one after it"),
    Unseen("scaled-dot", '''
        q, k, v, A, scale = cache
        dweights = np.einsum("...tv,...sv->...ts", dY, v) + dA
        inner = np.einsum("...ts,...ts->...t", A, dweights)
        dscores = A * (dweights - inner[..., None])
        dq = np.einsum("...ts,...sd->...td", dscores, k) * scale
        dk = np.einsum("...ts,...td->...sd", dscores, q)
        dv = np.einsum("...ts,...tv->...sv", A, dY)
        return dq, dk, dv
    ''', "the scale stands in dq and is forgotten in dk"),
    Unseen("scaled-dot", '''
        q, k, v, weights, _ = cache
        d = q.shape[-1]
        g = dA + np.matmul(dY, np.swapaxes(v, -2, -1))
        g = weights * (g - np.sum(g * weights, axis=-2, keepdims=True))
        g = g / np.sqrt(d)
        return (np.matmul(g, k), np.matmul(np.swapaxes(g, -2, -1), q),
                np.matmul(np.swapaxes(weights, -2, -1), dY))
    ''', "the softmax is taken back along the queries, not along the keys"),
    Unseen("scaled-dot", '''
        q, k, v, A, scale = cache
        dq, dk, dv = np.zeros_like(q), np.zeros_like(k), np.zeros_like(v)
        for b in range(len(q)):
            for t in range(q.shape[1]):
                da = v[b] @ dY[b, t]
                de = A[b, t] * (da - A[b, t] @ da)
                dq[b, t] = scale * (de @ k[b])
                dk[b] += scale * np.outer(de, q[b, t])
                dv[b] += np.outer(A[b, t], dY[b, t])
        return dq, dk, dv
    ''', "whoever reads the weights themselves is not heard"),
    Unseen("scaled-dot", '''
        q, k, v, A, scale = cache
        dv = np.einsum("bts,btv->bsv", A, dY)
        dA = dA + np.einsum("btv,bsv->bts", dY, v)
        dE = dA * A * (1 - A)
        dq = np.einsum("bts,bsd->btd", dE, k) * scale
        dk = np.einsum("bts,btd->bsd", dE, q) * scale
        return dq, dk, dv
    ''', "each weight is taken to depend on its own score alone, as with σ"),
    Unseen("scaled-dot", '''
        q, k, v, A, scale = cache
        dS = dA + dY @ v.transpose(0, 2, 1)
        dS = A * dS - A * np.sum(A * dS, axis=2)[:, :, None]
        dS /= q.shape[2]
        return dS @ k, dS.transpose(0, 2, 1) @ q, A.transpose(0, 2, 1) @ dY
    ''', "divided by d on the way back, and by √d on the way there"),
    Unseen("scaled-dot", '''
        q, k, v, A, scale = cache
        dprob = dA + np.einsum("btv,bsv->bts", dY, v)
        dlogit = np.empty_like(A)
        for b in range(A.shape[0]):
            for t in range(A.shape[1]):
                jac = np.diag(A[b, t]) - np.outer(A[b, t], A[b, t])
                dlogit[b, t] = jac @ dprob[b, t]
        dq = scale * dlogit @ k
        dk = scale * A.transpose(0, 2, 1) @ q
        dv = A.transpose(0, 2, 1) @ dY
        return dq, dk, dv
    ''', "the weights where the gradient of the scores belongs"),
    Unseen("multi-head", '''
        X, M, joined, looked = cache
        dheads = self.split(np.einsum("bto,do->btd", dy, self.W_o))
        each = np.repeat(dweights[:, None], self.heads, axis=1) / self.heads
        dq, dk, dv = [self.join(one) for one in attention_backward(dheads, each, looked)]
        grads.W_o += np.einsum("btd,bto->do", joined, dy)
        grads.b_o += np.einsum("bto->o", dy)
        grads.W_q += np.einsum("btn,btd->nd", X, dq)
        grads.b_q += np.einsum("btd->d", dq)
        grads.W_k += np.einsum("bsm,bsd->md", M, dk)
        grads.W_v += np.einsum("bsm,bsd->md", M, dv)
        grads.b_v += np.einsum("bsd->d", dv)
        dX = np.einsum("btd,nd->btn", dq, self.W_q)
        dM = np.einsum("bsd,md->bsm", dv, self.W_v)
        return dX, dM
    ''', "M made keys as well as values: the way through the keys is forgotten"),
    Unseen("multi-head", '''
        X, M, joined, looked = cache
        shared = np.broadcast_to(dweights[:, None], looked[3].shape)
        dparts = self.split(dy @ self.W_o.T)
        dq, dk, dv = attention_backward(dparts, shared, looked)
        dq, dk, dv = self.join(dq), self.join(dk), self.join(dv)


        def rows(x):
            return x.reshape(-1, x.shape[-1])


        grads.W_o += rows(joined).T @ rows(dy)
        grads.b_o += rows(dy).sum(0)
        grads.W_q += rows(X).T @ rows(dq)
        grads.b_q += rows(dq).sum(0)
        grads.W_k += rows(M).T @ rows(dk)
        grads.W_v += rows(M).T @ rows(dv)
        grads.b_v += rows(dv).sum(0)
        return dq @ self.W_q.T, dk @ self.W_k.T + dv @ self.W_v.T
    ''', "every head gets all of the mean's gradient, not its share"),
    Unseen("multi-head", '''
        X, M, joined, looked = cache
        B, T, _ = X.shape
        djoined = dy @ self.W_o.T
        width = djoined.shape[2] // self.heads
        dparts = djoined.reshape(B, self.heads, T, width)
        dq, dk, dv = attention_backward(dparts, dweights[:, None] / self.heads, looked)
        dq, dk, dv = self.join(dq), self.join(dk), self.join(dv)
        for b in range(B):
            grads.W_o += joined[b].T @ dy[b]
            grads.b_o += dy[b].sum(0)
            grads.W_q += X[b].T @ dq[b]
            grads.b_q += dq[b].sum(0)
            grads.W_k += M[b].T @ dk[b]
            grads.W_v += M[b].T @ dv[b]
            grads.b_v += dv[b].sum(0)
        return dq @ self.W_q.T, dk @ self.W_k.T + dv @ self.W_v.T
    ''', "the heads are cut out by a reshape that mixes words and columns"),
    Unseen("multi-head", '''
        X, M, joined, looked = cache
        q, k, v, A, scale = looked
        dheads = self.split(np.matmul(dy, self.W_o.T))
        dq, dk, dv = np.zeros_like(q), np.zeros_like(k), np.zeros_like(v)
        for head in range(self.heads):
            part = (q[:, head], k[:, head], v[:, head], A[:, head], scale)
            dq[:, head], dk[:, head], dv[:, head] = attention_backward(
                dheads[:, head], dweights / self.heads, part)
        dq, dk, dv = map(self.join, (dq, dk, dv))
        grads.W_o += np.einsum("btd,bto->do", joined, dy)
        grads.b_o += dy.sum(axis=(0, 1))
        grads.W_q += np.einsum("bti,btd->id", X, dq)
        grads.b_q += dq.sum(axis=(0, 1))
        grads.W_k += np.einsum("bsi,bsd->id", M, dv)
        grads.W_v += np.einsum("bsi,bsd->id", M, dk)
        grads.b_v += dv.sum(axis=(0, 1))
        return dq @ self.W_q.T, dk @ self.W_k.T + dv @ self.W_v.T
    ''', "keys and values are mixed up in the gradients of W_k and W_v"),
    Unseen("multi-head", '''
        X, M, joined, looked = cache
        none = np.zeros_like(looked[3])
        dq, dk, dv = map(self.join, attention_backward(self.split(dy @ self.W_o.T), none, looked))
        grads.W_o += np.tensordot(joined, dy, axes=([0, 1], [0, 1]))
        grads.W_q += np.tensordot(X, dq, axes=([0, 1], [0, 1]))
        grads.W_k += np.tensordot(M, dk, axes=([0, 1], [0, 1]))
        grads.W_v += np.tensordot(M, dv, axes=([0, 1], [0, 1]))
        for bias, d in ((grads.b_o, dy), (grads.b_q, dq), (grads.b_v, dv)):
            bias += d.reshape(-1, d.shape[-1]).sum(axis=0)
        return dq.dot(self.W_q.T), dv.dot(self.W_v.T) + dk.dot(self.W_k.T)
    ''', "the gradient of the weights that were returned is not used at all"),
    Unseen("multi-head", '''
        X, M, joined, looked = cache
        each = np.stack([dweights / self.heads] * self.heads, axis=1)
        dheads = self.split(np.einsum("bto,do->btd", dy, self.W_o))
        dq, dk, dv = (self.join(one) for one in attention_backward(dheads, each, looked))
        q, k, v, A, scale = looked
        values = (A @ v).transpose(0, 2, 3, 1).reshape(joined.shape)
        grads.W_o += np.einsum("btd,bto->do", values, dy)
        grads.b_o += dy.sum((0, 1))
        grads.W_q += np.einsum("btn,btd->nd", X, dq)
        grads.b_q += dq.sum((0, 1))
        grads.W_k += np.einsum("bsn,bsd->nd", M, dk)
        grads.W_v += np.einsum("bsn,bsd->nd", M, dv)
        grads.b_v += dv.sum((0, 1))
        return dq @ self.W_q.T, dk @ self.W_k.T + dv @ self.W_v.T
    ''', "the heads' outputs are put together column by column, not head by head"),
    Unseen("multi-head", '''
        X, M, joined, looked = cache
        shares = dweights[:, None] / self.heads
        dparts = self.split(dy @ self.W_o.T)
        dq, dk, dv = map(self.join, attention_backward(dparts, shares, looked))
        grads.W_o += np.einsum("btd,bto->do", joined, dy)
        grads.b_o += dy.sum((0, 1))
        grads.W_q += np.einsum("btn,btd->nd", X, dq)
        grads.b_q += dq.mean(axis=1).sum(axis=0)
        grads.W_k += np.einsum("bsn,bsd->nd", M, dk)
        grads.W_v += np.einsum("bsn,bsd->nd", M, dv)
        grads.b_v += dv.mean(axis=1).sum(axis=0)
        return dq @ self.W_q.T, dk @ self.W_k.T + dv @ self.W_v.T
    ''', "the biases get a mean over the positions, not a sum"),
]
