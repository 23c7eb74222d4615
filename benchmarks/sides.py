"""The two sides of versus_pytorch.py, and the floor: functions that run one training step of a model.

    step = ours(size, threads, built)         built() is called when model and batch stand, before anything is trained
    step = theirs(size, threads, built)
    step = floor(size, threads, built)        the matrix products alone

step() → loss per token. A size is one of MODELS.
"""

import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]

# (a) Zaremba's small language model; (b) the same with Salton's combined attention over the window, 20 or 35 words;
# (e) a character model
ZAREMBA = dict(vocabulary=10000, hidden=200, layers=2, cell="lstm", steps=20, batch=20, attention=None)
MODELS = {
    "a": ZAREMBA,
    "b20": dict(ZAREMBA, attention="combined"),
    "b35": dict(ZAREMBA, attention="combined", steps=35),
    # (c) RNNsearch: GRU 256, V 8,000, batch 64, lengths 8 to 15
    "c": dict(vocabulary=8000, hidden=256, embedding=256, alignment=256, maxout=128, batch=64, low=8, high=15),
    "e": dict(vocabulary=65, hidden=128, layers=1, cell="gru", steps=50, batch=32, attention=None),
}
GATES = {"rnn": 1, "gru": 3, "lstm": 4}


def is_text(size):
    """A language model, whose state is carried from step to step; else a translator."""
    return "steps" in size


def rate_and_clip(size):
    """("sgd" or "adam", learning rate, largest norm of the gradient)."""
    if is_text(size):
        return ("sgd", 1.0, 5.0) if size["cell"] == "lstm" else ("adam", 2e-3, 5.0)
    return "adam", 1e-3, 1.0


def batch_of(size, rng):
    """The benchmark's batch: random words; for a translator lengths uniform between low and high, </s> beside."""
    from numpy_attention.data.batching import TextBatches, pair_batch
    V, B = size["vocabulary"], size["batch"]
    if is_text(size):
        batches = TextBatches(rng.integers(4, V, size["steps"] * B + 1), B, size["steps"])
        return batches.batch(0)
    lengths = rng.integers(size["low"], size["high"] + 1, B)
    sources, targets = ([list(rng.integers(4, V, n)) for n in lengths] for _ in range(2))
    return pair_batch(sources, targets)


# ---- this package -------------------------------------------------------------------------------------------------------

def our_model(size, rng):
    from numpy_attention.models.attentive_language_model import AttentiveLanguageModel
    from numpy_attention.models.language_model import LanguageModel
    from numpy_attention.models.rnnsearch import RNNSearch
    V, H = size["vocabulary"], size["hidden"]
    if not is_text(size):
        return RNNSearch.create(rng, V, V, size["embedding"], H, size["alignment"], size["maxout"],
                                readout="current", reset="after", update="old", init="modern")
    if size["attention"]:
        return AttentiveLanguageModel.create(rng, V, size["attention"], H, size["layers"], size["cell"], tied=False)
    return LanguageModel.create(rng, V, H, size["layers"], size["cell"])


def ours(size, threads, built):
    from numpy_attention.training.optimizers import SGD, Adam
    from numpy_attention.training.threads import Threads
    from numpy_attention.training.trainer import Trainer

    class OneBatch:
        order, batch, carried = staticmethod(lambda rng=None: [0]), staticmethod(lambda place: batch), \
            staticmethod(lambda position: is_text(size))

    rng = np.random.default_rng(0)
    batch, model = batch_of(size, rng), our_model(size, rng)
    model.vector                                                                    # packed
    optimizer, rate, clip = rate_and_clip(size)
    built()
    trainer = Trainer(model, {"sgd": SGD, "adam": Adam}[optimizer](rate), OneBatch, rng=rng, clip=clip, threads=threads,
                      progress=False)
    pool = Threads(threads).__enter__()
    twins = [model.zeros_like() for _ in range(threads)]
    return lambda: trainer.train_step(batch, pool, twins)[0] / batch.tokens


# ---- PyTorch, eager -----------------------------------------------------------------------------------------------------

