"""Laws that hold for every layer, cell, attention and model.

A test calls those that apply to its cases.

    backward_twice_doubles      grads double, and the input gradients are the same
    arguments_unchanged         upstream, cache and weights stay bit-identical, and the gradients
                                returned are fresh
    padding_changes_nothing     more padding gives the same outputs and gradients
    float32_agrees              forward and backward, within 1e-5 of each array's largest value, and
                                nothing upcasts
    shares_add_up               two shares of a batch give the gradient of the whole batch
    shares_and_padding          both laws for a whole model, called as in training
"""

from dataclasses import fields, is_dataclass, replace

import numpy as np


def leaves(value, name=""):
    """Yield (name, array) for every array in nested tuples, lists, dicts and dataclasses."""
    if isinstance(value, np.ndarray):
        yield name, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, f"{name}.{key}" if name else key)
    elif isinstance(value, (list, tuple)):
        for i, item in enumerate(value):
            yield from leaves(item, f"{name}[{i}]")
    elif is_dataclass(value):
        for field in fields(value):
            yield from leaves(getattr(value, field.name), f"{name}.{field.name}")


def upstream_of(outputs, seed=11):
    """Return a random gradient for each output, in its dtype and the same for equal shapes."""
    rng = np.random.default_rng(seed)

    def draw(value):
        if isinstance(value, (list, tuple)):
            return tuple(draw(item) for item in value)
        return None if value is None else rng.standard_normal(np.shape(value)).astype(value.dtype)
    return draw(outputs)


def run(case):
    """Run forward and backward of a `checks.Case`.

    → (outputs, upstream, cache, grads, input gradients)
    """
    *outputs, cache = case.forward(*case.inputs)
    upstream = upstream_of(outputs)
    grads = case.target.zeros_like()
    return outputs, upstream, cache, grads, case.backward(*upstream, cache, grads)


def assert_close(given, wanted, tolerance, what=""):
    """Assert that leaves are finite and within tolerance · max(1e-3, max|wanted|) of `wanted`."""
    given = dict(leaves(given))
    wanted = dict(leaves(wanted))
    assert given.keys() == wanted.keys()
    for name, array in wanted.items():
        assert given[name].shape == array.shape, f"{what}{name}"
        assert np.isfinite(given[name]).all(), f"{what}{name} is not finite"
        scale = max(np.abs(array).max(initial=0.0), 1e-3)
        error = np.abs(given[name].astype(np.float64) - array).max(initial=0.0) / scale
        assert error <= tolerance, (f"{what}{name} is off by {error:.1e} of its largest value, "
                                    f"allowed {tolerance:.0e}")


def backward_twice_doubles(case):
    _, upstream, cache, grads, first = run(case)
    once = grads.vector.copy()
    second = case.backward(*upstream, cache, grads)
    assert_close(grads.vector, 2 * once, 1e-12, "grads ")
    assert_close(second, first, 0, "the input gradient ")


def arguments_unchanged(case):
    *outputs, cache = case.forward(*case.inputs)
    upstream = upstream_of(outputs)
    grads = case.target.zeros_like()
    weights = dict(case.target.named_parameters())
    held = {"upstream": upstream, "cache": cache, "weights": weights, "inputs": case.inputs}
    before = {name: array.tobytes() for name, array in leaves(held)}
    dinputs = case.backward(*upstream, cache, grads)
    for name, array in leaves(held):
        assert array.tobytes() == before[name], f"backward changed {name}"
    for name, array in leaves(dinputs):
        for other, kept in leaves(held):
            shared = np.may_share_memory(array, kept)
            assert not shared, f"the input gradient {name} is a view of {other}"


def float32_agrees(build, tolerance=1e-5):
    """build(rng, dtype) → Case: the same numbers in both precisions.

    The seed avoids gradients that are small differences of large terms, whose rounding error
    depends on the order in which a BLAS adds them.
    """
    double = run(build(np.random.default_rng(6), np.float64))
    single = run(build(np.random.default_rng(6), np.float32))
    for what, i in (("output ", 0), ("grads ", 3), ("input gradient ", 4)):
        for name, array in leaves(single[i]):
            assert array.dtype == np.float32 or array.shape == (), f"{what}{name} is {array.dtype}"
        assert_close(single[i], double[i], tolerance, what)


def padding_changes_nothing(short, long, cut, tolerance=1e-12):
    """short, long: results (outputs, gradients) as nested arrays.

    cut slices the arrays of long to the shapes of short.
    """
    assert_close(cut(long), short, tolerance, "padded: ")


def shares_add_up(model, batch, n=2, seed=5, tolerance=1e-12):
    """share(0, n) + … + share(n − 1, n) give the loss and gradient of the batch, with dropout."""
    def loss_and_grad(parts):
        grads = model.zeros_like()
        loss = 0.0
        for part in parts:
            loss += model.loss_and_grad(part, None, 0.25, grads, np.random.default_rng(seed))[0]
        return np.array(loss), grads.vector

    parts = [batch.share(k, n) for k in range(n)]
    assert sum(part.tokens for part in parts) == batch.tokens
    assert_close(loss_and_grad(parts), loss_and_grad([batch]), tolerance, "shares: ")


def padded(batch, steps=2):
    """Return the batch with `steps` more time steps of padding in each (T, B) array."""
    longer = {}
    for field in fields(batch):
        ids = getattr(batch, field.name)
        if ids.ndim == 2:
            padding = np.zeros((steps, ids.shape[1]), ids.dtype)
            longer[field.name] = np.concatenate([ids, padding])
    return replace(batch, **longer)


def shares_and_padding(model, batch, seed=1):
    """Check both laws for loss, state and gradient of a whole model, with dropout on."""
    def result(batch):
        grads = model.zeros_like()
        loss, state = model.loss_and_grad(batch, None, 0.5, grads, np.random.default_rng(seed))
        return [np.array(loss), state, grads.vector]

    shares_add_up(model, batch)
    longer = padded(batch)
    assert longer.tokens == batch.tokens and longer.rows is batch.rows
    padding_changes_nothing(result(batch), result(longer), lambda r: r)
