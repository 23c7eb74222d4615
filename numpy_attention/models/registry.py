"""Models by name. The configuration of a run is a plain dict with a name and settings."""

from inspect import Parameter, signature

from numpy_attention.lazy import nearest
from numpy_attention.registry import LANGUAGE_MODELS, TRANSLATORS, resolve
from numpy_attention.validation.arguments import check_methods
from numpy_attention.validation.messages import short_repr

VARIABLE = Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD
# parameters of `create` that are not settings of a run's configuration
NO_SETTINGS = ("rng", "source_vocabulary", "target_vocabulary", "vocabulary", "dtype")


def model_of(name):
    """Return the class of the model `name`. Raises ValueError for an unknown name."""
    return resolve("model", name, TRANSLATORS | LANGUAGE_MODELS)


def build(name, rng, *vocabularies, **settings):
    """Build the model `name`, with settings that are arguments of its `create`.

    vocabularies: source and target for a translator, one for a language model. Only their sizes are
    used, so a range can replace a Vocabulary. Raises ValueError for an unknown name or setting, or
    a wrong number of vocabularies.
    """
    model = model_of(name)
    check_settings(name, settings)
    for vocabulary in vocabularies:
        if not isinstance(vocabulary, range):
            check_methods("a vocabulary", vocabulary, "a range, or a Vocabulary", "encode",
                          "places")
    wanted = 2 if name in TRANSLATORS else 1
    if len(vocabularies) != wanted:
        raise ValueError(f"the number of vocabularies is {len(vocabularies)}; {name} needs "
                         f"{wanted}")
    return model.create(rng, *map(len, vocabularies), **settings)


def check_settings(name, settings):
    """Raise ValueError for a setting that the `create` of the model `name` does not accept.

    The message lists the settings and suggests the most similar one. name: a name or a class.
    """
    known = settings_of(name)
    for setting in settings:
        if setting not in known and setting != "dtype":
            raise ValueError(f"{getattr(name, '__name__', name)} has no setting "
                             f"{short_repr(setting)}{nearest(str(setting), known) or '.'} "
                             f"Its settings are {', '.join(known)}")


def settings_of(name):
    """Return a dict {setting: default} for the model `name`, which may also be a class.

    Settings are the arguments of `create`, of `config_class`, and of a base class's `create` that
    receives the ** arguments, except for rng, dtype and the vocabulary sizes.
    """
    model = model_of(name)
    asked = create_parameters(model)
    if model.config_class is not None:
        asked = {**asked, **signature(model.config_class).parameters, **asked}
    return {one: parameter.default for one, parameter in asked.items()
            if one not in NO_SETTINGS and parameter.kind not in VARIABLE}


def create_parameters(model):
    """Return {name: Parameter} of `create`, and of the base classes that get its ** arguments."""
    asked = {}
    for base in model.__mro__:
        own = signature(base.create).parameters
        asked = {**own, **asked}
        rest = any(parameter.kind is Parameter.VAR_KEYWORD for parameter in own.values())
        if "config_class" in vars(base) or not rest:
            return asked
