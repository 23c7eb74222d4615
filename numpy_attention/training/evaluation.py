"""Loss and perplexity of a model over a corpus."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from numpy_attention.data.protocols import Batch, Batches
from numpy_attention.module import Array
from numpy_attention.products import fixed_weights
from numpy_attention.training.distributed.ranks import SINGLE_PROCESS, SingleProcess
from numpy_attention.training.processes import workers
from numpy_attention.training.protocols import Model, State
from numpy_attention.training.shares import States, shared
from numpy_attention.training.threads import Threads
from numpy_attention.validation.arguments import check_methods


@dataclass
class Evaluation:
    """Total loss in nats, and the number of predicted tokens, which includes ends of sentences.

    rows: two arrays, the loss and the token count of each row; None unless evaluate(by_row=True).
    """

    loss: float
    tokens: int
    rows: tuple[Array, Array] | None = None

    @property
    def mean(self) -> float:
        """The mean loss in nats per token. Raises the same errors as `perplexity`."""
        if self.tokens < 1:
            raise ValueError(f"tokens = {self.tokens}; perplexity needs at least 1 predicted token")
        if not math.isfinite(self.loss):
            raise ArithmeticError(f"the loss is {self.loss}; perplexity needs a finite loss. "
                                  "Did training diverge?")
        return self.loss / self.tokens

    @property
    def perplexity(self) -> float:
        """The perplexity exp(loss / tokens), or inf if that overflows.

        Raises ValueError if there are no tokens, and ArithmeticError if the loss is not finite.
        """
        try:
            return math.exp(self.mean)
        except OverflowError:
            return math.inf

    def without(self, part: "Evaluation") -> "Evaluation":
        """Return this evaluation with the loss of `part` subtracted, and an unchanged token count.

        part: an evaluation of some of the tokens of the same sequences, in the same order.
        """
        rows = None
        if self.rows is not None and part.rows is not None:
            rows = self.rows[0] - part.rows[0], self.rows[1]
        return Evaluation(self.loss - part.loss, self.tokens, rows)

    def __str__(self) -> str:
        return f"perplexity {self.perplexity:.2f} over {self.tokens:,} tokens"


def evaluate(model: Model, batches: Batches, threads: int | Threads = 1,
             ranks: SingleProcess = SINGLE_PROCESS, by_row: bool = False) -> Evaluation:
    """Return the Evaluation of a model on all batches, in the order of `batches`.

    threads: the number of threads on each rank, or an open `Threads`. ranks: the processes that
    share the work; ignored with an open `Threads`, which has its own ranks. by_row: also return the
    loss and the number of tokens of each row. The model then needs a method `losses`.
    """
    check_methods("model", model, "a model", "loss")
    check_methods("batches", batches, "batches such as PairBatches", "order", "batch", "carried")
    if not isinstance(threads, Threads):
        with workers(threads, ranks) as pool:
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
        with fixed_weights():
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
