"""Heatmaps of the weights and of the gradient of the loss with respect to them."""

import numpy as np
import pytest
from pictures import SOURCE, TARGET, texts, weights_for

from numpy_attention.plotting import gradient_heatmap

WEIGHTS = weights_for(TARGET, SOURCE)
GRADIENTS = np.random.default_rng(1).standard_normal(WEIGHTS.shape) + 0.5


def draw(weights=WEIGHTS, gradients=GRADIENTS, **more):
    return gradient_heatmap(weights, gradients, source_tokens=SOURCE, target_tokens=TARGET, **more)


def test_both_heatmaps_have_tokens_and_titles():
    figure = draw(title="beginning")
    left, right, *bars = figure.axes
    for ax, values in ((left, WEIGHTS), (right, GRADIENTS)):
        assert np.allclose(ax.images[0].get_array(), values)
        assert texts(ax.get_xticklabels()) == SOURCE and texts(ax.get_yticklabels()) == TARGET
    assert [ax.get_title() for ax in (left, right)] == ["weights α", "gradients ∂L/∂α"]
    assert [bar.get_ylabel() for bar in bars] == ["attention weight", "∂L/∂α"]
    assert figure.get_suptitle() == "beginning"


@pytest.mark.parametrize("gradients", [GRADIENTS, np.abs(GRADIENTS), -np.abs(GRADIENTS)])
def test_colour_scale_is_centred_at_zero(gradients):
    image = draw(gradients=gradients).axes[1].images[0]
    low, high = image.get_clim()
    assert low == -high == -np.abs(gradients).max()
    red, _, blue, _ = image.cmap(image.norm(0.0))
    assert abs(red - blue) < 0.02
    red, _, blue, _ = image.cmap(image.norm(high))
    assert red > blue


def test_colour_limits():
    assert draw(gradients=0 * WEIGHTS).axes[1].images[0].get_clim() == (-1, 1)
    assert draw(vmax=0.1).axes[1].images[0].get_clim() == (-0.1, 0.1)


def test_hidden_cells_are_hatched_and_may_be_nan():
    visible = np.tri(*WEIGHTS.shape, dtype=bool)
    figure = draw(np.where(visible, WEIGHTS, np.nan), np.where(visible, GRADIENTS, np.nan),
                  visible=visible)
    for ax in figure.axes[:2]:
        assert np.array_equal(ax.images[0].get_array().mask, ~visible) and ax.patch.get_hatch()
