"""All exercises, in the order of the lessons."""

from numpy_attention.exercises.catalogue.basics import BASICS
from numpy_attention.exercises.catalogue.heads import HEADS
from numpy_attention.exercises.catalogue.luong import LUONG
from numpy_attention.exercises.catalogue.planted import PLANTED
from numpy_attention.exercises.catalogue.sequences import SEQUENCES
from numpy_attention.exercises.exercise import Exercise

EXERCISES: dict[str, Exercise] = {
    one.name: one for one in sorted([*BASICS, *SEQUENCES, *LUONG, *HEADS, *PLANTED],
                                    key=lambda one: one.lesson)}
