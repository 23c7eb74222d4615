"""Turn a user's choices into the settings of a model for a text."""

from collections.abc import Mapping, Sequence
from typing import Any

from numpy_attention import registry
from numpy_attention.attention.readout_config import ReadoutConfig
from numpy_attention.custom.kinds import custom_class
from numpy_attention.data.pairs import Pair
from numpy_attention.data.protocols import AnyVocabulary
from numpy_attention.data.running_text import Text
from numpy_attention.data.text_form import TextForm
from numpy_attention.data.vocabulary import Vocabulary
from numpy_attention.models.budget import within_budget
from numpy_attention.training.settings import LanguageModelTraining

SIZE = 200      # default size of a language model's word vectors


def with_classes(settings: Mapping[str, Any], **kinds: str) -> dict[str, Any]:
    """Return a copy of settings in which each string "FILE.py:CLASS" is replaced with the class.

    kinds: {setting: the kind of class that it accepts}. Settings not in `kinds` are unchanged.
    """
    return {name: custom_class(value, kinds[name])
            if name in kinds and registry.is_custom_code(value) else value
            for name, value in settings.items()}


def with_longest(settings: dict[str, Any], vocabulary: AnyVocabulary,
                 parts: Sequence[Sequence[Pair]]) -> dict[str, Any]:
    """Return a translator's settings, plus `longest` if its attention score takes this setting.

    `longest` is the number of ids, including </s>, of the longest source. parts: lists of Pairs.
    """
    if "attention" in settings:
        score = registry.resolve("attention", settings["attention"], registry.SCORES)
        if registry.accepted_kwargs(score.create, longest=None):
            longest = max(len(vocabulary.encode(pair.source)) for pairs in parts for pair in pairs)
            return settings | {"longest": longest + 1}          # and its </s>
    return settings


def translator_name(model: str, settings: Mapping[str, Any]) -> str:
    """Return a name such as "luong-dot-local-m". Omits "global", and "additive" for rnnsearch."""
    parts = [model]
    if "attention" in settings:
        attention = brief_name(settings["attention"])
        parts += [attention] if (model, attention) != ("rnnsearch", "additive") else []
    if settings.get("window", "global") != "global":
        parts.append(settings["window"])
    return "-".join(parts)


def brief_name(choice: str | type) -> str:
    """Return a class's name, a string's alias, or the string itself if it has no alias."""
    if isinstance(choice, type):
        return choice.__name__
    return {old: alias for alias, old in registry.ALIASES.items()}.get(choice, choice)


def language_model(text: Text, training: LanguageModelTraining, attention: str | type = "none",
                   hidden: int | None = None, embedding: int | None = None,
                   parameters: int | None = None, **settings: Any) -> tuple[str, dict[str, Any]]:
    """Return the name and settings of a language model, for `LanguageModelRun.create`.

    attention: the readout of the history, or "none"
    hidden, embedding: the sizes of the model; if only one is given, it determines the other, and if
        neither is given, the embedding has the size SIZE
    parameters: if given, ignore `hidden` and `embedding`, and choose the largest sizes with at most
        this many parameters; only this needs `text` and `training`, for the vocabulary size
    settings: other arguments of the model's `create`

    Raises ValueError for an invalid readout, too few `parameters`, or tied weights of unequal size.
    """
    parts = 1
    name = "language-model"
    if attention == "none":
        settings.pop("activation", None)
    else:
        name = "attentive-language-model"
        settings["attention"] = attention
        parts = ReadoutConfig(**registry.accepted_kwargs(ReadoutConfig, **settings)).parts
    if attention == "ngram" and settings.get("carried"):
        settings["carried"] = settings["order"] - 2         # all positions that it can see
    if parameters:
        words = Vocabulary.build(text.sentences, training.max_vocabulary, training.min_count)
        sizes, _ = within_budget(parameters, len(words), **{"tied": attention != "none"} | settings)
        return name, settings | sizes
    embedding = embedding or (max(hidden // parts, 1) if hidden else SIZE)
    hidden = hidden or parts * embedding
    if attention == "none" and settings.get("tied") and hidden != embedding:
        raise ValueError(f"hidden = {hidden} and embedding = {embedding} must be equal with tied "
                         "weights; set only one of them, or set tied = False")
    return name, settings | {"hidden": hidden, "embedding": embedding}


def usual_min_count(text: Text) -> int:
    """Return the default min_count: 1 for characters or a text that contains <unk>, else 2."""
    prepared = text.unit == "characters" or any("<unk>" in sentence for sentence in text.sentences)
    return 1 if prepared else 2


def prompt_from(text: Text, form: TextForm) -> str:
    """Return a text's first three words, or up to 20 characters if its tokens are characters."""
    first = next((sentence for sentence in text.sentences if sentence), [])
    if form.tokenizer == "characters":
        return form.text(first[:20]).split("\n")[0]
    return form.text(first[:3])
