"""Is the attention alive? A trained model measured again with other attention than it learned."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from numpy_attention.experiments.analysis.losses import groups_of, losses_of, sums
from numpy_attention.bootstrap import Interval, mean_interval
from numpy_attention.validation.arguments import check_generator, check_methods, check_name
from numpy_attention.attention.history import HistoryAttention
from numpy_attention.attention.softmax import masked_softmax
from numpy_attention.models.transformer_layers import DecoderLayer
from numpy_attention.module import Array, Module

ALIVE = 0.01        # nats a token that equal weights must cost

Weigh = Callable[[Array, Array], Array]     # weights from scores and what is visible

# ---- other weights -------------------------------------------------------------------------------


def none(scores: Array, visible: Array) -> Array:
    """α = 0: the context is 0."""
    return np.zeros_like(scores)


def equal(scores: Array, visible: Array) -> Array:
    """The same weight for all that is visible."""
    weights = visible.astype(scores.dtype)
    return weights / np.maximum(weights.sum(-1, keepdims=True), 1)


def largest(scores: Array, visible: Array) -> Array:
    """All of it on the largest."""
    return _all_on(masked_softmax(scores, visible).argmax(-1), scores, visible)


def sampled(rng: np.random.Generator) -> Weigh:
    """All of it on one that is drawn with the weights' own probabilities."""
    def attention_weights(scores: Array, visible: Array) -> Array:
        totals = masked_softmax(scores, visible).cumsum(-1)
        drawn = rng.random(totals.shape[:-1] + (1,)) * totals[..., -1:]
        chosen = (totals > drawn).argmax(-1)            # the first whose sum lies above the draw
        return _all_on(chosen, scores, visible)
    return attention_weights


def _all_on(chosen: Array, scores: Array, visible: Array) -> Array:
    """1 at the chosen position, and 0 elsewhere, or everywhere where nothing is visible."""
    weights = np.zeros_like(scores)
    some = visible.any(-1, keepdims=True).astype(scores.dtype)
    np.put_along_axis(weights, chosen[..., None], some, -1)
    return weights


# name: what is done, in words
CHANGES = {
    "no context": "the context is 0",
    "equal weights": "the same weight for all that it may see",
    "another's memory": "the memory of the next row of the batch",
    "largest alone": "all weight on the largest",
    "sampled": "all weight on one position, drawn with the weights as probabilities",
}


def changed(model: Module, change: str, rng: np.random.Generator) -> Module:
    """A copy of a model whose attention over the source, or over its own past, is changed.

    change: of CHANGES. A Transformer's attention of the decoder over itself, and of the encoder,
    stays. With "another's memory" a batch of one row keeps its own. The copy is for measuring: it
    has no right gradients. ValueError: an unknown change, or a model without attention.
    """
    check_name("change", change, CHANGES)
    check_generator(rng)
    copy = model.copy()
    attentions = attentions_of(copy)
    if change == "another's memory":
        for attention in attentions:
            _exchange_rows(attention)
        return copy
    attention_weights = {"no context": none, "equal weights": equal, "largest alone": largest,
             "sampled": sampled(rng)}[change]
    for attention in attentions:
        for _, part in attention.modules():
            if hasattr(part, "attention_weights"):
                vars(part)["attention_weights"] = attention_weights
    return copy


def attentions_of(model: Any) -> list[Any]:
    """The attentions of a decoder over its source, or of a language model over its past.

    ValueError: there are none.
    """
    layers = [part for _, part in model.modules() if isinstance(part, DecoderLayer)]
    found = [layer.source_attention for layer in layers]
    for holder in (model, getattr(model, "reader", None)):
        found += filter(None, [getattr(holder, "attention", None)])
    found = [one for one in found
             if any(hasattr(part, "attention_weights") for _, part in one.modules())]
    if not found:
        raise ValueError(f"{type(model).__name__} has no attention to change: expected a model "
                         "that looks at its source, or at its own past, with weights")
    return found


def _exchange_rows(attention: Any) -> None:
    """Let each row look at the next one's memory."""
    def next_row(array: Array) -> Array:
        return np.roll(array, -1, axis=0)

    if isinstance(attention, HistoryAttention):
        forward = attention.forward

        def over_next(queries: Array, keys: Array, values: Array, visible: Array) -> Any:
            return forward(queries, next_row(keys), next_row(values),
                           np.ascontiguousarray(np.roll(visible, -1, axis=1)))
        vars(attention)["forward"] = over_next
        return
    if hasattr(attention, "attend"):          # several heads, which share keys and values
        project = attention.keys_and_values
        look = attention.attend
        attention.keys_and_values = lambda values: project(next_row(values))
        attention.attend = lambda queries, both, visible: look(queries, both, next_row(visible))
        return
    read = attention.read
    attention.read = lambda values, mask: read(next_row(values), next_row(mask))


# ---- what it costs -------------------------------------------------------------------------------


class Cost(NamedTuple):
    """Of a change, for some of the words: nats a token more than with the model's own attention."""

    change: str
    words: str          # "all", or how long ago they last occurred
    tokens: int
    loss: float         # with the change, nats a token
    more: Interval


@dataclass
class Ablation:
    """The costs of all changes, by change and group of words; tokens and loss of the model's own.
    """

    loss: float
    tokens: int
    costs: list[Cost]

    @property
    def alive(self) -> bool:
        """Whether weights of its own are worth ALIVE nats a token, at the interval's lower end."""
        return self.cost("equal weights").more.low >= ALIVE

    def cost(self, change: str, words: str = "all") -> Cost:
        """ValueError: it was not measured."""
        for one in self.costs:
            if (one.change, one.words) == (change, words):
                return one
        raise ValueError(f"{change}, {words} words, was not measured: expected one of "
                         f"{', '.join(dict.fromkeys(one.change for one in self.costs))}")

    def verdict(self) -> str:
        """In a line, with the number that decides."""
        more = self.cost("equal weights").more
        state = "alive" if self.alive else "idle"
        return (f"attention is {state}: equal weights cost {more} nats a token, and "
                f"{ALIVE:g} is asked of its lower end")


def ablate(model: Any, batches: Any, rng: np.random.Generator,
           changes: Sequence[str] = tuple(CHANGES)) -> Ablation:
    """Measure a model on batches with its own attention, and with each change of it.

    The differences are paired, by sentence, or of a language model by row of each batch, and their
    intervals are mean_interval's. A language model's words are told apart by how many tokens ago
    they last occurred in their row, too. ValueError, TypeError as `changed` has them.
    """
    check_methods("model", model, "a model", "losses", "copy")
    check_methods("batches", batches, "batches, such as PairBatches", "order", "batch", "carried")
    for change in changes:
        check_name("change", change, CHANGES)
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
