"""The sides of versus_pytorch.py: functions that run one training step of a model.

    step = ours(size, threads, built)
    step = theirs(size, threads, built)             PyTorch, eager
    step = compiled(size, threads, built)           the same through torch.compile

built() is called after the model and the batch are created, before any training; step() → loss per
token. A size is one of MODELS. Each side imports its own library only when it is used. Other sides
have their own files: floor.py, jax_side.py, per_step.py.
"""

import atexit
from contextlib import ExitStack

import numpy as np
from machine import names_in

ZAREMBA = {
    "vocabulary": 10000, "hidden": 200, "layers": 2, "cell": "lstm", "attention": None,
    "steps": 20, "batch": 20,
}
TRANSLATOR = {"vocabulary": 8000, "hidden": 256, "batch": 64, "low": 15, "high": 15}

MODELS = {
    # Zaremba's small language model
    "a": ZAREMBA,
    # the same with Salton's combined attention over 20 or 35 words
    "b20": ZAREMBA | {"attention": "combined"},
    "b35": ZAREMBA | {"attention": "combined", "steps": 35},
    # RNNsearch on sentences of 8 to 15 words
    "c": TRANSLATOR | {
        "model": "rnnsearch", "embedding": 256, "alignment": 256, "maxout": 128, "low": 8,
    },
    # Luong's LSTM with dot attention and input feeding
    "d": TRANSLATOR | {"model": "luong", "embedding": 256},
    # a character-level language model
    "e": {
        "vocabulary": 65, "hidden": 128, "layers": 1, "cell": "gru", "attention": None,
        "steps": 50, "batch": 32,
    },
    # a Transformer
    "f": TRANSLATOR | {"model": "transformer", "layers": 2, "heads": 4, "inner": 1024},
}


def models_in(text, error):
    """Split a comma-separated text into names of models, where b means b20 and b35."""
    text = ",".join("b20,b35" if name == "b" else name for name in text.split(","))
    return names_in(text, MODELS, "model", error)


def is_text(size):
    """Return whether a size is that of a language model, not of a translator."""
    return "steps" in size


def rate_and_clip(size):
    """Return ("sgd" or "adam", learning rate, largest norm of the gradient)."""
    if not is_text(size):
        return "adam", 1e-3, 1.0
    if size["cell"] == "lstm":
        return "sgd", 1.0, 5.0
    return "adam", 2e-3, 5.0


def part(arrays, name):
    """Select the arrays of a part of a model from {name: array}, by their names in the part."""
    prefix = f"{name}."
    return {key.removeprefix(prefix): array for key, array in arrays.items()
            if key.startswith(prefix)}


def batch_of(size, rng):
    """Return a batch of random words. Sentences of a translator have `low` to `high` words.

    If the size has `written`, all targets have this number of words.
    """
    from numpy_attention.data.batching import TextBatches, pair_batch
    V = size["vocabulary"]
    B = size["batch"]
    if is_text(size):
        ids = rng.integers(4, V, size["steps"] * B + 1)
        return TextBatches(ids, B, size["steps"]).batch(0)
    lengths = rng.integers(size["low"], size["high"] + 1, B)
    sources = [list(rng.integers(4, V, n)) for n in lengths]
    written = [size["written"]] * B if "written" in size else lengths
    targets = [list(rng.integers(4, V, n)) for n in written]
    return pair_batch(sources, targets)


def arrays_of(size, batch):
    """Return the arrays of the batch that the loss of a model reads."""
    if is_text(size):
        return batch.inputs, batch.targets
    return batch.source, batch.target_in, batch.target_out


# ---- this package ------------------------------------------------------------------------------


def our_model(size, rng):
    if is_text(size):
        return our_language_model(size, rng)
    return our_translator(size, rng)


def our_language_model(size, rng):
    from numpy_attention.models.attentive_language_model import AttentiveLanguageModel
    from numpy_attention.models.language_model import LanguageModel
    V = size["vocabulary"]
    if size["attention"] is None:
        return LanguageModel.create(rng, V, size["hidden"], size["layers"], size["cell"])
    return AttentiveLanguageModel.create(
        rng, V, size["attention"], size["hidden"], size["layers"], size["cell"], tied=False)


