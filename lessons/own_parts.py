"""Helpers of lesson 13: a class as a file, a command, dots of several runs."""

import ast
import importlib.util
import linecache
import subprocess
import sys
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.ticker import PercentFormatter

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


def draw_runs(figures, names, claim):
    """One dot per run with its seed, 1 to 3: figures {measure: {name: [one number per seed]}}.

    The claim is about the last measure.
    """
    lowest = min(min(numbers) for of_names in figures.values() for numbers in of_names.values())
    ticks = np.arange(np.floor(20 * lowest), 21) / 20           # every 5%
    figure, axes = plt.subplots(1, len(figures), figsize=(3.6 * len(figures), 3.6),
                                layout="constrained", sharey=True)
    for (measure, of_names), ax in zip(figures.items(), axes):
        for place, name in enumerate(names):
            for seed, number in enumerate(of_names[name], 1):
                x = place + 0.2 * (seed - 2)
                ax.plot(x, number, "o", color=plotting.COLOURS[place], markersize=11)
                ax.text(x, number, seed, color="white", fontsize=8, ha="center", va="center")
        ax.set_xticks(range(len(names)), names)
        ax.set(title=measure, xlim=(-0.5, len(names) - 0.5), ylim=(ticks[0], 1.005), yticks=ticks)
        ax.yaxis.set_major_formatter(PercentFormatter(1, 0, symbol=""))
        ax.grid(axis="y", alpha=0.3)
    axes[0].set_ylabel(f"% (the axis starts at {100 * ticks[0]:.0f})")
    axes[-1].set_title(f"{measure}: {claim}")
    figure.supxlabel("score (in the dots: the seed)")
    return figure
