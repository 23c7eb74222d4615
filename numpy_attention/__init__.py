"""Attention, understood by building it: NumPy, hand-written gradients, real text.

Vectors are rows: the paper's `W q` is `q @ W`, and a batch of B vectors is an array (B, Q).
Sequences are time-major (T, B, I), what attention reads is batch-major (B, S, D), and a mask is
boolean, True where there is a token. `dx` is ∂L/∂x, and `grads.W`, in the gradient twin of a model,
∂L/∂W.

One table of letters, for shapes in comments, docstrings and errors of the whole package:

    B  batch: sentences or streams of text side by side
    T  steps of a sequence, in a translator those of the target
    S  positions that attention can look at: the source's, or the past's
    N  rows of any kind: leading axes as one, words without padding
    V  vocabulary
    E  embedding of a word
    I  inputs of a layer or cell
    O  outputs of a layer
    H  hidden state of a cell
    G  gates · H, all pre-activations of a cell side by side
    D  values that attention averages, annotations; the size of a Transformer
    Q  query
    A  what a score adds up over: of the layer in which query and key meet
    P  the layer in which local-p predicts its position
    K  what the output layer reads
    M  states that a language model carries on to the next batch
    L  layers

`…` stands for any leading axes. A letter of a paper that means something else in one file alone, as
`l` in Bahdanau's maxout, is explained there.
"""

__version__ = "1.0.0"