def our_translator(size, rng):
    from numpy_attention.models.luong import LuongTranslator
    from numpy_attention.models.rnnsearch import RNNSearch
    from numpy_attention.models.transformer import Transformer
    V = size["vocabulary"]
    H = size["hidden"]
    if size["model"] == "rnnsearch":
        return RNNSearch.create(
            rng, V, V, size["embedding"], H, alignment=size["alignment"],
            maxout=size["maxout"], readout="current", reset="after", update="old", init="modern")
    if size["model"] == "luong":
        return LuongTranslator.create(rng, V, V, size["embedding"], H, layers=1, attention="dot")
    return Transformer.create(
        rng, V, V, H, size["layers"], size["heads"], size["inner"],
        pre_norm=True, dropout=0.0, smoothing=0.0)


class OneBatch:
    """Batches with a single batch."""

    def __init__(self, one):
        self.one = one

    def __len__(self):
        return 1

    def order(self, rng=None):
        return [0]

    def batch(self, place):
        return self.one

    def carried(self, place):
        return True


def our_trainer(size, threads, built, **more):
    """Return a Trainer with this total number of threads, and its batch. more: for Trainer."""
    from numpy_attention.training.optimizers import SGD, Adam
    from numpy_attention.training.trainer import Trainer
    rng = np.random.default_rng(0)
    batch = batch_of(size, rng)
    model = our_model(size, rng)
    model.vector                                    # packs the parameters
    name, rate, clip = rate_and_clip(size)
    optimizer = {"sgd": SGD, "adam": Adam}[name](rate)
    built()
    return Trainer(model, optimizer, OneBatch(batch), rng=rng, clip=clip, threads=threads,
                   progress=False, **more), batch


def our_step(trainer, batch):
    """Return a function that makes one step of a trainer and returns the loss per token."""
    opened = ExitStack()
    atexit.register(opened.close)
    pool, grads = opened.enter_context(trainer.workers())

    def step():
        rate = trainer.rate()
        pool.tell(0, 0, rate)
        loss, tokens = trainer.train_on(pool, grads, 0, 0, rate)
        return loss / tokens
    return step


def ours(size, threads, built):
    return our_step(*our_trainer(size, threads, built))


# ---- PyTorch -----------------------------------------------------------------------------------


def their_model(size):
    if is_text(size):
        return their_language_model(size)
    return their_translator(size)


def their_language_model(size):
    import torch
    from pytorch.torch_language_model import TorchLanguageModel, TorchReader
    H = size["hidden"]
    reader = None
    if size["attention"] is not None:
        reader = TorchReader(H, H, score=size["attention"], bias=True)
    model = TorchLanguageModel(
        size["vocabulary"], H, size["layers"], size["cell"], reader=reader)
    for parameter in model.parameters():
        torch.nn.init.uniform_(parameter, -0.1, 0.1)
    return model


def their_translator(size):
    import torch
    from pytorch.torch_luong import TorchLuong
    from pytorch.torch_rnnsearch import TorchRNNSearch
    from pytorch.torch_transformer import TorchTransformer
    V = size["vocabulary"]
    H = size["hidden"]
    if size["model"] == "transformer":
        return TorchTransformer(V, V, H, size["layers"], size["heads"], size["inner"])
    if size["model"] == "luong":
        return TorchLuong(V, V, size["embedding"], H)
    model = TorchRNNSearch(V, V, size["embedding"], H, size["alignment"], size["maxout"])
    torch.nn.init.normal_(model.v_a, std=0.1)
    return model


def theirs(size, threads, built, through=lambda loss: loss):
    """Return a training step. through: a function that transforms the loss, such as a compiler."""
    import torch
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    batch = batch_of(size, np.random.default_rng(0))
    model = their_model(size)
    ids = [torch.as_tensor(array) for array in arrays_of(size, batch)]
    name, rate, clip = rate_and_clip(size)
    built()
    optimizer = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam}[name](model.parameters(), rate)
    loss_of = through(model.loss)
    state = None

    def step():
        nonlocal state
        optimizer.zero_grad(set_to_none=True)
        if is_text(size):
            loss, state = loss_of(*ids, state)
        else:
            loss = loss_of(*ids)
        (loss / batch.size).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        return loss.item() / batch.tokens
    return step


def compiled(size, threads, built):
    """The same with torch.compile, which does not compile all modules, such as PyTorch's GRU."""
    import torch
    return theirs(size, threads, built, torch.compile)
