"""What lessons 05 and 06 need besides what they teach: clauses, trainings, a shipped model."""

import hashlib
from collections import Counter
from pathlib import Path

import numpy as np

from numpy_attention.data.batching import pair_batch
from numpy_attention.data.datasets.corpora import load_parallel
from numpy_attention.data.vocabulary import SPECIAL_TOKENS
from numpy_attention.models.rnnsearch import RNNSearch
from numpy_attention.experiments.runs.saved import CHECKPOINT
from numpy_attention.experiments.runs.translator import Translator, TranslatorTraining
from numpy_attention.training.optimizers import Adam
from numpy_attention.training.schedules import LinearDecay
from numpy_attention.training.trainer import Trainer

SHIPPED = Path(__file__).resolve().parent / "checkpoints"
SUMS = SHIPPED / "SHA256SUMS"
# lesson 04's GRU (reset after, z on the old state), the word read from s_i, Glorot's weights
CELL = {"init": "modern", "reset": "after", "update": "old", "readout": "current"}
LONGEST = 8         # tokens of a clause
RARE = 15           # a word seen less often is not learnt


def trained_translator(pairs, name, settings, epochs, rate, seed=0, folder=None, look=None):
    """A Translator after some epochs of Adam, whose rate falls in a straight line.

    folder: where its run is kept. look: is called with the translator and the number of steps that
    it has made, before the first epoch and after each.
    """
    translator = Translator.create(pairs, name, settings | CELL, TranslatorTraining(seed=seed))
    batches = translator.batches(pairs)
    trainer = Trainer(translator.model, Adam(rate), batches, rng=np.random.default_rng(seed),
                      clip=1.0, threads=1, progress=False, about=translator.configuration(),
                      schedule=LinearDecay(epochs * len(batches), 0.05),
                      path=None if folder is None else folder / CHECKPOINT)
    for epoch in range(epochs + 1):
        trainer.fit(epoch)
        if look is not None:
            look(translator, trainer.step)
    translator.history = trainer.history
    return translator


# ---- lesson 05's measures ------------------------------------------------------------------------


def right_when_fed(translator, pairs, only_symbols=False):
    """For each pair, whether each of its target ids, </s> last, is the most likely: (T + 1,) bools.

    The decoder is fed the words before from the pair, not its own. only_symbols: the special ids,
    </s> among them, are left out of the choice.
    """
    found = []
    for pair in pairs:
        batch = translator.batches([pair]).batch([0])
        read_out, _, _ = translator.model.forward(batch)
        log_p = translator.model.output.log_probabilities(read_out)
        if only_symbols:
            log_p[:, :len(SPECIAL_TOKENS)] = -np.inf
        found.append(log_p.argmax(1) == batch.target_out[:, 0])
    return found


def fixed_vectors(translator, pairs):
    """The encoder's last state for each pair: (N, H). The sources have one length."""
    found = []
    for start in range(0, len(pairs), 1000):
        some = pairs[start:start + 1000]
        batch = translator.batches(some).batch(range(len(some)))
        memory, _, _ = translator.model.encode(batch.source, batch.source_mask)
        found.append(memory.values[:, -1].astype(float))
    return np.concatenate(found)


def with_symbols(c, pairs):
    """c (N, H), a constant, and for each position the columns of the 20 symbols, one of them 1."""
    symbols = np.array([pair.source for pair in pairs]).astype(int)
    return np.hstack([c, np.ones((len(c), 1)), np.eye(20)[symbols].reshape(len(c), -1)])


def fit_probes(c, pairs, earlier=True):
    """For each position, the linear map from c to its symbol: (inputs, 20), by least squares.

    earlier: the map also reads the symbols before the position.
    """
    known = with_symbols(c, pairs)
    products = known.T @ known
    probes = []
    for start in range(c.shape[1] + 1, known.shape[1], 20):
        inputs = start if earlier else c.shape[1] + 1
        ridge = 1e-6 * np.eye(inputs)       # the columns of a position add up to the constant
        probes.append(np.linalg.solve(products[:inputs, :inputs] + ridge,
                                      products[:inputs, start:start + 20]))
    return probes


