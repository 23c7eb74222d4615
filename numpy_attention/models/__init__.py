"""Whole models: translators and language models.

`training/protocols.py` defines the methods that training needs, and `decoding/protocols.py` those
that decoding needs:

    loss, state = model.loss_and_grad(batch, state, scale, grads, rng)   grads += ∂(scale · Σ loss)
    loss, state = model.loss(batch, state)                                 no dropout

    state                     = model.start(source, source_mask)           source (S, B)
    log_probs, weights, state = model.next(tokens, state)                  (B,) → (B, V), (B, S)
"""

from numpy_attention.lazy import exports

_PUBLIC = {
    "RNNSearch": "rnnsearch",
    "HardRNNSearch": "hard_rnnsearch",
    "EncoderDecoder": "encoder_decoder",
    "LuongTranslator": "luong",
    "Transformer": "transformer",
    "LanguageModel": "language_model",
    "AttentiveLanguageModel": "attentive_language_model",
}

__all__ = list(_PUBLIC)
__getattr__, __dir__ = exports(__name__, _PUBLIC)
