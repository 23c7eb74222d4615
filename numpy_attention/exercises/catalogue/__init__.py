"""All exercises, in the order of the lessons."""

from numpy_attention.exercises.catalogue.basics import BASICS
from numpy_attention.exercises.exercise import Exercise

EXERCISES: dict[str, Exercise] = {one.name: one for one in [*BASICS]}
