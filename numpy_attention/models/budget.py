"""The largest sizes at which a model stays within a number of parameters."""

from bisect import bisect_right

import numpy as np

from numpy_attention.attention.readout_config import ReadoutConfig
from numpy_attention.models.registry import build
from numpy_attention.registry import TRANSLATORS, resolve
from numpy_attention.validation.arrays import LARGEST, check_sizes, check_whole


def within_budget(parameters, vocabulary, attention=None, tied=True, **settings):
    """Return the largest sizes of a language model with at most `parameters` parameters.

    Returns a dict {"hidden": …, "embedding": …}, and the number of parameters at these sizes. Each
    word vector and each part of a state has n entries, so embedding = n and hidden = parts · n. A
    state has two parts with key-value, three with key-value-predict, N − 1 in an N-gram model
    (Daniluk et al. 2017, section 2), and otherwise one. With more parts, n is smaller, but only
    slightly if word vectors make up most of the parameters.

    vocabulary: the number of ids
    attention: a name of `registry.HISTORY_READOUTS`, or None for a model without attention
    tied: whether input and output share the word vectors. The default here is True, but it is
        False in LanguageModel.create
    settings: other arguments of the model's `create`, such as layers and cell

    Raises ValueError if the budget is too small for n = 1.
    """
    check_whole("parameters", parameters, 1)
    check_sizes(vocabulary=vocabulary)
    parts = 1
    name = "language-model"
    if attention is not None:
        parts = ReadoutConfig(attention, order=settings.get("order", 4)).parts
        name = "attentive-language-model"
        settings = {"attention": attention, **settings}

    def sizes(n):
        return {"hidden": parts * n, "embedding": n}

    def count(n):
        rng = np.random.default_rng(0)
        return build(name, rng, range(vocabulary), tied=tied, **sizes(n), **settings).size

    n, size = largest(count, parameters)
    if not n:
        raise ValueError(f"{parameters:,} parameters are too few for {vocabulary:,} words; "
                         f"expected at least {size:,}, the size of the smallest model")
    return sizes(n), size


def translator_within_budget(parameters, source, target, name, **settings):
    """Return the largest sizes of a translator with at most `parameters` parameters.

    Returns a dict {"hidden": …, "embedding": …}, and the number of parameters at these sizes. Both
    sizes are the same multiple of 8, which can be split between two directions or 2, 4 or 8 heads.
    For a Transformer, the dict is {"size": …}, and the feed-forward layers are by default four
    times as large. source, target: the sizes of the vocabularies. name: a name of
    `registry.TRANSLATORS`. settings: other arguments of the model's `create`.

    Raises ValueError if the budget is too small or the name is unknown.
    """
    check_whole("parameters", parameters, 1)
    check_sizes(source=source, target=target)
    resolve("translator", name, TRANSLATORS)

    def sizes(n):
        if name == "transformer":
            return {"size": 8 * n}
        return {"hidden": 8 * n, "embedding": 8 * n}

    def count(n):
        rng = np.random.default_rng(0)
        return build(name, rng, range(source), range(target), **sizes(n), **settings).size

    n, size = largest(count, parameters)
    if not n:
        raise ValueError(f"{parameters:,} parameters are too few for vocabularies of "
                         f"{source:,} source and {target:,} target words; expected at least "
                         f"{size:,}, the size of the smallest {name}")
    return sizes(n), size


def largest(count, parameters):
    """Return the largest n with count(n) ≤ parameters, and count(n).

    If there is no such n, return 0 and count(1). count: a function that returns the number of
    parameters of a model of size n. Each side of a matrix of the model is either fixed or
    proportional to n, so count is a polynomial of degree 2. Three small models determine the
    polynomial, and no large model is built.
    """
    one, two, three = map(count, (1, 2, 3))
    first = two - one
    second = three - 2 * two + one

    def polynomial(n):
        return one + (n - 1) * first + (n - 1) * (n - 2) // 2 * second

    # how many of the sizes 1, 2, … are small enough
    n = bisect_right(range(1, LARGEST), parameters, key=polynomial)
    return n, polynomial(n) if n else one
