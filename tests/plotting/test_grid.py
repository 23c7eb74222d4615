"""Heatmaps side by side: one panel each and one colour bar."""

import numpy as np
import pytest

from numpy_attention.plotting import heatmap_grid, save

SOURCE = ["a", "b", "</s>"]
TARGET = ["x", "yy", "z", "</s>"]


def weights_of(rng, count):
    return {f"mechanism {k}": rng.dirichlet(np.ones(3), 4) for k in range(count)}


@pytest.mark.parametrize("count, columns, shape", [
    (5, None, (2, 3)),
    (5, 2, (3, 2)),
])
def test_one_panel_per_heatmap(rng, tmp_path, count, columns, shape):
    weights = weights_of(rng, count)
    figure = heatmap_grid(weights, source_tokens=SOURCE, target_tokens=TARGET, gold={(0, 1)},
                          columns=columns)
    panels = figure.axes[:-1]
    bar = figure.axes[-1]
    assert len(panels) == shape[0] * shape[1] and bar.get_ylabel() == "attention weight"
    for ax, (name, matrix) in zip(panels, weights.items()):
        assert ax.get_title() == name and np.array_equal(ax.images[0].get_array(), matrix)
        assert len(ax.patches) == 1
        assert [label.get_text() for label in ax.get_yticklabels()] == TARGET
        assert ax.images[0].get_clim() == (0, 1)
    assert not any(ax.images or ax.axison for ax in panels[count:])
    assert save(figure, tmp_path / "grid.png").stat().st_size > 1000
