"""Analyses of trained models: ablation, attention, reach of gradients, cloze test, recovery."""

from numpy_attention.bootstrap import Interval, mean_interval
from numpy_attention.experiments.analysis.ablation import CHANGES, Ablation, ablate, changed
from numpy_attention.experiments.analysis.cloze import Cloze, cloze_test
from numpy_attention.experiments.analysis.distance import Distances, loss_by_distance
from numpy_attention.experiments.analysis.history import attention_span, gradient_flow
from numpy_attention.experiments.analysis.recovery import Passages, Recovery, disturbed, recover
from numpy_attention.experiments.analysis.roles import Roles, role_gradients

__all__ = ["CHANGES", "Ablation", "Cloze", "Distances", "Interval", "Passages", "Recovery",
           "Roles", "ablate", "attention_span", "changed", "cloze_test", "disturbed",
           "gradient_flow", "loss_by_distance", "mean_interval", "recover", "role_gradients"]
