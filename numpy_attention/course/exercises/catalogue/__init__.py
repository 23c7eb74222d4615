"""All exercises, in the order of the lessons."""

from numpy_attention.course.exercises.catalogue.attention import ATTENTION
from numpy_attention.course.exercises.catalogue.basics import BASICS
from numpy_attention.course.exercises.catalogue.cells import CELLS
from numpy_attention.course.exercises.catalogue.heads import HEADS
from numpy_attention.course.exercises.catalogue.luong import LUONG
from numpy_attention.course.exercises.catalogue.planted import PLANTED
from numpy_attention.course.exercises.catalogue.sequences import SEQUENCES
from numpy_attention.course.exercises.exercise import Exercise

# as the lessons come to them
ORDER = """
    softmax cross-entropy embedding linear
    squash bptt truncated clipping adam perplexity
    lstm dropout
    masks find-in-masks gru
    additive deep-output pointing
    dot general concat location local-p find-in-local-p input-feeding find-in-feeding
    scaled-dot multi-head find-in-heads
    layer-norm
    beam
    causal
    key-value-predict
""".split()

EXERCISES: dict[str, Exercise] = {
    one.name: one for one in sorted([*BASICS, *SEQUENCES, *CELLS, *LUONG, *HEADS, *ATTENTION,
                                     *PLANTED],
                                    key=lambda one: ORDER.index(one.name))}
