"""Ablation of attention: evaluate a trained model while its attention weights are replaced."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from numpy_attention.attention.hard import hard_weights, sampled_weights
from numpy_attention.attention.history import HistoryAttention
from numpy_attention.attention.softmax import masked_softmax
from numpy_attention.bootstrap import Interval, mean_interval
from numpy_attention.experiments.analysis.losses import groups_of, losses_of, sums
from numpy_attention.models.transformer_layers import DecoderLayer
from numpy_attention.module import Array, Module
from numpy_attention.validation.arguments import check_generator, check_methods, check_name

USED = 0.01         # nats per token; attention is used if equal weights cost at least this much

Weigh = Callable[[Array, Array], Array]     # f(scores, visible) returns weights

# ---- other weights -------------------------------------------------------------------------------


def none(scores: Array, visible: Array) -> Array:
    """Return weights of 0 for all positions, so that the context vector is 0."""
    return np.zeros_like(scores)


def equal(scores: Array, visible: Array) -> Array:
    """Return equal weights for all visible positions, and 0 for the others."""
    weights = visible.astype(scores.dtype)
    return weights / np.maximum(weights.sum(-1, keepdims=True), 1)


def sampled(rng: np.random.Generator) -> Weigh:
    """Return a function that gives weight 1 to one position, sampled from the attention weights."""
    def attention_weights(scores: Array, visible: Array) -> Array:
        weights = masked_softmax(scores, visible)
        return sampled_weights(weights, visible, rng.random(weights.shape[:-1]))
    return attention_weights


# {name: how the attention is changed}
CHANGES = {
    "no context": "the context is 0",
    "equal weights": "the same weight for all visible positions",
    "shuffled": "the memory of the next row of the batch",
    "hard": "all weight on the largest",
    "sampled": "all weight on one position, sampled with the weights as probabilities",
}
FORMER = {"another's memory": "shuffled", "largest alone": "hard"}      # names before 1.1


def known_change(change: str) -> str:
    """Return the current name of a change of the attention. Raises ValueError for unknown names."""
    if isinstance(change, str):
        change = FORMER.get(change, change)
    check_name("change", change, CHANGES)
    return change


def changed(model: Module, change: str, rng: np.random.Generator) -> Module:
    """Return a copy of a model in which the attention over the source or the past is changed.

    change: one of CHANGES. With "shuffled", each row of a batch attends to the memory of the next
    row, which has no effect on a batch of one row. The self-attention of a Transformer is never
    changed. The copy is for evaluation: its gradients are incorrect. Raises ValueError for an
    unknown change, and for a model without attention.
    """
    change = known_change(change)
    check_generator(rng)
    copy = model.copy()
    changes = {"no context": none, "equal weights": equal, "hard": hard_weights,
               "sampled": sampled(rng)}
    for attention in attentions_of(copy):
        if change == "shuffled":
            _exchange_rows(attention)
            continue
        for _, part in attention.modules():
            if hasattr(part, "attention_weights"):
                vars(part)["attention_weights"] = changes[change]
    return copy


def attentions_of(model: Any) -> list[Any]:
    """Return the modules of a model that attend over the source, or over its own past.

    Raises ValueError if the model has no such module.
    """
    found = [part.source_attention for _, part in model.modules() if isinstance(part, DecoderLayer)]
    for holder in (model, getattr(model, "reader", None)):
        found += filter(None, [getattr(holder, "attention", None)])
    found = [one for one in found
             if any(hasattr(part, "attention_weights") for _, part in one.modules())]
    if not found:
        raise ValueError(f"this {type(model).__name__} computes no attention weights, so it has no "
                         "attention to change; pass a model that computes them")
    return found


def _exchange_rows(attention: Any) -> None:
    """Change an attention so that each row of a batch attends to the memory of the next row."""
    def next_row(array: Array) -> Array:
        return np.roll(array, -1, axis=0)

    if isinstance(attention, HistoryAttention):
        forward = attention.forward

        def over_next(queries: Array, keys: Array, values: Array, visible: Array) -> Any:
            return forward(queries, next_row(keys), next_row(values),
                           np.ascontiguousarray(np.roll(visible, -1, axis=1)))
        vars(attention)["forward"] = over_next
    elif hasattr(attention, "attend"):        # several heads, which share keys and values
        project, look = attention.keys_and_values, attention.attend
        attention.keys_and_values = lambda values: project(next_row(values))
        attention.attend = lambda queries, both, visible: look(queries, both, next_row(visible))
    else:
        read = attention.read
        attention.read = lambda values, mask: read(next_row(values), next_row(mask))


# ---- cost ----------------------------------------------------------------------------------------


class Cost(NamedTuple):
    """How much a change of the attention increases the loss on a group of words (`more`)."""

    change: str
    words: str          # the group of words: "all", or how long ago the words last occurred
    tokens: int
    loss: float         # the loss with the changed attention, in nats per token
    more: Interval


@dataclass
class Ablation:
    """The loss of a model, and the Cost of each change for each group of words."""

    loss: float
    tokens: int
    costs: list[Cost]

    @property
    def used(self) -> bool:
        """Whether the cost of equal weights, at the lower end of its interval, is at least USED."""
        return self.cost("equal weights").more.low >= USED

    alive = used        # its name before 1.1

    def cost(self, change: str, words: str = "all") -> Cost:
        """Return the Cost of a change on a group of words. Raises ValueError if there is none."""
        change = FORMER.get(change, change)
        for one in self.costs:
            if (one.change, one.words) == (change, words):
                return one
        raise ValueError(f"no cost was measured for change = {change!r} and words = {words!r}; "
                         f"changes measured: {sorted({one.change for one in self.costs})}, "
                         f"words measured: {sorted({one.words for one in self.costs})}")

    def verdict(self) -> str:
        """Return "attention is used" or "attention is unused", with the cost that decides this."""
        return (f"attention is {'used' if self.used else 'unused'}: equal weights cost "
                f"{self.cost('equal weights').more} nats per token; the lower end must be at "
                f"least {USED:g}")


def ablate(model: Any, batches: Any, rng: np.random.Generator,
           changes: Sequence[str] = tuple(CHANGES)) -> Ablation:
    """Measure how much each change of the attention increases the loss of a model on `batches`.

    changes: names in CHANGES, such as "equal weights". The model is evaluated unchanged and with
    each change. The losses are subtracted sentence by sentence (for a language model, row by row),
    and `mean_interval` computes the interval of the mean difference. For a language model, targets
    are also grouped by how many tokens ago they last occurred. Raises the errors of `changed`.
    """
    check_methods("model", model, "a model", "losses", "copy")
    check_methods("batches", batches, "batches such as PairBatches", "order", "batch", "carried")
    changes = [known_change(change) for change in changes]
    check_generator(rng)
    attentions_of(model)
    own = losses_of(model, batches)
    groups = groups_of(batches)
    costs = []
    for change in changes:
        other = losses_of(changed(model, change, rng), batches)
        for words, chosen in groups.items():
            tokens = sums(chosen)
            if not tokens.sum():
                continue
            more = sums([(b - a) * part for a, b, part in zip(own, other, chosen)])
            loss = sums([b * part for b, part in zip(other, chosen)]).sum() / tokens.sum()
            costs.append(Cost(change, words, int(tokens.sum()), float(loss),
                              mean_interval(more, tokens, rng)))
    counts = sums(groups["all"])
    return Ablation(float(sums(own).sum() / counts.sum()), int(counts.sum()), costs)
