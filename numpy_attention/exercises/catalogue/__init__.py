"""All exercises, in the order of the lessons."""

from numpy_attention.exercises.catalogue.attention import ATTENTION
from numpy_attention.exercises.catalogue.basics import BASICS
from numpy_attention.exercises.catalogue.cells import CELLS
from numpy_attention.exercises.catalogue.heads import HEADS
from numpy_attention.exercises.catalogue.luong import LUONG
from numpy_attention.exercises.catalogue.planted import PLANTED
from numpy_attention.exercises.catalogue.sequences import SEQUENCES
from numpy_attention.exercises.exercise import Exercise

EXERCISES: dict[str, Exercise] = {
    one.name: one for one in sorted([*BASICS, *SEQUENCES, *CELLS, *LUONG, *HEADS, *ATTENTION,
                                     *PLANTED],
                                    key=lambda one: one.lesson)}
