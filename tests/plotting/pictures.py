"""Shared by the tests of plots: data to draw, and the texts of an Axes."""

import math

import numpy as np

SOURCE = "in the beginning god created </s>".split()
TARGET = "en el principio creó dios </s>".split()
HISTORY = [{"epoch": 1, "train_loss": math.log(40), "valid_perplexity": 30.0, "seconds": 5.0},
           {"epoch": 2, "train_loss": math.log(20), "valid_perplexity": 18.0, "seconds": 10.0},
           {"epoch": 3, "train_loss": math.log(10), "valid_perplexity": 21.0, "seconds": 15.0}]


def weights_for(target, source, seed=0):
    return np.random.default_rng(seed).dirichlet(np.ones(len(source)), size=len(target))


def texts(labels):
    return [label.get_text() for label in labels]
