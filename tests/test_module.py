"""Module: parameter names, tied parameters, gradients, and the flat vector behind the fields."""

import copy
import pickle
from dataclasses import dataclass

import numpy as np
import pytest

from numpy_attention.layers.embedding import Embedding
from numpy_attention.layers.layer_norm import LayerNorm
from numpy_attention.layers.linear import Linear
from numpy_attention.layers.output import Output
from numpy_attention.module import Array, Module


@dataclass(eq=False)
class Model(Module):
    words: Embedding
    layers: list
    output: Output
    scale: Array
    rate: float = 0.5


def tied(dtype=np.float64):
    rng = np.random.default_rng(0)
    words = Embedding.create(rng, 5, 3, dtype=dtype)
    first = Linear.create(rng, 3, 4, dtype=dtype)
    second = Linear.create(rng, 4, 3, bias=False, dtype=dtype)
    output = Output.create(rng, 3, 5, dtype=dtype, words=words)
    return Model(words, [first, (second,)], output, np.ones(2, dtype))


def names(module):
    return [name for name, _ in module.named_parameters()]


def test_named_parameters_lists_tied_arrays_once():
    model = tied()
    assert names(model) == ["scale", "words.E", "layers.0.W", "layers.0.b", "layers.1.0.W",
                            "output.b"]
    assert model.ties() == [("output.words", "words")]
    parts = [name for name, _ in model.modules()]
    assert parts == ["", "words", "layers.0", "layers.1.0", "output"]
    assert model.size == 2 + 15 + 12 + 4 + 12 + 5 and model.dtype == np.float64


def test_array_shared_outside_a_module_raises():
    array = np.ones(2)
    with pytest.raises(ValueError, match="^g and b are the same array; .*share a Module"):
        list(LayerNorm(array, array).named_parameters())


def test_array_in_a_list_raises():
    model = Model(None, [np.ones(2)], None, np.ones(2))
    with pytest.raises(TypeError, match=r"layers.0 is an array in a list"):
        list(model.named_parameters())


def test_mixed_dtypes_raise():
    with pytest.raises(ValueError, match="^scale has dtype float32 and .*; expected"):
        Model(None, [Linear(np.ones((2, 3)), None)], None, np.ones(2, np.float32)).vector


def test_fields_are_views_of_the_vector():
    model = tied()
    before = {name: array.copy() for name, array in model.named_parameters()}
    vector = model.vector
    assert vector is model.vector and vector.size == model.size
    for name, array in model.named_parameters():
        assert np.shares_memory(array, vector) and (array == before[name]).all()
    assert model.output.words.E is model.words.E
    vector *= 2
    assert (model.words.E == 2 * before["words.E"]).all()
    joined = np.concatenate([array.ravel() for _, array in model.named_parameters()])
    assert (vector == joined).all()                     # names and vector have the same order


def test_assigning_to_a_packed_field_copies_into_the_vector():
    model = tied()
    vector = model.vector
    field = model.layers[0].b
    model.layers[0].b = np.arange(4.0)
    assert model.layers[0].b is field and (field == np.arange(4)).all()
    assert np.shares_memory(field, vector)
    model.scale += 1                            # in place: the same array is assigned back
    assert (model.scale == 2).all() and np.shares_memory(model.scale, vector)
    for wrong in (np.zeros(3), np.zeros(4, np.float32), None, [0.0] * 4):
        with pytest.raises(ValueError, match=r"expected a float64 array of shape \(4,\)"):
            model.layers[0].b = wrong
    with pytest.raises(ValueError, match="once `vector` has been used"):
        model.words = Embedding.create(np.random.default_rng(1), 5, 3, dtype=np.float64)
    with pytest.raises(ValueError, match="once `vector` has been used"):
        model.rate = np.zeros(2)
    model.rate = 0.1
    assert model.rate == 0.1
    model.vector -= 1                           # in place, too
    with pytest.raises(AttributeError, match="vector is computed and cannot be set; .* write into"):
        model.vector = vector.copy()


def test_submodule_of_a_packed_model_has_no_vector():
    model = tied()
    assert model.vector.size
    with pytest.raises(RuntimeError, match="already in the vector of another model"):
        model.words.vector
    assert model.words.copy().vector.size == 15


def test_submodule_of_a_packed_model_cannot_join_another_model():
    first = tied()
    vector = first.vector
    second = Model(first.words, [], Output(first.words, np.zeros(5)), np.ones(2))
    message = r"^the parameters of words \(Embedding\) are already in the .* copy\(\) of the module"
    with pytest.raises(RuntimeError, match=message):
        second.vector
    assert np.shares_memory(first.words.E, vector) and "_packed" not in second.__dict__
    assert second.zeros_like().vector.size == second.size          # the gradients share nothing
    second.words = first.words.copy()
    second.output.words = second.words
    assert second.vector.size == second.size


def test_packed_model_can_become_a_submodule():
    inner = tied()
    assert inner.vector.size
    outer = Model(None, [inner], None, np.ones(2))
    assert outer.vector.size == inner.size + 2 and np.shares_memory(inner.words.E, outer.vector)
    with pytest.raises(RuntimeError, match="already in the vector of another model"):
        inner.vector
    assert (outer.copy().vector == outer.vector).all()


