"""The curated mistakes: {exercise: ((right, wrong, sentence), …)}.

right is what the solution has, wrong what stands there instead, and the sentence names the step of
the derivation that it breaks.
"""

from numpy_attention.course.exercises.mistakes.attention import ATTENTION
from numpy_attention.course.exercises.mistakes.basics import BASICS
from numpy_attention.course.exercises.mistakes.cells import CELLS
from numpy_attention.course.exercises.mistakes.heads import HEADS
from numpy_attention.course.exercises.mistakes.luong import LUONG
from numpy_attention.course.exercises.mistakes.sequences import SEQUENCES

Slips = tuple[tuple[str, str, str], ...]
MISTAKES: dict[str, Slips] = {
    **BASICS, **SEQUENCES, **CELLS, **LUONG, **HEADS, **ATTENTION}
