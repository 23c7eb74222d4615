"""Loss and perplexity of a model over a corpus."""

import math
from dataclasses import dataclass

from numpy_attention.training.threads import Threads
from numpy_attention.trees import join_rows, rows_of


@dataclass
class Evaluation:
    """Total loss in nats, tokens predicted (ends of sentence included), and what follows from them."""

    loss: float
    tokens: int

    @property
    def perplexity(self):
        """exp(loss / tokens), infinite where that overflows. ValueError: no tokens; ArithmeticError: a loss not finite."""
        if not self.tokens > 0:
            raise ValueError(f"perplexity needs a positive number of predicted tokens, got {self.tokens}")
        if not math.isfinite(self.loss):
            raise ArithmeticError(f"perplexity needs a finite loss, got {self.loss}: is the model trained?")
        mean = self.loss / self.tokens
        return math.exp(mean) if mean < 700 else math.inf

    def __str__(self):
        return f"perplexity {self.perplexity:.2f} over {self.tokens:,} tokens"


def evaluate(model, batches, threads=1):
    """→ Evaluation of a model on all batches, in their own order; threads: a number, or a pool that is open already."""
    if not isinstance(threads, Threads):
        with Threads(threads) as pool:
            return evaluate(model, batches, pool)
    loss, tokens, state = 0.0, 0, None
    for place in batches.order():
        batch = batches.batch(place)
        state = state if batches.carried(place) else None
        parts, state = shared(threads, batch, state, lambda k, part, before: model.loss(part, before))
        loss += sum(parts)
        tokens += batch.tokens
    return Evaluation(loss, tokens)


def shared(threads, batch, state, work):
    """Give each thread its rows of a batch: work(k, part, state) → (loss, state); → all losses, the joined state."""
    n = min(threads.count, batch.size)
    results = threads.map(lambda k: work(k, batch.share(k, n), rows_of(state, k, n)) if k < n else None)[:n]
    losses, states = zip(*results)
    return losses, join_rows(states)
