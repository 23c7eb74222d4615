"""Small lessons for the tests of traces."""

from numpy_attention.course.trace.lessons import lesson_named, reference_of

HEAD = '''# %% [markdown]
# # A lesson

# %%
print("loud")
import numpy as np

rng = np.random.default_rng(0)

'''
PLAIN = '''# %% tags=["plain"]
class Plain:
    def __init__(self, w):
        self.w = w

    def forward(self, xs, h):
        """h_t = tanh(x_t + w h_{t−1})."""
        hs = [h]
        for x in xs:
            h = np.tanh(x + self.w * h)
            hs.append(h)
        return np.array(hs[1:]), (xs, hs)

    def backward(self, dhs, cache, grads):
        xs, hs = cache
        dxs = np.zeros_like(xs)
        dh = 0 * dhs[0]
        for t in reversed(range(len(xs))):
            dh = dh + dhs[t]
            da = dh * (1 - hs[t + 1]**2)
            dxs[t] = da
            dh = self.w * da
        return dxs, dh


'''
USE = '''# %%
plain = Plain(0.5)
xs = np.arange(6.0).reshape(3, 2) / 5
plain.forward(9 * xs, np.ones(2))
hs, cache = plain.forward(xs, np.zeros(2))
plain.backward(np.ones((3, 2)), cache, None)

'''
TRAINING = '''# %% tags=["training"]
raise RuntimeError("a lesson trains")
'''
# functions without a loop, one of them a helper
LINES = '''# %% tags=["plain"]
def softmax(e):
    a = np.exp(e - e.max())
    return a / a.sum()


def attend(q, X):
    e = X @ q
    alpha = softmax(e)
    return alpha @ X, (q, X, alpha)


def attend_backward(dc, cache):
    q, X, alpha = cache
    dalpha = X @ dc
    de = alpha * (dalpha - alpha @ dalpha)
    return X.T @ de


# %%
c, cache = attend(np.ones(2), np.eye(3)[:, :2])
attend_backward(np.ones(2), cache)
'''
# single steps, called one after the other from outside
STEPS = '''# %% tags=["plain"]
class Attention:
    def read(self, X):
        keys = X * 2
        return keys

    def step(self, q, keys, t):
        e = keys @ q
        return e, (q, keys)

    def step_backward(self, de, cache):
        q, keys = cache
        dq = keys.T @ de
        return dq

    def read_backward(self, dkeys):
        dX = dkeys * 2
        return dX


# %%
attention = Attention()
for again in range(2):
    keys = attention.read(np.eye(3)[:, :2] + again)
    steps = [attention.step(np.ones(2) * t, keys, t) for t in range(2)]
for e, cache in reversed(steps):
    attention.step_backward(e, cache)
attention.read_backward(keys)
'''
FOREVER = '''# %%
while True:
    attention.read(np.ones((1, 2)))
'''


def written(folder, name, *parts):
    """Write the file of a lesson."""
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.py"
    path.write_text("".join(parts), encoding="utf-8")
    return path


def reference_for(folder, *parts, name="01_small"):
    """Return the reference implementation in a lesson of these parts."""
    written(folder, name, *parts)
    return reference_of(lesson_named(name, folder))
