"""Models by name, so that a run's configuration, a plain dict, can say which one to build."""

from numpy_attention.names import LANGUAGE_MODELS, TRANSLATORS, find


def build(name, rng, *vocabularies, **settings):
    """The model's create(rng, sizes of the vocabularies, **settings).

    ValueError: an unknown name or setting.
    """
    model = find("model", name, TRANSLATORS | LANGUAGE_MODELS)
    try:
        return model.create(rng, *map(len, vocabularies), **settings)
    except TypeError as error:
        raise ValueError(f"{name} cannot be built with {settings}: {error}") from None
