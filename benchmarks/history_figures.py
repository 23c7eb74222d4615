"""Where trained language models look, and how far back their gradients reach: two figures from runs of `reproduce`.

    python benchmarks/history_figures.py runs/daniluk-lstm-seed0 runs/daniluk-attention-seed0 … [--output runs]

Of each run, on the test text of its own corpus: mean attention weight against distance, with the share on the last five
positions of those that can be seen; and the norm of ∂L_T/∂h_t against how far back t lies, of an LSTM that of ∂L_T/∂c_t too,
over 20 streams of the run's own number of steps. Saves attention_span.png and gradient_flow.png.
"""

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from numpy_attention import plotting
from numpy_attention.analysis import attention_span, gradient_flow
from numpy_attention.cells.lstm import LSTM
from numpy_attention.cli.language_models import text_of
from numpy_attention.data.batching import TextBatches
from numpy_attention.runs.writer import Writer

STREAMS = 20


def label(writer):
    """A run's model in a few words."""
    settings = writer.settings
    name = settings.get("attention", settings.get("cell", "lstm").upper())
    return f"{name}, window {settings['window']}" if settings.get("window") else name


def fall(flow):
    """How far a curve falls, in words."""
    return (f"falls to {flow[10] / flow[0]:.1e} of its first value 10 positions back, {flow[-1] / flow[0]:.1e} "
            f"{len(flow) - 1} back")


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", metavar="RUN", help="folders of runs of language models on one corpus")
    parser.add_argument("--output", type=Path, default=Path("runs"), metavar="FOLDER")
    options = parser.parse_args(arguments)
    options.output.mkdir(parents=True, exist_ok=True)
    spans, flows, along_c = {}, {}, {}
    for folder in options.runs:
        writer = Writer.load(folder)
        text, _ = text_of(writer.corpus)
        name = label(writer) if label(writer) not in flows else Path(folder).name
        batches = TextBatches(text.stream(writer.vocabulary), STREAMS, writer.training.steps)
        flows[name] = gradient_flow(writer.model, batches.batch(0))
        print(f"{name}: {writer.model.size:,} parameters; ‖∂L_T/∂h_t‖ {fall(flows[name])}")
        if isinstance(writer.model.cells.cells[-1], LSTM):
            along_c[name] = gradient_flow(writer.model, batches.batch(0), of="c")
            print(f"    ‖∂L_T/∂c_t‖ {fall(along_c[name])}")
        if hasattr(getattr(writer.model, "reader", None), "attention"):
            spans[name] = attention_span(writer.model, batches, writer.settings.get("window") or writer.training.steps // 2)
            print(f"    mean weight on the previous positions {np.round(spans[name][:5], 3)}, on the last five "
                  f"{spans[name][:5].sum():.3f}, on all {len(spans[name])} {spans[name].sum():.3f}")
    if spans:
        print("saved", plotting.save(plotting.attention_span(spans), options.output / "attention_span.png"))
    figure, axes = plt.subplots(1, 1 + bool(along_c), figsize=(7 + 6 * bool(along_c), 5), layout="constrained", squeeze=False)
    flows = {name: flows[name] for name in [*along_c, *flows]}             # one colour a model in both panels
    for ax, curves, of in zip(axes[0], (flows, along_c), "hc"):
        plotting.gradient_flow(curves, ax=ax, title=f"what comes back to {of}")
        ax.set_ylabel(rf"$\Vert\,\partial L_T\, /\, \partial {of}_{{T-d}}\,\Vert$")
    print("saved", plotting.save(figure, options.output / "gradient_flow.png"))


if __name__ == "__main__":
    main()
