"""The plain forms of the lessons, each as a file of its own with the cases that check it.

A case is what `gradcheck` takes: target, inputs, forward, backward. The sizes all differ.
"""

import ast
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "lessons"

# the two passes of a lesson's whole translator: its backward adds to a twin, whatever dL is
TRANSLATORS = '''
def both(source, target, model):
    def loss():
        L, cache = forward(source, target, model)
        return np.array(L), cache

    def back(dL, cache, grads):
        backward(cache, model, one := model.zeros_like())
        grads.vector[...] += dL * one.vector
        return ()
    return model, (), loss, back
'''


@dataclass(frozen=True)
class Lesson:
    """names: of the functions and classes that are taken from it; cases: a text that defines
    cases(rng), which yields them."""

    file: str
    names: tuple[str, ...]
    cases: str

    @property
    def source(self):
        """Its plain form and the cases, with the imports that they need."""
        text = (FOLDER / f"{self.file}.py").read_text(encoding="utf-8")
        body = ast.parse(text).body
        taken = [node for node in body if getattr(node, "name", None) in self.names]
        cases = ast.parse(self.cases).body
        used = {one.id for node in taken + cases for one in ast.walk(node)
                if isinstance(one, ast.Name)}
        imports = [node for node in body if isinstance(node, (ast.Import, ast.ImportFrom))
                   and used & {one.asname or one.name for one in node.names}]
        return "\n".join(map(ast.unparse, imports + taken + cases))


