"""The training loop."""

import json
import math
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Sequence

import numpy as np

from numpy_attention.data.protocols import Batch, Batches
from numpy_attention.module import Array
from numpy_attention.products import fixed_weights
from numpy_attention.registry import AVERAGES
from numpy_attention.training import checkpoint, lock, snapshot
from numpy_attention.training.diagnosis import NonFiniteError, first_bad
from numpy_attention.training.distributed.ranks import SINGLE_PROCESS, SingleProcess
from numpy_attention.training.evaluation import Evaluation, evaluate
from numpy_attention.training.interrupt import Interrupt, Stopped
from numpy_attention.training.processes import Processes, shared_memory, workers
from numpy_attention.training.progress import advance, bar_of, print_epoch
from numpy_attention.training.protocols import Model, Optimizer, Schedule, State
from numpy_attention.training.schedules import Constant
from numpy_attention.training.shares import States, add_up, join_states, shared, split_state, update
from numpy_attention.training.threads import Threads, threads_that_pay
from numpy_attention.validation.arguments import (
    check_function,
    check_generator,
    check_kind,
    check_methods,
    check_name,
    check_number,
)
from numpy_attention.validation.arrays import at_least, check_whole
from numpy_attention.validation.paths import exists, is_folder


@dataclass
class Trainer:
    """Fit a model to batches. Each step computes a gradient, clips it and updates the model.

    After every epoch the trainer evaluates the model and writes a checkpoint.

    model, optimizer, train: the model, its optimizer, and the training batches
    valid: the validation batches
    rng: gives the seed of the run, which determines the order of the batches and all dropout
    schedule: the factor of the learning rate at each step
    average: "sentence": the loss is summed over time and averaged over the sentences of the batch
        (Zaremba et al. 2014); "token": it is averaged over the tokens of the batch
    clip: the largest norm of the gradient; a gradient with a larger norm is scaled down to it
    patience: stop after this many epochs without a better validation loss; None: never stop
    average_parameters_from: average the parameters at the end of this epoch and of each later one
        (Izmailov et al. 2018), and keep the mean; None: keep the parameters of the best epoch
    path: the file of the checkpoint, written after every epoch; None: no file is written
    save_steps: also write the checkpoint every `save_steps` steps
    about: a JSON-serializable dict, stored in the checkpoint
    threads: the total number of threads of all ranks; None: chosen from the size of a step. On
        Linux with one rank, they are processes with shared memory rather than threads
    ranks: the processes that train this model together; the first one reads and writes `path`
    progress: show a progress bar, and print one line per epoch
    frozen: names of parameters that are not trained; their gradients are set to 0 before clipping

    For the same model, data and settings, the result depends only on the seed and the number of
    threads. With several ranks, it also depends on the number of threads per rank, unless that is a
    power of two. A run that is killed and resumed gives results that are bit-identical to those of
    an uninterrupted run. Raises TypeError or ValueError for an invalid field, for instance if
    `threads` is not divisible by the number of ranks, and IsADirectoryError if `path` is a folder.
    """

    model: Model
    optimizer: Optimizer
    train: Batches
    valid: Batches | None = None
    rng: np.random.Generator | None = None
    schedule: Schedule = Constant()
    average: str = "sentence"
    clip: float = 5.0
    patience: int | None = None
    average_parameters_from: int | None = None
    path: str | Path | None = None
    save_steps: int | None = None
    about: dict[str, Any] = field(default_factory=dict)
    threads: int | None = None
    progress: bool = True
    ranks: SingleProcess = SINGLE_PROCESS
    frozen: Sequence[str] = ()

    def __post_init__(self) -> None:
        self._check()
        assert self.rng is not None
        self.clip = float(self.clip)                # plain numbers, which a checkpoint can hold
        self.threads = None if self.threads is None else int(self.threads)
        if self.average_parameters_from is not None:
            self.average_parameters_from = int(self.average_parameters_from)
        self.seed = int(self.rng.integers(2**63))
        # the position in the run, which its checkpoint contains (`snapshot`)
        self.epoch = 0                      # finished epochs
        self.position = 0                   # finished batches of this epoch
        self.step = 0
        self.seconds = 0.0
        self._states: States = None         # what the shares here carry to the next batch
        self.ranks_before = self.ranks.count    # the number of ranks before a resume
        self.vectors = {name: np.zeros_like(self.model.vector) for name in self.optimizer.slots}
        # this epoch so far
        self.epoch_loss = 0.0
        self.epoch_tokens = 0
        self.epoch_seconds = 0.0
        # the finished epochs
        self.history: list[dict[str, Any]] = []
        self.best: dict[str, Array] = {}    # parameters of the best epoch, or their mean
        self.best_loss = math.inf
        self.bad_epochs = 0                 # since then
        self.stopped = False                # by patience
        self.frozen_spans = frozen_spans(self.model, self.frozen) if self.frozen else []
        self._alone = False                 # whether it holds the lock of its checkpoint
        if self.threads is None:
            places = self.train.order()     # the shortest sentences come first
            middle = self.train.batch(places[len(places) // 2])
            self.threads = threads_that_pay(self.model.size * middle.tokens, self.ranks)
        self.threads_here()

    def _check(self) -> None:
        """Raise TypeError, ValueError or IsADirectoryError for invalid fields, before training."""
        check_generator(self.rng)
        check_methods("model", self.model, "a model", "vector", "loss", "loss_and_grad")
        check_methods("optimizer", self.optimizer, "an optimizer", "slots", "update")
        both = {"train": self.train, "valid": self.train if self.valid is None else self.valid}
        for name, batches in both.items():
            check_methods(name, batches, "batches such as PairBatches", "order", "batch",
                          "carried")
        check_function("schedule", self.schedule, "a function of step and epoch")
        check_name("average", self.average, AVERAGES)
        check_number("clip", self.clip, np.nextafter(0, 1), finite=False,
                     expected="a positive norm, or math.inf for no clipping")
        at_least(1, patience=self.patience, save_steps=self.save_steps, threads=self.threads,
                 average_parameters_from=self.average_parameters_from)
        if self.path is not None and is_folder(self.path):
            raise IsADirectoryError(f"path is the folder {str(self.path)!r}; expected a file, such "
                                    f"as {str(Path(self.path) / 'checkpoint.npz')!r}")
        check_kind("`about`", self.about, dict, "a dict that can be written as JSON")
        try:
            json.dumps(self.about)
        except (TypeError, ValueError, RecursionError) as error:
            raise TypeError(f"`about` cannot be saved in a checkpoint: {error}. Use only "
                            "strings, numbers, lists and dicts") from None

    def threads_here(self) -> int:
        """Return the number of threads per rank. Raises ValueError if it is not a whole number."""
        assert self.threads is not None                 # __post_init__ has chosen it if it was None
        here, left = divmod(self.threads, self.ranks.count)
        if left:
            raise ValueError(f"threads ({self.threads}) must be divisible by the number of ranks "
                             f"({self.ranks.count}); use {max(here, 1) * self.ranks.count} threads")
        return here

    @property
    def state(self) -> State:
        """The state carried to the next batch. All ranks must access it at the same time."""
        return join_states(self.ranks, self._states)

    @state.setter
    def state(self, state: State) -> None:
        self._states = split_state(self.ranks, self.threads_here(), state)

    # ---- the loop --------------------------------------------------------------------------------

    def fit(self, epochs: int, minutes: float | None = None) -> list[dict[str, Any]]:
        """Train until the run has `epochs` epochs or `minutes` of training; return the history.

        Epochs and minutes count from the start of the run, also after `resume`. The history is a
        list with a dict for each epoch. `patience` may end the run earlier. When time runs out, the
        epoch ends early. A run that is resumed with more minutes continues with the next epoch.
        After a signal such as Ctrl-C, the trainer finishes the step, saves, and raises Stopped,
        which is a KeyboardInterrupt. Raises NonFiniteError if a loss or gradient is not finite, and
        BlockingIOError if another run uses the same `path`.
        """
        check_whole("epochs", epochs, 0)
        if minutes is not None:
            check_number("minutes", minutes, 0, finite=False, expected="a number of at least 0")
        with self.alone(), Interrupt() as interrupt, self.workers() as (pool, grads):
            while self.epoch < epochs and not self.stopped and not self._out_of_time(minutes):
                self._run_epoch(pool, grads, interrupt, minutes)
                self._end_epoch(pool)
                self.save()
                self._leave_if_interrupted(interrupt, saved=True)
        return self.history

    @contextmanager
    def workers(self) -> Iterator[tuple[Threads, list[Model]]]:
        """Context manager that yields the worker pool, and a gradient model for each worker.

        In a pool of processes, only the first process runs the training loop. Before each step, it
        sends epoch, place and rate to the others, which then call `train_on` with them. Before each
        validation, it sends an empty message, and the others call `validate`. A model without
        `move_to` is trained in threads.
        """
        pool = workers(self.threads_here(), self.ranks)
        if not hasattr(self.model, "move_to"):
            pool = Threads(self.threads_here(), self.ranks)
        if not isinstance(pool, Processes):
            with pool:
                yield pool, [self.model.zeros_like() for _ in range(pool.count)]
            return
        with shared_memory(self.model, self.vectors, pool.count) as grads, pool:
            while pool.rank:
                message = pool.told()
                if message:
                    self.train_on(pool, grads, *message)
                else:
                    self.validate(pool)
            yield pool, grads

    def steps_of(self, epochs: int) -> int:
        """Return the number of steps in the first `epochs` epochs."""
        return sum(len(self.order(self.seed, epoch)) for epoch in range(epochs))

    def order(self, seed: int, epoch: int) -> Sequence[Any]:
        """Return the place of each batch of an epoch (see `Batches.order`), in order for `seed`."""
        return self.train.order(np.random.default_rng([seed, epoch]))

    def _out_of_time(self, minutes: float | None) -> bool:
        return minutes is not None and self.seconds >= 60 * minutes

    def _leave_if_interrupted(self, interrupt: Interrupt, saved: bool = False) -> None:
        """Save and raise Stopped if a rank has received a signal.

        If a rank has received only SIGCONT, save and wait for the signal that may follow. saved:
        whether the checkpoint of this step is already written.
        """
        asked, warned = map(max, zip(*self.ranks.allgather((interrupt.asked, interrupt.warned))))
        if not asked and not warned:
            return
        if not saved:
            self.save()
        if not asked:
            asked = max(self.ranks.allgather(interrupt.awaited()))
        if not asked:
            return
        when = f"at the end of epoch {self.epoch}"
        if self.position:
            when = f"in epoch {self.epoch + 1}"
        where = "not saved, because no path was given"
        if self.path is not None:
            where = f"saved to {self.path}; the same command resumes it"
        raise Stopped(f"stopped {when} after {self.step} steps, {where}", asked)

    def _run_epoch(self, pool: Threads, grads: Sequence[Model], interrupt: Interrupt,
                   minutes: float | None) -> None:
        """Train on the remaining batches of this epoch, or until the time is up."""
        order = self.order(self.seed, self.epoch)
        with bar_of(self.epoch + 1, len(order), self.position, pool.count, self.progress,
                    self.ranks.count) as bar:
            while self.position < len(order):
                start = time.perf_counter()
                place = order[self.position]
                rate = self.rate()
                pool.tell(self.epoch, place, rate)
                loss, tokens = self.train_on(pool, grads, self.epoch, place, rate)
                self.position += 1
                self.epoch_loss += loss
                self.epoch_tokens += tokens
                elapsed = self.ranks.broadcast(time.perf_counter() - start)
                self.epoch_seconds += elapsed
                self.seconds += elapsed
                advance(bar, self.epoch_loss, self.epoch_tokens, self.epoch_seconds)
                self._leave_if_interrupted(interrupt)
                if self.save_steps and self.step % self.save_steps == 0:
                    self.save()
                if self._out_of_time(minutes):
                    break

    def rate(self) -> float:
        """Return the schedule's factor of the learning rate for the next step."""
        rate = self.schedule(self.step + 1, self.epoch)
        check_number("the schedule's factor", rate, 0, expected="a number of at least 0")
        return rate

    def train_on(self, pool: Threads, grads: Sequence[Model], epoch: int, place: Any,
                 rate: float) -> tuple[float, int]:
        """Make one training step on train.batch(place); return the result of `train_step`."""
        self.epoch = epoch
        if not self.train.carried(place):
            self._states = None
        return self.train_step(self.train.batch(place), pool, grads, rate)

    def validate(self, pool: Threads) -> Evaluation:
        """Evaluate the model on `valid`."""
        assert self.valid is not None
        return evaluate(self.model, self.valid, pool)

    def train_step(self, batch: Batch, pool: Threads, grads: Sequence[Model],
                   rate: float | None = None) -> tuple[float, int]:
        """Update the model from one batch; return the loss and the number of tokens of the batch.

        grads: for each thread of `pool`, a model of zeros that collects the gradients. rate: the
        schedule's factor of the learning rate; None: `self.rate()`. Raises NonFiniteError if the
        loss or the gradient is not finite.
        """
        rate = self.rate() if rate is None else rate
        # computed before the rows are shared
        scale = 1 / (batch.tokens if self.average == "token" else batch.size)

        def work(k: int, part: Batch, before: State) -> tuple[float, State]:
            # every share starts from the same generator: dropout hashes the rows' ids
            rng = np.random.default_rng([self.seed, self.step])
            result = self.model.loss_and_grad(part, before, scale, grads[k], rng)
            for span in self.frozen_spans:
                grads[k].vector[span] = 0
            return result

        with fixed_weights():
            losses, self._states = shared(pool, batch, self._states, work)
        loss = sum(losses)
        norm = add_up(pool, grads)
        if not (math.isfinite(loss) and math.isfinite(norm)):
            raise NonFiniteError(
                f"step {self.step + 1} of epoch {self.epoch + 1} has loss {loss} and gradient norm "
                f"{norm}. The first NaN or inf is in {first_bad(self.model, batch, grads[0])}. "
                "The last checkpoint is untouched. Try a smaller learning rate, or check the batch")
        factor = min(1.0, self.clip / norm) if norm > 0 else 1.0
        self.step += 1
        update(pool, self.optimizer, self.model.vector, grads[0].vector, self.vectors, self.step,
               rate, factor)
        return loss, batch.tokens

    def _end_epoch(self, pool: Threads) -> None:
        """Add the epoch to the history, compare it with the best epoch, and begin the next one."""
        line = self._line(pool)
        self.history.append(line)
        better = "valid_loss" in line and self._is_better(line["valid_loss"])
        self.epoch += 1
        averaged = self.epoch + 1 - (self.average_parameters_from or math.inf)  # number of epochs
        if averaged == 1 or (better and averaged < 1):
            self.best = checkpoint.parameters(self.model, "best")
        elif averaged > 1:
            self._average(averaged)
        elif self.valid is None:        # the best epoch may be one before a resume
            self.best, self.best_loss = {}, math.inf
        self.position = 0
        self._states = None
        self.epoch_loss = 0.0
        self.epoch_tokens = 0
        self.epoch_seconds = 0.0
        if self.progress:
            print_epoch(line, self.seconds)

    def _line(self, pool: Threads) -> dict[str, Any]:
        trained = Evaluation(self.epoch_loss, self.epoch_tokens)
        line = {
            "epoch": self.epoch + 1,
            "step": self.step,
            "seconds": round(self.seconds, 2),
            "train_loss": trained.mean,
            "train_perplexity": trained.perplexity,
            "tokens_per_second": round(self.epoch_tokens / self.epoch_seconds),
            "threads": self.threads,
        }
        smoothing = getattr(self.model, "smoothing", 0.0)
        if smoothing:                       # the training loss is then that of smoothed labels
            line["smoothing"] = smoothing
        if self.valid is not None:
            pool.tell()
            valid = self.validate(pool)
            line["valid_loss"] = valid.mean
            line["valid_perplexity"] = valid.perplexity
        return line

    def _is_better(self, valid_loss: float) -> bool:
        """Return whether valid_loss is the lowest so far.

        If not, set `stopped` if `patience` epochs have passed without a lower valid_loss.
        """
        if valid_loss < self.best_loss:
            self.best_loss = valid_loss
            self.bad_epochs = 0
            return True
        self.bad_epochs += 1
        self.stopped = self.bad_epochs >= float(self.patience or math.inf)
        return False

    def _average(self, n: float) -> None:
        """Update the mean θ̄ with the n-th epoch's parameters θ: θ̄ ← θ̄ + (θ − θ̄) / n."""
        for name, now in checkpoint.parameters(self.model, "best").items():
            self.best[name] += (now - self.best[name]) / n

    def use_best(self) -> Model:
        """Load the best epoch's parameters, or the averaged ones, if any; return the model."""
        if self.best:
            checkpoint.restore(self.model, self.best, "best")
        return self.model

    # ---- checkpoints -----------------------------------------------------------------------------

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Context manager that locks `path`. Raises BlockingIOError if another run holds the lock.

        On entry, it removes half-written files that killed runs have left behind.
        """
        path = self.path
        if path is None or self._alone:
            yield
            return
        with ExitStack() as until:
            self.ranks.first(lambda: until.enter_context(lock.held(path)))
            self.ranks.first(lambda: checkpoint.remove_partial(path))
            self._alone = True
            try:
                yield
            finally:
                self._alone = False

    def save(self) -> None:
        """Write the checkpoint to `path`, if any. Raises BlockingIOError if another run uses it."""
        if self.path is not None:
            with self.alone():
                snapshot.write(self, self.path)

    def resume(self) -> bool:
        """Continue from the checkpoint at `path`, if any; return whether there was a checkpoint.

        Raises ValueError if the checkpoint does not fit this trainer (see `snapshot.read`), and
        BlockingIOError if another run uses `path`.
        """
        path = self.path
        if path is None or not self.ranks.first(lambda: exists(path)):
            return False
        with self.alone():
            snapshot.read(self, path)
        return True


def frozen_spans(model: Model, names: Sequence[str]) -> list[slice]:
    """Return the flat vector's slice for each of `names`. Raises ValueError for an unknown name."""
    spans = {}
    start = 0
    for name, array in model.named_parameters():
        spans[name] = slice(start, start + array.size)
        start += array.size
    for name in names:
        check_name("frozen", name, spans)
    return [spans[name] for name in names]
