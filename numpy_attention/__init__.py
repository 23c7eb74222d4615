"""Attention mechanisms in NumPy, with every gradient written by hand.

Train a translator on a corpus that ships with the package, translate, and draw its attention:

    import numpy_attention as na

    pairs = na.load_corpus("bible-en-es", "train", max_length=7)
    training = na.TranslatorTraining(epochs=4, learning_rate=0.005, max_vocabulary=2000)
    translator = na.Translator.create(pairs, "rnnsearch", {"hidden": 64, "embedding": 64}, training)
    translator.fit(pairs)
    translation, = translator.translate([["in", "the", "beginning"]])
    print(translation.target)
    na.save(translation.heatmap(), "attention.png")

Every layer and model has `create`, `forward` and `backward`. `na.gradcheck` compares a backward
pass with central differences and, if it can trace the code, names the first wrong line. Names are
imported when they are first used.

Conventions: vectors are rows, so that a paper's `W q` is `q @ W`, and a batch of B vectors is an
array (B, Q). Sequences are time-major (T, B, I). The memory of an attention is
batch-major (B, S, D). A mask is boolean and True where there is a token. `dx` is ∂L/∂x. The
gradient of a model is a model of the same structure, in which `grads.W` is ∂L/∂W.

Shapes in comments, docstrings and errors use one table of letters:

    B  batch: sentences or streams of text
    T  steps of a sequence, in a translator those of the target
    S  positions of a memory: those of the source, or of the past
    N  rows of any kind: leading axes merged into one, words without padding
    V  vocabulary
    E  embedding of a word
    I  inputs of a layer or cell
    O  outputs of a layer
    H  hidden state of a cell
    G  gates · H, all pre-activations of a cell side by side
    D  values (annotations) that attention averages; in a Transformer, its size
    Q  query
    A  hidden layer of a score, to which query and key are projected
    P  hidden layer from which local-p predicts a position
    K  input of the output layer
    M  states that a language model carries on to the next batch
    L  layers

`…` stands for any leading axes. A file that uses a paper's letter in another sense, such as `l` in
Bahdanau's maxout, explains that letter.
"""

from numpy_attention import moved  # noqa: F401  registers the module paths of version 1.0
from numpy_attention.lazy import exports

__version__ = "1.1.0"

# name: the module that defines it, imported when the name is first used
_PUBLIC = {
    # cells
    "RNN": "cells.rnn",
    "LSTM": "cells.lstm",
    "GRU": "cells.gru",
    "Stacked": "cells.stacked",
    "Bidirectional": "cells.bidirectional",
    # layers
    "Module": "module",
    "Linear": "layers.linear",
    "Embedding": "layers.embedding",
    "Dropout": "layers.dropout",
    "LayerNorm": "layers.layer_norm",
    "Output": "layers.output",
    # attention
    "Memory": "attention.memory",
    "DotAttention": "attention.dot",
    "GeneralAttention": "attention.general",
    "AdditiveAttention": "attention.additive",
    "LocationAttention": "attention.location",
    "LocalMonotonic": "attention.local",
    "LocalPredictive": "attention.local",
    "ScaledDotProductAttention": "attention.scaled_dot",
    "MultiHeadAttention": "attention.multi_head",
    "KeyValueReadout": "attention.key_value",
    "NGramReadout": "attention.ngram",
    # models
    "RNNSearch": "models.rnnsearch",
    "EncoderDecoder": "models.encoder_decoder",
    "LuongTranslator": "models.luong",
    "Transformer": "models.transformer",
    "LanguageModel": "models.language_model",
    "AttentiveLanguageModel": "models.attentive_language_model",
    # text, training and use
    "load_corpus": "data.datasets.corpora",
    "Pair": "data.pairs",
    "Text": "data.running_text",
    "Vocabulary": "data.vocabulary",
    "Trainer": "training.trainer",
    "SGD": "training.optimizers",
    "Adam": "training.optimizers",
    "Adadelta": "training.optimizers",
    "beam_search": "decoding.beam",
    "Translator": "experiments.runs.translator",
    "TranslatorTraining": "training.settings",
    "LanguageModelRun": "experiments.runs.language_model_run",
    "LanguageModelTraining": "training.settings",
    # checks and pictures
    "gradcheck": "gradcheck",
    "numeric_gradient": "gradcheck",
    "attention_heatmap": "plotting",
    "learning_curves": "plotting",
    "save": "plotting",
}

__all__ = list(_PUBLIC)
__getattr__, __dir__ = exports(
    __name__, _PUBLIC | {"RNNsearch": "models.rnnsearch:RNNSearch"})        # the paper's spelling
