"""What a trained model does: where it looks, how far a gradient reaches, what it would miss."""

from numpy_attention.analysis.ablation import CHANGES, Ablation, ablate, changed
from numpy_attention.bootstrap import Interval, mean_interval
from numpy_attention.analysis.history import attention_span, gradient_flow

__all__ = ["CHANGES", "Ablation", "Interval", "ablate", "attention_span", "changed",
           "gradient_flow", "mean_interval"]