def right_when_probed(probes, c, pairs):
    """For each pair, whether the probe of each position finds its symbol: (N, positions) bools."""
    known = with_symbols(c, pairs)
    symbols = np.array([pair.source for pair in pairs]).astype(int)
    return np.transpose([(known[:, :len(W)] @ W).argmax(1) == symbols[:, place]
                         for place, W in enumerate(probes)])


def right_when_combined(translator, probes, c, pairs):
    """As right_when_probed, with the decoder's log P added to 30 times the probe's outputs.

    On other training sequences, weights from 20 to 40 did about equally well.
    """
    ids = translator.target_vocabulary.encode([str(symbol) for symbol in range(20)])
    right = []
    for pair, known in zip(pairs, with_symbols(c, pairs)):
        log_p, _ = expects(translator, pair)
        right.append([(log_p[place, ids] + 30 * known[:len(W)] @ W).argmax() == int(symbol)
                      for place, (W, symbol) in enumerate(zip(probes, pair.source))])
    return np.array(right)


# ---- the Bible's clauses -------------------------------------------------------------------------


def bible_clauses():
    """Short clauses of bible-en-es whose words are all frequent: → to learn from, held out."""
    every, *others = (load_parallel("bible-en-es", split, part="clauses", max_length=LONGEST)
                      for split in ("train", "valid", "test"))
    counts = Counter(word for pair in every for word in words_of(pair))
    train = [pair for pair in every if all(counts[word] >= RARE for word in words_of(pair))]
    known = {word for pair in train for word in words_of(pair)}
    return train, [pair for part in others for pair in part if known.issuperset(words_of(pair))]


def words_of(pair):
    """Its words, each with its side."""
    return [(side, word) for side in ("source", "target") for word in getattr(pair, side)]


# ---- a model that ships --------------------------------------------------------------------------


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def shipped_translator(name):
    """The Translator in checkpoints/NAME. ValueError: its file is not the one that was shipped."""
    sums = dict(line.split()[::-1] for line in SUMS.read_text(encoding="utf-8").splitlines())
    file = f"{name}/{CHECKPOINT}"
    if digest(SHIPPED / file) != sums[file]:
        raise ValueError(f"{SHIPPED / file} is not what {SUMS.name} says: restore it, or make it "
                         "anew with tools/lessons.py checkpoint")
    return Translator.load(SHIPPED / name)


# ---- comparisons ---------------------------------------------------------------------------------


def check_same_translator(kind, rng):
    """Put an attention of this class into the library's RNNSearch, with its weights.

    → the loss with the library's attention, and with this. AssertionError: the losses or the
    gradients of a parameter differ.
    """
    model = RNNSearch.create(rng, 12, 12, embedding=5, hidden=8, dtype=np.float64, **CELL)
    own = model.copy()
    own.attention = kind(*(array.copy() for _, array in model.attention.named_parameters()))
    batch = pair_batch([[4, 5, 6, 7], [8, 9]], [[7, 6, 5, 4], [9, 8]])
    losses = []
    grads = []
    for one in (model, own):
        grads.append(one.zeros_like())
        loss, _ = one.loss_and_grad(batch, None, 1.0, grads[-1])
        losses.append(loss)
    assert np.isclose(*losses, rtol=1e-10), "the losses differ"
    for (name, theirs), (_, ours) in zip(*(one.named_parameters() for one in grads)):
        assert np.allclose(theirs, ours, rtol=1e-8, atol=1e-10), f"the gradient of {name} differs"
    return losses


# ---- lesson 06's test of surprise ----------------------------------------------------------------


def expects(translator, pair):
    """→ log P of all V words at each position (T + 1, V), fed the reference; ids of its words."""
    batch = translator.batches([pair]).batch([0])
    read_out, _, _ = translator.model.forward(batch)
    return translator.model.output.log_probabilities(read_out), batch.target_out[:, 0]


def diagonal_place(pair, t):
    """The source position at the same relative place as target position t."""
    steps = max(len(pair.target) - 1, 1)
    return (2 * t * (len(pair.source) - 1) + steps) // (2 * steps)
