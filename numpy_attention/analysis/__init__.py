"""What a trained model does: where it looks, how far a gradient reaches, what it would miss,
whether it uses what it read.
"""

from numpy_attention.analysis.ablation import CHANGES, Ablation, ablate, changed
from numpy_attention.analysis.cloze import Cloze, cloze_test
from numpy_attention.bootstrap import Interval, mean_interval
from numpy_attention.analysis.history import attention_span, gradient_flow

__all__ = ["CHANGES", "Ablation", "Cloze", "Interval", "ablate", "attention_span", "changed",
           "cloze_test", "gradient_flow", "mean_interval"]
