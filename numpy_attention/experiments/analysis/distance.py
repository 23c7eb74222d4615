"""Group the loss of a language model by how long ago the target last occurred."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from numpy_attention.bootstrap import Interval, mean_interval
from numpy_attention.experiments.analysis.losses import check_texts, groups_of, losses_of, sums
from numpy_attention.module import Array
from numpy_attention.validation.arguments import check_generator, check_kind, check_methods


@dataclass
class Distances:
    """The loss of a language model, by how many tokens ago the target last occurred.

    Each field is a dict {name of a group of targets: value}; the first group is "all". loss: the
    mean, in nats per token. tokens: the number of targets. totals, counts: arrays with the sum and
    the number of the losses in each row of each batch.
    """

    loss: dict[str, Interval]
    tokens: dict[str, int]
    totals: dict[str, Array]
    counts: dict[str, Array]

    def more_than(self, first: "Distances", rng: np.random.Generator) -> dict[str, Interval]:
        """Return the excess over another model's loss, in nats per token, as {group: Interval}.

        first: the Distances of the other model. The differences are paired by row. Raises
        ValueError if `first` was measured on another text or with other batches.
        """
        check_kind("`first`", first, Distances, "Distances, as returned by loss_by_distance()")
        if self.counts.keys() != first.counts.keys() or not all(
                np.array_equal(self.counts[words], first.counts[words]) for words in self.counts):
            raise ValueError("the two models were measured on different texts or batches; measure "
                             "both models on the same batches")
        return {words: mean_interval(self.totals[words] - first.totals[words], counts, rng)
                for words, counts in self.counts.items()}


def loss_by_distance(model: Any, batches: Any, rng: np.random.Generator) -> Distances:
    """Measure a language model's loss by how many tokens ago the target last occurred.

    batches: TextBatches or DocumentBatches. `losses.groups_of` defines the groups; empty groups are
    omitted. The confidence intervals are those of `mean_interval` over the rows of the batches.
    """
    check_methods("model", model, "a language model", "losses")
    check_texts(batches)
    check_generator(rng)
    own = losses_of(model, batches)
    totals = {}
    counts = {}
    for words, chosen in groups_of(batches).items():
        tokens = sums(chosen)
        if tokens.any():
            counts[words] = tokens
            totals[words] = sums([losses * part for losses, part in zip(own, chosen)])
    loss = {words: mean_interval(totals[words], counts[words], rng) for words in counts}
    tokens_of = {words: int(number.sum()) for words, number in counts.items()}
    return Distances(loss, tokens_of, totals, counts)
