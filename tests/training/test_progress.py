"""The progress bar's text, and the line printed after an epoch."""

import io

import pytest
from tqdm import tqdm

from numpy_attention.training.progress import advance, bar_of, print_epoch

LINE = {"epoch": 3, "train_perplexity": 12.345, "tokens_per_second": 12345}


def test_bar_shows_epoch_threads_and_means():
    with bar_of(2, 10, 4, 2, visible=True) as bar:
        assert bar.desc.rstrip(": ") == "epoch 2, 2 threads"
        assert (bar.n, bar.total, bar.unit) == (4, 10, "batch")
        assert not bar.leave                                # replaced by the line of the epoch
        bar.mininterval = 0
        advance(bar, 6.0, 3, 0.5)
        assert bar.n == 5 and bar.postfix == "loss 2.000, perplexity 7.4, 6 tokens/s"
        advance(bar, 1e4, 3, 0.5)
        assert bar.postfix == "loss 3333.333, perplexity inf, 6 tokens/s"
    with bar_of(1, 10, 0, 1, visible=True) as bar:
        assert bar.desc.rstrip(": ") == "epoch 1, 1 thread"
    with bar_of(1, 10, 0, 1, visible=True, ranks=2) as bar:
        assert bar.desc.rstrip(": ") == "epoch 1, 2 ranks × 1 thread"
    with bar_of(1, 10, 0, 1, visible=False) as bar:
        assert bar.disable


def test_bar_is_redrawn_once_per_batch():
    positions = []
    with bar_of(1, 10, 0, 1, visible=True) as bar:
        bar.mininterval = 0
        bar.display = lambda *arguments, **settings: positions.append(bar.n)
        advance(bar, 6.0, 3, 0.5)
        advance(bar, 7.0, 4, 0.6)
        assert positions == [1, 2]


@pytest.mark.parametrize("more, words", [
    ({}, "epoch 3: perplexity 12.35, 12,345 tokens/s, 1.5 minutes"),
    ({"valid_perplexity": 7.0}, "perplexity 12.35, validation perplexity 7.00, 12,345 tokens/s"),
    ({"valid_perplexity": 1e99}, "validation perplexity 1e+99, 12,345 tokens/s"),
    ({"smoothing": 0.1}, "perplexity 12.35 of the smoothed labels, 12,345 tokens/s"),
])
def test_epoch_line(monkeypatch, more, words):
    out = io.StringIO()
    monkeypatch.setattr(tqdm, "write", out.write)
    print_epoch(LINE | more, 90.0)
    assert words in out.getvalue()
