"""AttentionConfig: the mechanism it builds, which settings reach it, invalid combinations."""

from dataclasses import FrozenInstanceError, dataclass

import numpy as np
import pytest

from numpy_attention import registry
from numpy_attention.attention.additive import AdditiveAttention
from numpy_attention.attention.config import REFUSED, AttentionConfig
from numpy_attention.attention.dot import DotAttention, ScaledDotAttention
from numpy_attention.attention.general import GeneralAttention
from numpy_attention.attention.local import LocalMonotonic, LocalPredictive
from numpy_attention.attention.location import LocationAttention
from numpy_attention.attention.multi_head import MultiHeadAttention
from numpy_attention.attention.softmax_attention import SoftmaxAttention
from numpy_attention.initializers import uniform

Q, D = 6, 4


def create(*args, query_size=Q, value_size=D, seed=0, **settings):
    config = AttentionConfig(*args, **settings)
    return config.create(np.random.default_rng(seed), query_size, value_size, dtype=np.float64)


def shapes(attention):
    return {name: array.shape for name, array in attention.named_parameters()}


def test_scores_receive_their_settings():
    assert type(create("dot", query_size=D)) is DotAttention
    assert type(create("scaled-dot", query_size=D)) is ScaledDotAttention
    assert shapes(create("scaled-dot")) == {"W_a": (Q, D)}
    assert shapes(create("scaled-dot", query_size=D)) == {}
    assert shapes(create("general")) == {"W_a": (Q, D)}
    assert shapes(create("location", longest=9)) == {"W_a": (Q, 9)}
    assert shapes(create("concat")) == {"W_a": (Q, Q), "U_a": (D, Q), "v_a": (Q,)}
    assert shapes(create("concat", alignment=5)) == {"W_a": (Q, 5), "U_a": (D, 5), "v_a": (5,)}
    heads = create("multi-head", heads=2, alignment=8)
    assert heads.heads == 2
    assert shapes(heads)["W_q"] == (Q, 8)
    assert shapes(heads)["W_o"] == (8, D), "contexts have the values' size"
    assert create("concat").dtype == create("additive").dtype == np.float64


def test_windows_receive_their_settings():
    narrow = create("general", "local-m", width=3, backwards=True)
    assert type(narrow) is LocalMonotonic
    assert type(narrow.attention) is GeneralAttention
    assert (narrow.width, narrow.backwards) == (3, True)
    predicted = create("general", "local-p", width=2, alignment=5)
    assert type(predicted) is LocalPredictive
    assert predicted.width == 2
    assert shapes(predicted) == {"attention.W_a": (Q, D), "W_p": (Q, 5), "v_p": (5,)}
    assert shapes(create("general", "local-p"))["W_p"] == (Q, Q)


def test_score_is_initialized_before_its_window():
    given = AttentionConfig("concat", "local-p", alignment=5).create(
        np.random.default_rng(3), Q, D, uniform(0.1), np.float32)
    rng = np.random.default_rng(3)
    score = AdditiveAttention.create(rng, Q, D, 5, uniform(0.1))
    wanted = LocalPredictive.create(rng, score, Q, 5, init=uniform(0.1))
    assert given.dtype == np.float32
    assert (given.vector == wanted.vector).all()
    assert 0.09 < np.abs(given.vector).max() <= 0.1


def test_every_valid_combination_can_be_built():
    for score in registry.SCORES:
        for window in registry.WINDOWS:
            if (score, window) in REFUSED:
                with pytest.raises(ValueError, match=f"{score}.* cannot .*{window}.*hoose window"):
                    AttentionConfig(score, window)
            else:
                built = create(score, window, query_size=8, value_size=8)
                inner = built if window == "global" else built.attention
                assert type(inner) is registry.resolve("attention", score, registry.SCORES)
    assert set(REFUSED) == {("location", "local-m"), ("location", "local-p"),
                            ("multi-head", "local-p")}


def test_invalid_settings_raise_in_the_config():
    for settings, message in (
            (dict(attention="cosine"), "attention 'cosine'; expected one of dot, general, concat"),
            (dict(window="wide"), "window 'wide'; expected one of global, local-m, local-p"),
            (dict(attention="location", window="local-p"), "not on the words in a window"),
            (dict(attention="multi-head", window="local-p"), "one set of weights"),
            (dict(alignment=0), "alignment = 0; expected an integer of at least 1")):
        with pytest.raises(ValueError, match=message):
            AttentionConfig(**settings)


def test_invalid_sizes_raise_even_when_unused():
    for settings, message in (
            (dict(window="local-m", width=0), "width = 0"),
            (dict(window="local-p", width=0), "width = 0"),
            (dict(attention="location", longest=0), "longest = 0"),
            (dict(attention="multi-head", heads=0), "heads = 0"),
            (dict(attention="multi-head", heads=5), "size .4. must be divisible by heads .5.")):
        with pytest.raises(ValueError, match=message):
            create(query_size=D, **settings)
    for name in ("width", "alignment", "longest", "heads"):
        with pytest.raises(ValueError, match=f"{name} = 0"):
            AttentionConfig("dot", **{name: 0})
    with pytest.raises(ValueError, match="must equal value_size"):
        create("dot")


def test_config_is_immutable():
    config = AttentionConfig()
    with pytest.raises(FrozenInstanceError):
        config.window = "local-p"
    assert config == AttentionConfig("dot", "global")


@dataclass(eq=False)
class Heads(SoftmaxAttention):
    """A registered score that uses two of the settings."""

    heads: int
    longest: int

    @classmethod
    def create(cls, rng, query_size, value_size, longest, heads):
        return cls(heads, longest)


def test_registered_score_is_built_by_name(monkeypatch):
    monkeypatch.setitem(registry.SCORES, "heads", Heads)
    built = create("heads", "local-m", heads=7, longest=3)
    assert type(built.attention) is Heads
    assert (built.attention.heads, built.attention.longest) == (7, 3)


def test_location_and_multi_head_windows():
    assert type(create("location")) is LocationAttention
    assert type(create("multi-head", query_size=8)) is MultiHeadAttention
    assert type(create("multi-head", "local-m", query_size=8).attention) is MultiHeadAttention
