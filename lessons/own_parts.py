"""Helpers of lesson 13: a class as a file, a command, figures."""

import ast
import importlib.util
import linecache
import subprocess
import sys
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt

from numpy_attention import plotting

HEAD = '''"""Written by lesson 13."""

from dataclasses import dataclass

import numpy as np

from numpy_attention.attention.memory import Memory
from numpy_attention.attention.softmax_attention import SoftmaxAttention
from numpy_attention.initializers import glorot
from numpy_attention.module import Array
from numpy_attention.validation.arrays import as_rows


'''


def write_class(kind, folder):
    """Write an attention's class, with the imports that it needs, as a file; → its path."""
    lines = linecache.getlines(kind.score.__code__.co_filename)
    node = next(node for node in ast.walk(ast.parse("".join(lines)))
                if isinstance(node, ast.ClassDef) and node.name == kind.__name__)
    first = node.decorator_list[0].lineno - 1
    folder.mkdir(exist_ok=True)
    path = folder / f"{kind.__name__.lower()}.py"
    path.write_text(HEAD + "".join(lines[first:node.end_lineno]), encoding="utf-8")
    return path


def class_in(path, name):
    """The class of that name in a file."""
    path = Path(path)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module                 # where dataclasses look for it
    spec.loader.exec_module(module)
    return getattr(module, name)


def run_command(*words, folder):
    """Run `numpy-attention WORDS` in a folder, and print the command and its output; → its exit
    code.
    """
    print("$ numpy-attention", *words, flush=True)
    done = subprocess.run([sys.executable, "-m", "numpy_attention", *words], cwd=folder,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          encoding="utf-8")
    print(done.stdout, end="", flush=True)
    return done.returncode


def draw_runs(figures, claims):
    """One dot per run with its seed, 1 to 3: figures {measure: {name: [one % per seed]}}.

    claims: {measure: second line of its title}.
    """
    lowest = min(min(numbers) for of_names in figures.values() for numbers in of_names.values())
    ticks = np.arange(5 * (lowest // 5), 101, 5)
    figure, axes = plt.subplots(1, len(figures), figsize=(3.6 * len(figures), 3.6),
                                layout="constrained", sharey=True)
    for (measure, of_names), ax in zip(figures.items(), axes):
        for place, (name, numbers) in enumerate(of_names.items()):
            for seed, number in enumerate(numbers, 1):
                x = place + 0.2 * (seed - 2)
                ax.plot(x, number, "o", color=plotting.COLOURS[place], markersize=11)
                ax.text(x, number, seed, color="white", fontsize=8, ha="center", va="center")
        ax.set_xticks(range(len(of_names)), of_names)
        ax.set(title=f"{measure}:\n{claims[measure]}", xlim=(-0.5, len(of_names) - 0.5),
               ylim=(ticks[0], 101), yticks=ticks)
        ax.grid(axis="y", alpha=0.3)
    axes[0].set_ylabel(f"% (the axis starts at {ticks[0]:.0f})")
    figure.supxlabel("score (in the dots: the seed)")
    return figure


def draw_weights(pair, weights):
    """Heatmaps of {name: (T + 1, S + 1)}, with dots on the largest weights without </s>.

    Below the dot is the weight, if it is small.
    """
    figure, axes = plt.subplots(1, len(weights), figsize=(11.5, 5.4), layout="constrained")
    for (name, rows), ax in zip(weights.items(), axes):
        places = rows[:-1, :len(pair.source)].argmax(1)
        right = sum(places[j] == i for i, j in pair.sure)
        plotting.attention_heatmap(
            rows, source_tokens=[*pair.source, "</s>"], target_tokens=[*pair.target, "</s>"],
            gold=pair.sure, possible=pair.possible, ax=ax, bar=ax is axes[-1],
            title=f"{name}: {right} of {len(pair.sure)} sure links point right")
        ax.plot(places, range(len(places)), "o", color="red", markeredgecolor="white",
                markersize=7)
        for j, i in enumerate(places):
            if rows[j, i] < 0.5:
                ax.text(i, j + 0.33, f"{rows[j, i]:.2f}", color="white", fontsize=7, ha="center",
                        va="center")
    return figure
