"""Loss and perplexity of a model over a corpus."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from numpy_attention.validation.arguments import check_kind, check_methods
from numpy_attention.validation.messages import short_repr
from numpy_attention.data.protocols import Batch, Batches
from numpy_attention.module import Array
from numpy_attention.training.protocols import Model, State
from numpy_attention.training.ranks import SINGLE_PROCESS, SingleProcess
from numpy_attention.training.shares import States, shared
from numpy_attention.training.threads import Threads


@dataclass
class Evaluation:
    """Total loss in nats, tokens predicted (ends of sentence included), and what follows."""

    loss: float
    tokens: int
    # of each row of each batch, where that was asked for: its loss, its tokens
    rows: tuple[Array, Array] | None = None

    @property
    def mean(self) -> float:
        """Nats a token. Errors as perplexity has them."""
        check_kind("loss", self.loss, (int, float, np.floating), "a number")
        whole = isinstance(self.tokens, (int, np.integer)) and not isinstance(self.tokens, bool)
        if not (whole and self.tokens > 0):
            raise ValueError("perplexity needs a positive number of predicted tokens, "
                             f"got {short_repr(self.tokens)}")
        if not math.isfinite(self.loss):
            raise ArithmeticError(f"perplexity needs a finite loss, got {self.loss}: "
                                  "is the model trained?")
        return self.loss / self.tokens

    @property
    def perplexity(self) -> float:
        """exp(loss / tokens), infinite where that overflows.

        ValueError: no tokens; ArithmeticError: a loss that is not finite.
        """
        mean = self.mean
        try:
            return math.exp(mean)
        except OverflowError:
            return math.inf

    def without(self, part: "Evaluation") -> "Evaluation":
        """The same tokens, without the loss of a part of them that was evaluated by itself.

        Where both have rows, they are of the same sequences in the same order.
        """
        rows = None
        if self.rows is not None and part.rows is not None:
            rows = self.rows[0] - part.rows[0], self.rows[1]
        return Evaluation(self.loss - part.loss, self.tokens, rows)

    def __str__(self) -> str:
        return f"perplexity {self.perplexity:.2f} over {self.tokens:,} tokens"


def evaluate(model: Model, batches: Batches, threads: int | Threads = 1,
             ranks: SingleProcess = SINGLE_PROCESS, by_row: bool = False) -> Evaluation:
    """A model on all batches, in their own order.

    threads: a number of them, on each of the ranks, or a pool that is open already. by_row: tell
    the loss and the tokens of each row too, for intervals; the model then needs `losses`.
    """
    check_methods("model", model, "a model", "loss")
    check_methods("batches", batches, "batches, such as PairBatches", "order", "batch", "carried")
    if not isinstance(threads, Threads):
        with Threads(threads, ranks) as pool:
            return evaluate(model, batches, pool, by_row=by_row)

    def work(k: int, part: Batch, before: State) -> tuple[Any, State]:
        if not by_row:
            return model.loss(part, before)
        losses, state = model.losses(part, before)
        return losses.sum(0), state

    loss = 0.0
    tokens = 0
    rows: list[Array] = []
    counts: list[Array] = []
    states: States = None
    for place in batches.order():
        if not batches.carried(place):
            states = None
        batch = batches.batch(place)
        losses, states = shared(threads, batch, states, work)
        tokens += batch.tokens
        if by_row:
            rows += losses
            counts.append(batch.row_tokens)
            losses = [part.sum() for part in losses]
        loss += sum(losses)
    if not by_row:
        return Evaluation(loss, tokens)
    return Evaluation(float(loss), tokens, (np.concatenate(rows), np.concatenate(counts)))