def their_model(size):
    import torch
    from torch_language_model import TorchLanguageModel, TorchReader
    from torch_rnnsearch import TorchRNNSearch
    V, H = size["vocabulary"], size["hidden"]
    if not is_text(size):
        model = TorchRNNSearch(V, V, size["embedding"], H, size["alignment"], size["maxout"])
        torch.nn.init.normal_(model.v_a, std=0.1)
        return model
    reader = TorchReader(H, H, score=size["attention"], bias=True) if size["attention"] else None
    model = TorchLanguageModel(V, H, size["layers"], size["cell"], reader=reader)
    for parameter in model.parameters():
        torch.nn.init.uniform_(parameter, -0.1, 0.1)
    return model


def theirs(size, threads, built):
    import torch
    sys.path.insert(0, str(ROOT / "tests" / "parity"))
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    batch, model = batch_of(size, np.random.default_rng(0)), their_model(size)
    arrays = (batch.inputs, batch.targets) if is_text(size) else (batch.source, batch.target_in, batch.target_out)
    ids = [torch.as_tensor(array) for array in arrays]
    optimizer, rate, clip = rate_and_clip(size)
    built()
    optimizer = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam}[optimizer](model.parameters(), rate)
    state = None

    def step():
        nonlocal state
        optimizer.zero_grad(set_to_none=True)
        if is_text(size):
            loss, state = model.loss(*ids, state)
        else:
            loss = model.loss(*ids)
        (loss / batch.size).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        return loss.item() / batch.tokens
    return step


# ---- the matrix products of a step ----------------------------------------------------------------------------------------

def translator_products(size, threads):
    """(rows, inner, columns) of the products made once a step, of those made every time step, and of the weight
    gradients of the latter, made once; for the words that are no padding, the rows shared out among threads."""
    batch = batch_of(size, np.random.default_rng(0))
    H, E, A, L, V = (size[name] for name in ("hidden", "embedding", "alignment", "maxout", "vocabulary"))
    S, T, B = len(batch.source), len(batch.target_in), batch.size // threads
    read, written = int(batch.source_mask.sum()) // threads, batch.tokens // threads
    once = 2 * [(read, E, 3 * H)] + [(read, 2 * H, A), (written, E, 3 * H), (written, L, V)]
    once += [(written, rows, 2 * L) for rows in (H, E, 2 * H)]
    steps = S * 2 * [(B, H, 3 * H)] + T * [(B, H, 3 * H), (B, 2 * H, 3 * H), (B, H, A)]
    return once, steps, 2 * [(read, H, 3 * H)] + [(written, H, 3 * H), (written, 2 * H, 3 * H), (written, H, A)]


def text_products(size, threads):
    """The same for a language model; (B, T, T, H) are B products, the weights of each row by its states."""
    T, B, H, V, layers = (size[name] for name in ("steps", "batch", "hidden", "vocabulary", "layers"))
    B, gates = B // threads, GATES[size["cell"]] * H
    once = layers * [(T * B, H, gates)] + [(T * B, H, V)]
    if size["attention"]:
        once += 4 * [(T * B, H, H)] + [(B, T, T, H)]                  # W_s, W_q, W_x, W_r
    return once, T * layers * [(B, H, gates)], layers * [(T * B, H, gates)]


def floor(size, threads, built):
    from numpy_attention.training.threads import Threads
    once, steps, hoisted = (text_products if is_text(size) else translator_products)(size, threads)

    def pair(*shapes):
        return tuple(np.ones(shape, np.float32) for shape in shapes)

    forward = {(*b, n, k, m): pair((*b, n, k), (*b, k, m)) for *b, n, k, m in once + steps}
    back = {(*b, n, k, m): pair((*b, n, m), (*b, m, k)) for *b, n, k, m in once + steps}
    weight = {(*b, n, k, m): pair((*b, k, n), (*b, n, m)) for *b, n, k, m in once + hoisted}
    built()

    def products(k):
        for pairs, shapes in ((forward, once + steps), (back, once + steps), (weight, once + hoisted)):
            for shape in shapes:
                np.matmul(*pairs[shape])

    pool = Threads(threads).__enter__()
    return lambda: pool.map(products) and 0.0


SIDES = {"ours": ours, "theirs": theirs, "floor": floor}
