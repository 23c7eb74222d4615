"""Exercise embedding: a table whose rows are read more than once."""

from dataclasses import dataclass

import numpy as np

from numpy_attention.course.exercises.exercise import Case, Exercise, Source, instead
from numpy_attention.module import Array, Module


@dataclass(eq=False)
class Embedding(Module):
    """A table with a row for each word."""

    E: Array  # (V, D)

    def forward(self, ids):
        """ids (N,) → their rows (N, D), cache."""
        return self.E[ids], ids

    def backward(self, drows, cache, grads):
        """drows (N, D): ∂L/∂rows. Adds ∂L/∂E (V, D) to grads.E; the ids have no gradient."""
        ids = cache
        np.add.at(grads.E, ids, drows)


def cases(rng, its):
    table = its.Embedding(rng.standard_normal((7, 3)))
    for ids in (np.array([2, 0, 2, 5, 2, 1]), np.array([3, 3])):
        yield Case(table.forward, (ids,), table.backward, table)


EXERCISE = Exercise(
    "embedding", "a table whose rows are read more than once", "01_gradients_by_hand", position=2,
    source=Source(__file__, ("Embedding",)), blanks=("Embedding.backward",), cases=cases,
    text="""
    rows = E[ids]          E (V, D), ids (N,) → (N, D)

Given ∂L/∂rows (N, D), add to grads.E (V, D), and return nothing. The same id may occur in ids many
times. `grads` has the same arrays as the layer, and may hold gradients of other calls already.
""",
    hints=(
        "The sum of all elements of dE is the sum of all elements of drows, whatever the ids "
        "are.",
        "rows = onehot(ids) E, with onehot (N, V). What is dE of that product?",
        "dE[v] = Σ over all n with ids_n = v of drows_n"),
    why=("np.add.at adds once for every place; `grads.E[ids] += …` reads the rows, adds, and "
         "writes "
         "each row once, so that the last of equal ids wins."),
    unseen="Checked with ids that are all distinct, the wrong one is right.",
    mistakes=(
        *instead("np.add.at(grads.E, ids, drows)", "np.add.at(grads.E, ids, drows)",
                 ("grads.E[ids] += drows", "you added a repeated word once; use np.add.at, because "
                  "+= with repeated ids keeps only the last"),
                 ("grads.E[ids] = drows", "you set the row of a repeated word; its gradients "
                  "should add up, because the row was used twice"),
                 ("grads.E[:len(ids)] += drows", "you took the first rows; the gradient belongs to "
                  "the rows of the ids, because these were read")),
        *instead("np.add.at(grads.E, ids, drows)", "np.add.at(grads.E, ids, drows)",
                 ("[np.add.at(grads.E, [i], drows[ids == i].mean(0)) for i in set(ids.tolist())]",
                  "you averaged the gradients of a repeated word; they should add up, because the "
                  "row was used each time"),
                 ("[np.add.at(grads.E, [i], drows[ids == i].sum(0)) for i in ids]",
                  "you added the sum of a repeated word once for each place; it should be added "
                  "once, because it holds all places"),
                 ("np.add.at(grads.E, *(one[np.unique(ids, return_index=True)[1]] "
                  "for one in (ids, drows)))", "you kept the first gradient of a repeated word; "
                  "all should add up, because the row was used each time"),
                 ("np.add.at(grads.E, ids[ids > 0], drows[ids > 0])",
                  "you skipped id 0; it should count, because word 0 is a word like any other "
                  "here"),
                 ("grads.E[...] = 0\n        np.add.at(grads.E, ids, drows)",
                  "you set grads.E; it should be added to, because it may hold gradients of other "
                  "calls"),
                 ("np.add.at(grads.E, ids, drows / len(ids))",
                  "you divided by the number of ids; it should be the plain sum, because the "
                  "forward pass took no mean"),
                 ("np.add.at(grads.E, ids, drows * self.E[ids])",
                  "you multiplied by the rows; it should be drows alone, because reading a row "
                  "does not change it"),
                 ("np.add.at(grads.E, np.sort(ids), drows)",
                  "you sorted the ids; they should keep their order, because drows[n] belongs to "
                  "ids[n]"),
                 ("np.add.at(grads.E, ids, drows.sum(0))",
                  "you gave every word the sum of all; each should get its own drows[n], because "
                  "it was read in that place"),
                 ("np.subtract.at(grads.E, ids, drows)",
                  "you subtracted; it should be added, because grads holds the gradient and not "
                  "the step"),
                 ("np.add.at(grads.E, ids - 1, drows)",
                  "you counted the ids from 1; they count from 0, because E[0] is the row of id "
                  "0"))))
