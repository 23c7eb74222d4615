"""Every plotting function draws into the given Axes only."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from pictures import HISTORY

from numpy_attention import plotting
from numpy_attention.metrics import LengthBucket

BARS = {"a": {1: (0.5, 0.4, 0.7)}}
BUCKETS = [LengthBucket(1, 9, 30, 28.0)]


@pytest.mark.parametrize("draw", [
    lambda ax: plotting.attention_heatmap(np.eye(2), source_tokens="ab", target_tokens="AB", ax=ax),
    lambda ax: plotting.history_heatmap(np.zeros((2, 2)), "ab", ax=ax),
    lambda ax: plotting.attention_span({"a": np.array([0.5, 0.0])}, ax),
    lambda ax: plotting.gradient_flow({"a": np.array([0.5, 0.0])}, ax),
    lambda ax: plotting.bands(BARS, "x", "y", ax),
    lambda ax: plotting.excess_loss(BARS, ax),
    lambda ax: plotting.costs(BARS, ax),
    lambda ax: plotting.diagram({"a": ("a", 0, 0)}, [], ax),
    lambda ax: plotting.learning_curves(HISTORY, ax),
    lambda ax: plotting.bleu_by_length_plot({"a": BUCKETS}, ax),
    lambda ax: plotting.course_path({"01": ["softmax"]}, [], ax),
])
def test_given_axes(draw):
    left, right = Figure(layout="constrained").subplots(1, 2)
    assert draw(right) is right
    assert right.has_data() or right.patches or right.texts
    assert not (left.has_data() or left.patches or left.texts)
