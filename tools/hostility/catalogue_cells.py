"""Right calls of the cells: of each in names.CELLS, and of what is made of them."""

from functools import partial

import numpy as np

from hostility.catalogue_layers import create, draw
from hostility.right_calls import Call, alike, array, integers, optional, whole
from numpy_attention.cells.bidirectional import Bidirectional
from numpy_attention.cells.gru import GRU
from numpy_attention.cells.rnn import RNN
from numpy_attention.cells.stacked import Stacked
from numpy_attention.names import CELLS, RESETS, UPDATES, find
from numpy_attention.trees import tree_map

LENGTHS = (4, 2, 1, 3, 4, 1)


def ragged(z):
    """A mask (T, B)."""
    return np.arange(z.T)[:, None] < np.resize(LENGTHS, z.B)


def state_like(rng, zero):
    return tree_map(lambda part: draw(rng, *part.shape), zero)


def is_state(like):
    """A test for what is made like this state, or None."""
    def test(value):
        if isinstance(like, tuple):
            return (type(value) is tuple and len(value) == len(like)
                    and all(is_state(one)(part) for one, part in zip(like, value)))
        return value is None or array(*like.shape)(value)
    return test


def complete(like):
    """The same without any None."""
    def test(value):
        if isinstance(like, tuple):
            return (type(value) is tuple and len(value) == len(like)
                    and all(complete(one)(part) for one, part in zip(like, value)))
        return array(*like.shape)(value)
    return test


def whole_sequence(rng, z, layer, zero, title):
    """forward and backward."""
    xs = draw(rng, z.T, z.B, z.I)
    state = state_like(rng, zero)
    mask = ragged(z)
    ys, last, cache = layer.forward(xs, state, mask)
    parts = is_state(state) if isinstance(state[0], tuple) or title == "Bidirectional" \
        else optional(complete(state))

    def forward(xs, state, mask):
        return layer.forward(xs, state, mask)[:2]

    def backward(dys, dstate, cache, grad):
        return layer.backward(dys, dstate, cache, grad), grad

    hidden = np.repeat(~mask[:, :, None], z.I, 2)
    return [
        Call(f"{title}.forward", forward, {"xs": xs, "state": state, "mask": mask},
             {"state": optional(parts), "mask": optional(array(z.T, z.B, dtype=bool))},
             {"xs": hidden}),
        Call(f"{title}.backward", backward,
             {"dys": np.ones_like(ys), "dstate": state_like(rng, last), "cache": cache,
              "grad": layer.zeros_like()},
             {"dys": optional(array(*ys.shape)), "dstate": optional(parts)}),
    ]


def by_steps(rng, z, cell, title):
    """What a decoder calls."""
    xs = draw(rng, z.T, z.B, z.I)
    state = state_like(rng, cell.zero_state(z.B))
    mask = ragged(z)

    def steps():
        made = cell.begin(cell.project(xs), state, mask)
        for t in range(z.T):
            cell.step(t, made)
        return made

    def begin(a, state, mask):
        made = cell.begin(a, state, mask)
        for t in range(len(a)):
            cell.step(t, made)
        return made.hs, cell.state(made, -1)

    def step(t, steps):
        cell.step(t, steps)
        return steps.hs, cell.state(steps, t + 1)

    def step_backward(t, dy, dstate, steps, dsteps):
        return cell.step_backward(t, dy, dstate, steps, dsteps), dsteps.a[t]

    def end_backward(steps, dsteps, grad):
        return cell.end_backward(steps, dsteps, grad), grad

    def project_backward(da, xs, grad):
        return cell.project_backward(da, xs, grad), grad

    def finished():
        made = steps()
        dsteps = cell.begin_backward(made)
        for t in reversed(range(z.T)):
            cell.step_backward(t, dy, state, made, dsteps)
        return made, dsteps

    def first_alike(grad):
        """All that the product of the first layer's input looks at."""
        return (type(grad) is type(cell) and grad is not cell
                and len(grad.cells) == len(cell.cells) and alike(grad.cells[0], cell.cells[0]))

    dy = draw(rng, z.B, cell.hidden_size)
    one, done = finished()
    place = lambda value: whole(0)(value) and value < z.T
    twins = {"t": place}

    def of_this_cell(given):
        """Steps of any number and batch: the cell sees its own sizes in them."""
        return type(given) is type(one) and len(given.a) > 1 and (
            given.a.shape[2] == cell.gates_size)

    return [
        Call(f"{title}.project", cell.project, {"xs": xs}, {"xs": array(None, None, z.I)}),
        Call(f"{title}.begin", begin, {"a": cell.project(xs), "state": state, "mask": mask},
             {"state": optional(is_state(state)) if isinstance(state[0], tuple)
              else optional(complete(state)),
              "mask": optional(array(z.T, z.B, dtype=bool))},
             {"a": np.repeat(~mask[:, :, None], cell.gates_size, 2)}),
        Call(f"{title}.step", step, {"t": 1, "steps": steps()},
             twins | {"steps": of_this_cell}),
        Call(f"{title}.zero_state", cell.zero_state, {"B": z.B}, {"B": whole(0)}),
        Call(f"{title}.step_backward", step_backward,
             {"t": 1, "dy": dy, "dstate": state_like(rng, state), "steps": steps(),
              "dsteps": cell.begin_backward(steps())}, twins),
        Call(f"{title}.end_backward", end_backward,
             {"steps": one, "dsteps": done, "grad": cell.zeros_like()}),
        Call(f"{title}.project_backward", project_backward,
             {"da": draw(rng, z.T, z.B, cell.gates_size), "xs": xs, "grad": cell.zeros_like()},
             {"grad": first_alike} if isinstance(cell, Stacked) else {}),
    ]


def cell_calls(kind, rng, z, **settings):
    title = " ".join([kind.__name__, *settings.values()])
    layer = kind.create(rng, z.I, z.H, **settings)
    return (whole_sequence(rng, z, layer, layer.zero_state(z.B), title)
            + by_steps(rng, z, layer, title)
            + [create(kind, {"inputs": z.I, "hidden": z.H}, settings)])


def bidirectional(rng, z):
    layer = Bidirectional(RNN.create(rng, z.I, z.H), GRU.create(rng, z.I, z.H))
    zero = layer.forward_cell.zero_state(z.B), layer.backward_cell.zero_state(z.B)
    return whole_sequence(rng, z, layer, zero, "Bidirectional")


def stacked(kind, rng, z):
    layer = Stacked.create(partial(kind.create, rng), (z.I, z.H, z.D), 0.3)
    title = f"Stacked {kind.__name__}"
    names = np.arange(z.T * z.B).reshape(z.T, z.B)
    xs = draw(rng, z.T, z.B, z.I)

    def dropped(xs, names, rng):
        return layer.forward(xs, None, None, rng, names)[:2]

    generator = optional(lambda value: isinstance(value, np.random.Generator))
    return (whole_sequence(rng, z, layer, layer.zero_state(z.B), title)
            + by_steps(rng, z, layer, title)
            + [Call(f"{title} dropped", dropped,
                    {"xs": xs, "names": names, "rng": np.random.default_rng(0)},
                    {"rng": generator, "names": optional(integers(z.T, z.B))}, {"xs": True})])


MAKERS = {"bidirectional": bidirectional}
for _name in CELLS:
    _kind = find("cell", _name, CELLS)
    MAKERS[_name] = partial(cell_calls, _kind)
    MAKERS[f"stacked {_name}"] = partial(stacked, _kind)
MAKERS |= {f"gru {reset} {update}": partial(cell_calls, GRU, reset=reset, update=update)
           for reset in RESETS for update in UPDATES}