def test_lists_of_a_packed_model_become_tuples():
    model = tied()
    layers = model.layers
    assert isinstance(layers, list) and model.vector.size
    assert model.layers == tuple(layers) and isinstance(model.layers[1], tuple)
    with pytest.raises(TypeError):
        model.layers[0] = layers[0].copy()
    with pytest.raises(AttributeError):
        model.layers.append(layers[0].copy())
    with pytest.raises(ValueError, match="once `vector` has been used"):
        model.layers = layers
    layers[0] = None                                                # no longer the model's list
    assert model.layers[0] is not None and model.size == model.vector.size
    assert isinstance(model.zeros_like().layers, tuple) and isinstance(model.copy().layers, tuple)


@pytest.mark.parametrize("again", [
    copy.deepcopy,
    lambda model: pickle.loads(pickle.dumps(model)),
    Model.copy,
])
@pytest.mark.parametrize("packed", [False, True])
def test_copies_keep_fields_as_views_of_their_vector(again, packed):
    model = tied()
    if packed:
        model.vector
    clone = again(model)
    assert names(clone) == names(model) and clone.output.words is clone.words and clone.rate == 0.5
    for (_, one), (_, other) in zip(model.named_parameters(), clone.named_parameters()):
        assert (one == other).all()
    before = model.words.E.copy()
    clone.words.E[:] = 9
    assert (clone.vector[2:17] == 9).all() and (model.words.E == before).all()
    clone.vector[:] = 3
    assert (clone.layers[0].W == 3).all() and (model.words.E == before).all()


def test_deepcopy_of_a_submodule_and_shallow_copy():
    model = tied()
    assert model.vector.size
    part = copy.deepcopy(model.words)
    part.vector[:] = 9
    assert (part.E == 9).all() and model.words.E.max() < 9
    shallow = copy.copy(model)
    with pytest.raises(RuntimeError, match=r"words \(Embedding\) are already in"):
        shallow.vector
    assert np.shares_memory(model.words.E, model.vector)


def test_zeros_like_is_tied_and_packed():
    model = tied()
    grads = model.zeros_like()
    assert type(grads) is Model and names(grads) == names(model) and grads.rate == 0.5
    assert not grads.vector.any() and grads.vector.shape == model.vector.shape
    assert grads.vector.dtype == model.dtype
    assert grads.output.words is grads.words and isinstance(grads.layers[1], tuple)
    grads.words.E += 1
    grads.output.words.E += 1
    assert grads.vector.sum() == 2 * 15                                 # two uses, one array
    assert model.words.E.max() < 1


def test_module_without_parameters_has_empty_grads():
    from numpy_attention.layers.maxout import Maxout
    assert Maxout().zeros_like().vector.size == 0
    with pytest.raises(ValueError, match="no parameter"):
        Maxout().dtype


def test_copies_are_independent_and_packed_like_the_original():
    loose = tied()
    packed = tied()
    packed.vector
    for model in (loose, packed):
        clone = model.copy()
        assert ("_vector" in clone.__dict__) == ("_vector" in model.__dict__)
        assert clone.output.words is clone.words and (clone.vector == model.copy().vector).all()
        clone.words.E[:] = 7
        assert model.words.E.max() < 7
    assert loose.words.E.base is None                   # copying packs the copies, not the model


def test_astype_keeps_values_and_ties():
    model = tied(np.float32)
    double = model.astype(np.float64)
    assert double.dtype == np.float64 and double.output.words is double.words
    assert (double.words.E == model.words.E).all()


def test_load_requires_exactly_the_same_parameters():
    model = tied()
    other = tied()
    other.vector[:] = 3
    model.load(dict(other.named_parameters()))
    assert (model.vector == 3).all()
    number = Model(None, [], None, np.array(2.0))                   # a parameter without axes
    number.load({"scale": np.array(3.0)})
    assert number.vector == [3]
    parameters = dict(other.named_parameters())
    for change, message in (
        ({"words.E": np.zeros((5, 2))}, r"words.E has shape \(5, 2\); expected \(5, 3\)"),
        ({"more": np.zeros(1)}, r"unknown 'more'"),
    ):
        with pytest.raises(ValueError, match=message):
            model.load(parameters | change)
    for wrong, message in (([1.0, 1.0], "scale is a list; expected a NumPy array"),
                           (np.array(["a", "b"]), "scale has dtype <U1; expected float32")):
        with pytest.raises(TypeError, match=message):
            model.load(parameters | {"scale": wrong})
    with pytest.raises(TypeError, match="^parameters is .*; expected a dict of arrays by dot"):
        model.load(list(parameters))
    del parameters["scale"]
    with pytest.raises(ValueError, match=r"missing 'scale'"):
        model.load(parameters)
    assert (model.vector == 3).all()                                # a failed load changes nothing


def test_repr_shows_names_shapes_counts_and_ties():
    text = repr(tied())
    assert text.startswith("Model: 50 parameters\n")
    assert any(line.split() == ["words.E", "(5,", "3)", "15"] for line in text.splitlines())
    assert "output.words is tied to words" in text
