"""RNNsearch as Bahdanau et al. 2015, appendices A and B, have it, and one step away from it.

    appendix        t_i from s_{i−1}, the GRU's reset gate before the product, its update gate for
                    the new state, initial values of B.1, no dropout; Adadelta (ρ 0.95, ε 1e-6),
                    80 sentences a step, the gradient's norm at most 1; l = H / 2, scoring size H

Sizes are smaller than the paper's, and all equal. Each other row takes one of the settings of
`clauses-additive`, which has them all, and 64 sentences a step.
"""

from dataclasses import replace
from typing import Any

from numpy_attention.experiments.recipes.mechanisms import TRAIN, of_budget
from numpy_attention.experiments.recipes.recipe import Recipe
from numpy_attention.experiments.runs.translator import TranslatorTraining

SETTINGS = dict(readout="previous", reset="before", update="new", init="paper", dropout=0.0)
PAPER = replace(
    TRAIN, batch_size=80, optimizer="adadelta", learning_rate=1.0, schedule="constant")
ADAM = replace(PAPER, optimizer="adam", learning_rate=2e-3, schedule="linear")


def appendix(name: str, but: str = "", training: TranslatorTraining = PAPER,
             **settings: Any) -> Recipe:
    return of_budget(name, "rnnsearch", {"hidden": 128, "embedding": 128},
                     f"RNNsearch as its appendix has it{but}", SETTINGS | settings, training)


RECIPES = (
    appendix("appendix"),
    appendix("appendix-readout-current", " but words read out of s_i", readout="current"),
    appendix("appendix-reset-after", " but the reset gate after the product", reset="after"),
    appendix("appendix-update-old", " but the update gate for the old state", update="old"),
    appendix("appendix-init-modern", " but Glorot's and orthogonal initial values", init="modern"),
    appendix("appendix-dropout", " but dropout of 0.2", dropout=0.2),
    appendix("appendix-adam", " but Adam, from 2e-3 straight down to 0", ADAM),
)