LESSONS = [
    Lesson("01_gradients_by_hand", ("Bigram", "onehot"), '''
def cases(rng):
    model = randomize(Bigram(np.empty((5, 3)), np.empty((5, 3)), np.empty(5)), rng)
    yield model, rng.integers(5, size=(2, 7)), model.forward, model.backward
'''),
    Lesson("02_recurrent_network", ("PlainRNN",), '''
def cases(rng):
    cell = randomize(PlainRNN(np.empty((2, 5)), np.empty((5, 5)), np.empty(5)), rng)
    xs, first = rng.standard_normal((6, 3, 2)), rng.standard_normal((3, 5))
    yield cell, (xs, first), cell.forward, cell.backward
'''),
    Lesson("03_lstm", ("PlainLSTM", "sigmoid"), '''
def cases(rng):
    cell = randomize(PlainLSTM(np.empty((2, 20)), np.empty((5, 20)), np.empty(20)), rng)
    xs, state = rng.standard_normal((4, 3, 2)), tuple(rng.standard_normal((2, 3, 5)))
    yield cell, (xs, state), cell.forward, cell.backward
'''),
    Lesson("04_gru", ("PlainGRU", "sigmoid", "see", "see_backward"), '''
def cases(rng):
    xs, first = rng.standard_normal((4, 3, 2)), rng.standard_normal((3, 5))
    mask = np.arange(4)[:, None] < np.array([4, 2, 3])
    for reset, b_n in (("after", np.empty(5)), ("before", None)):
        for update in ("old", "new"):
            cell = PlainGRU(np.empty((2, 15)), np.empty((5, 15)), np.empty(15), b_n, reset, update)
            yield randomize(cell, rng), (xs, first, mask), cell.forward, cell.backward
'''),
    Lesson("11_attentive_language_model", ("PlainReader", "softmax"), '''
def cases(rng):
    h, mask = rng.standard_normal((6, 3, 4)), np.arange(6)[:, None] < np.array([6, 3, 5])
    shapes = (4, 5), (4, 5), (5,), (4, 7), (4, 7), (7,)
    reader = PlainReader(*(rng.standard_normal(shape) for shape in shapes))
    yield reader, (h, mask), reader.forward, reader.backward
'''),
    Lesson("12_key_value_predict", ("softmax", "PlainReader", "PlainNGram"), '''
def cases(rng):
    shapes = (4, 4), (4, 4), (4,), (4, 5), (4, 5)
    readers = [PlainReader(*(rng.standard_normal(shape) for shape in shapes), roles, 3)
               for roles in (1, 2, 3)]
    for one, size in zip([*readers, PlainNGram(rng.standard_normal((12, 5)))], (4, 8, 12, 12)):
        yield one, (rng.standard_normal((9, size)),), one.forward, one.backward
'''),
    Lesson("05_encoder_decoder", (
        "sigmoid", "gru", "gru_backward", "read_out", "read_out_backward", "forward",
        "word_backward", "backward"), TRANSLATORS + '''
def cases(rng):
    model = EncoderDecoder.create(
        rng, 8, 9, embedding=3, hidden=4, maxout=2, dtype=np.float64, readout="current",
        reset="after", update="old", init="modern")
    yield both([4, 6, 5, 6, EOS], [5, 8, 7, 5, 4, EOS], randomize(model, rng, 0.8))
'''),
    Lesson("06_additive_attention", ("softmax", "PlainAttention"), '''
def cases(rng):
    attention = PlainAttention(*(rng.standard_normal(shape) for shape in ((3, 6), (4, 6), (6,))))
    mask = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]], bool)
    inputs = rng.standard_normal((7, 2, 3)), rng.standard_normal((2, 5, 4))
    yield attention, inputs, *protocol(attention, mask)
'''),
    Lesson("07_luong_attention", (
        "softmax", "general", "general_backward", "concat", "concat_backward", "location",
        "location_backward", "windowed", "local_p", "local_p_backward", "PlainDecoder"), '''
D = 2

def pair(forward, backward, *inputs):
    return None, inputs, forward, lambda *given: backward(*given[:-1])

def cases(rng):
    h, M = rng.standard_normal(3), rng.standard_normal((6, 4))
    yield pair(general, general_backward, h, M, rng.standard_normal((3, 4)))
    weights = [rng.standard_normal(shape) for shape in ((3, 5), (4, 5), (5,))]
    yield pair(concat, concat_backward, h, M, *weights)
    yield pair(location, location_backward, h, M, rng.standard_normal((3, 8)))
    weights = [rng.standard_normal(shape) for shape in ((4,), (6, 4), (4, 5), (5,))]
    yield pair(local_p, local_p_backward, *weights)
    shapes = (3, 6), (6, 6), (6,), (7, 6), (6, 7), (6, 7)
    decoder = PlainDecoder(*(0.5 * rng.standard_normal(shape) for shape in shapes))
    inputs = [rng.standard_normal(shape) for shape in ((4, 2, 3), (2, 6), (2, 5, 6))]
    mask = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]], bool)
    yield decoder, (*inputs, mask), decoder.forward, decoder.backward
'''),
    Lesson("08_scaled_dot_product", (
        "softmax", "attention", "attention_backward", "one_head", "one_head_backward",
        "PlainMultiHead"), '''
def cases(rng):
    visible = rng.random((2, 4, 5)) < 0.7
    visible[:, :, 0] = True
    q, k, v = (rng.standard_normal(shape) for shape in ((2, 4, 6), (2, 5, 6), (2, 5, 7)))
    yield (None, (q, k, v, visible), attention,
           lambda dY, dA, cache, grads: attention_backward(dY, dA, cache))
    shapes = (3, 6), (6,), (7, 6), (7, 6), (6,), (6, 8), (8,)
    weights = [rng.standard_normal(shape) for shape in shapes]
    X, M = rng.standard_normal((4, 3)), rng.standard_normal((5, 7))
    yield None, (X, M, *weights), one_head, one_head_backward
    layer = PlainMultiHead(*weights, 3)
    yield (layer, (rng.standard_normal((2, 4, 3)), v), lambda X, M: layer.forward(X, M, visible),
           layer.backward)
'''),
    Lesson("09_transformer", (
        "PlainNorm", "PlainHead", "softmax", "look", "attend_backward", "PlainHeads", "matrix",
        "new_heads", "PlainFeedForward", "PlainEncoderLayer", "PreNormLayer", "new_layer",
        "PlainDecoderLayer", "decode", "decode_backward"), '''
def cases(rng):
    x, m = rng.standard_normal((5, 6)), rng.standard_normal((3, 6))
    heads = randomize(new_heads(rng, 6, 2), rng)
    visible = rng.random((5, 3)) < [1, 0.5, 0.5]
    yield heads, (x, m, visible), heads.forward, heads.backward
    for kind in (PlainEncoderLayer, PreNormLayer):
        layer = randomize(new_layer(kind, rng, 6, 8, 2), rng)
        yield layer, (x,), layer.forward, layer.backward
    more = new_heads(rng, 6, 3), PlainNorm(np.ones(6), np.zeros(6))
    layer = randomize(new_layer(PlainDecoderLayer, rng, 6, 8, 2, *more), rng)
    yield (layer, (x, m), lambda x, m: decode(layer, x, m),
           lambda dout, cache, grads: decode_backward(dout, layer, cache, grads))
'''),
    Lesson("13_your_own_mechanism", ("Nearness",), '''
def cases(rng):
    attention = randomize(Nearness(np.empty((4, 3)), np.empty(1)), rng)
    mask = np.array([[1, 1, 1, 1, 1, 1], [1, 1, 1, 0, 0, 0]], bool)
    inputs = rng.standard_normal((5, 2, 3)), rng.standard_normal((2, 6, 4))
    yield attention, inputs, *protocol(attention, mask)
'''),
]
