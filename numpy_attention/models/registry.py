"""Models by name, so that a run's configuration, a plain dict, can say which one to build."""

from inspect import Parameter, signature

from numpy_attention.names import LANGUAGE_MODELS, TRANSLATORS, find

# parameters of `create` that are no settings of a run's configuration
NO_SETTINGS = ("rng", "source_vocabulary", "target_vocabulary", "vocabulary", "dtype")


def model_of(name):
    """The class of a model. ValueError: an unknown name."""
    return find("model", name, TRANSLATORS | LANGUAGE_MODELS)


def build(name, rng, *vocabularies, **settings):
    """The model's create(rng, sizes of the vocabularies, **settings).

    ValueError: an unknown name or setting.
    """
    model = model_of(name)
    try:
        return model.create(rng, *map(len, vocabularies), **settings)
    except TypeError as error:
        raise ValueError(f"{name} cannot be built with {settings}: {error}") from None


def settings_of(name):
    """{setting: its default} of a model's `create`, those that it passes on included."""
    model = model_of(name)
    asked = dict(signature(model.create).parameters)
    if model.passes_on is not None:
        asked = {**signature(model.passes_on).parameters, **asked}
    return {one: parameter.default for one, parameter in asked.items()
            if one not in NO_SETTINGS and parameter.kind is not Parameter.VAR_KEYWORD}
