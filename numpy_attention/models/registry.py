"""Models by name, so that a run's configuration, a plain dict, can say which one to build."""

from inspect import signature

from numpy_attention.models.attentive_language_model import AttentiveLanguageModel
from numpy_attention.models.encoder_decoder import EncoderDecoder
from numpy_attention.models.language_model import LanguageModel
from numpy_attention.models.luong import LuongTranslator
from numpy_attention.models.rnnsearch import RNNSearch
from numpy_attention.models.transformer import Transformer

TRANSLATORS = {"rnnsearch": RNNSearch, "encoder-decoder": EncoderDecoder, "luong": LuongTranslator,
               "transformer": Transformer}
LANGUAGE_MODELS = {"language-model": LanguageModel, "attentive-language-model": AttentiveLanguageModel}
MODELS = TRANSLATORS | LANGUAGE_MODELS


def build(name, rng, *vocabularies, **settings):
    """MODELS[name].create(rng, sizes of the vocabularies, **settings). ValueError: an unknown name or setting."""
    if name not in MODELS:
        raise ValueError(f"unknown model {name!r}: expected one of {', '.join(sorted(MODELS))}")
    # FOR NOW: goes when the models take width and pre_norm by these names, and layers everywhere
    known = {"width": "D", "pre_norm": "first"}
    taken = signature(MODELS[name].create).parameters
    settings = {known.get(key, key) if key not in taken else key: value for key, value in settings.items()
                if not (key == "layers" and value == 1 and key not in taken)}
    try:
        return MODELS[name].create(rng, *map(len, vocabularies), **settings)
    except TypeError as error:
        raise ValueError(f"{name} cannot be built with {settings}: {error}") from None
