"""What lessons share besides what they teach: where pictures go, and checks that must fail."""

import os
from pathlib import Path

import matplotlib
from matplotlib import pyplot as plt

from numpy_attention import plotting
from numpy_attention.gradcheck import GradientError

OUTPUTS = Path(os.environ.get("NUMPY_ATTENTION_OUTPUTS")
               or Path(__file__).resolve().parent / "outputs")


def show(picture, name):
    """Save Axes or a Figure as NAME.png in OUTPUTS, and say so."""
    OUTPUTS.mkdir(exist_ok=True)
    path = plotting.save(picture, OUTPUTS / f"{name}.png")
    if matplotlib.get_backend().lower() == "agg":       # nobody will look at it in a window
        plt.close(getattr(picture, "figure", picture))
    print(f"saved {path.parent.name}/{path.name}", flush=True)


def caught(check, *arguments):
    """Run a gradient check of something wrong and print its whole report; → the report.

    AssertionError: the check passes.
    """
    try:
        check(*arguments)
    except GradientError as error:
        print(error, flush=True)
        return error
    raise AssertionError("the planted bug went unnoticed")
