"""Plot where trained language models attend, and how far back their gradients reach.

    python benchmarks/history_figures.py runs/daniluk-lstm-seed0 … [--output runs]

For each run, on the test text of its own corpus: the mean attention weight against distance, with
the share on the last five visible positions; and the norm of ∂L_T/∂h_t (for an LSTM also of
∂L_T/∂c_t) against the distance T − t, over 20 streams with the run's own number of steps. Saves
attention_span.png and gradient_flow.png.
"""

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from numpy_attention import plotting
from numpy_attention.cells.lstm import LSTM
from numpy_attention.data.batching import TextBatches
from numpy_attention.experiments.analysis import attention_span, gradient_flow
from numpy_attention.experiments.runs.language_model_run import LanguageModelRun

STREAMS = 20


def label(run):
    """Return a short name of the model of a run."""
    settings = run.settings
    name = settings.get("attention") or settings.get("cell", "lstm").upper()
    if settings.get("window"):
        return f"{name}, window {settings['window']}"
    return name


def text_of(run):
    """Return the last split of the run's corpus: test, or valid if there is no test split."""
    corpus = run.selection()
    text, = corpus.load(corpus.splits[-1])
    return text


def fall(flow):
    """Format how far a curve falls."""
    return (f"falls to {flow[10] / flow[0]:.1e} of its first value 10 positions back, "
            f"{flow[-1] / flow[0]:.1e} {len(flow) - 1} back")


def save_flows(flows, along_c, path):
    """Plot the gradient norms of h for all models, and next to them those of c for LSTMs."""
    panels = {"h": {name: flows[name] for name in [*along_c, *flows]}}    # same colours in both
    if along_c:
        panels["c"] = along_c
    figure, axes = plt.subplots(
        1, len(panels), figsize=(1 + 6 * len(panels), 5), layout="constrained", squeeze=False)
    for ax, (of, curves) in zip(axes[0], panels.items()):
        plotting.gradient_flow(curves, ax=ax, title=f"what comes back to {of}")
        ax.set_ylabel(rf"$\Vert\,\partial L_T\, /\, \partial {of}_{{T-d}}\,\Vert$")
    print("saved", plotting.save(figure, path))


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", metavar="RUN",
                        help="folders of language models trained on the same corpus")
    parser.add_argument("--output", type=Path, default=Path("runs"), metavar="FOLDER")
    options = parser.parse_args(arguments)
    options.output.mkdir(parents=True, exist_ok=True)
    spans = {}
    flows = {}
    along_c = {}
    for folder in options.runs:
        run = LanguageModelRun.load(folder)
        model = run.model
        name = label(run)
        if name in flows:
            name = Path(folder).name
        steps = run.training.steps
        batches = TextBatches(text_of(run).stream(run.vocabulary), STREAMS, steps)
        first = batches.batch(0)
        flows[name] = gradient_flow(model, first)
        print(f"{name}: {model.size:,} parameters; ‖∂L_T/∂h_t‖ {fall(flows[name])}")
        if isinstance(model.cells.cells[-1], LSTM):
            along_c[name] = gradient_flow(model, first, of="c")
            print(f"    ‖∂L_T/∂c_t‖ {fall(along_c[name])}")
        if hasattr(getattr(model, "reader", None), "attention"):
            span = attention_span(model, batches, run.settings.get("window") or steps // 2)
            spans[name] = span
            print(f"    mean weight on the previous positions {np.round(span[:5], 3)}, "
                  f"on the last five {span[:5].sum():.3f}, on all {len(span)} {span.sum():.3f}")
    if spans:
        saved = plotting.save(plotting.attention_span(spans), options.output / "attention_span.png")
        print("saved", saved)
    save_flows(flows, along_c, options.output / "gradient_flow.png")


if __name__ == "__main__":
    main()
