"""The two sides of versus_pytorch.py: functions that run one training step of a model.

    step = ours(size, threads, built)         built() is called when model and batch stand, before anything is trained
    step = theirs(size, threads, built)

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
    "c": dict(model="rnnsearch", vocabulary=8000, hidden=256, embedding=256, alignment=256, maxout=128, batch=64, low=8,
              high=15),
    # V 8,000, batch 64, length 15: (d) Luong's LSTM with dot attention and input feeding, (f) a Transformer
    "d": dict(model="luong", vocabulary=8000, hidden=256, embedding=256, batch=64, low=15, high=15),
    "f": dict(model="transformer", vocabulary=8000, hidden=256, layers=2, heads=4, inner=1024, batch=64, low=15, high=15),
    "e": dict(vocabulary=65, hidden=128, layers=1, cell="gru", steps=50, batch=32, attention=None),
}


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
    from numpy_attention.models.luong import LuongTranslator
    from numpy_attention.models.rnnsearch import RNNSearch
    from numpy_attention.models.transformer import Transformer
    V, H = size["vocabulary"], size["hidden"]
    if not is_text(size):
        return {"rnnsearch": lambda: RNNSearch.create(rng, V, V, size["embedding"], H, size["alignment"], size["maxout"],
                                                      readout="current", reset="after", update="old", init="modern"),
                "luong": lambda: LuongTranslator.create(rng, V, V, size["embedding"], H, layers=1, attention="dot"),
                "transformer": lambda: Transformer.create(rng, V, V, H, size["layers"], size["heads"], size["inner"],
                                                          pre_norm=True, dropout=0.0, smoothing=0.0)}[size["model"]]()
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
    from torch_luong import TorchLuong
    from torch_rnnsearch import TorchRNNSearch
    from torch_transformer import TorchTransformer
    V, H = size["vocabulary"], size["hidden"]
    if size.get("model") == "transformer":
        return TorchTransformer(V, V, H, size["layers"], size["heads"], size["inner"])
    if size.get("model") == "luong":
        return TorchLuong(V, V, size["embedding"], H)
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
