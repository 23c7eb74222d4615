"""The training loop."""

import dataclasses
import math
import signal
import threading
import time
from pathlib import Path

import numpy as np
from tqdm import tqdm

from numpy_attention.kernels.updates import gather, squared_norm
from numpy_attention.training import checkpoint
from numpy_attention.training.diagnosis import NonFiniteError, first_bad
from numpy_attention.training.evaluation import Evaluation, evaluate, shared
from numpy_attention.training.schedules import Constant
from numpy_attention.training.threads import Threads, available
from numpy_attention.trees import describe, leaves, rebuild

SMALL_STEP = 3e8    # parameters × tokens of a step below which two threads wait for each other longer than they work


@dataclasses.dataclass
class Trainer:
    """Fits a model to batches: loss, gradient, clipping, update; evaluation and checkpoint after every epoch.

    model, optimizer, train: what learns, how, and the batches it learns from; valid: batches to measure it on.
    rng: gives the seed of the run, from which the order of the batches and all dropout follow.
    average: the loss is summed over time and averaged over the "sentence"s of the batch (Zaremba et al. 2014), or over
    its "token"s. clip: largest norm of the gradient. patience: epochs without a better validation loss until the run
    stops (None: never). path: the checkpoint's file; save_steps: write it every so many steps too; about: a dict that
    JSON can hold, kept in the checkpoint. threads: None chooses by the size of a step. progress: show a bar.

    The result depends on the seed and on the number of threads, on nothing else: a run that is killed and resumed ends
    bit-identical to one that was not. TypeError: rng is no Generator; ValueError: an unknown average, a clip not above 0.
    """

    model: object
    optimizer: object
    train: object
    valid: object = None
    rng: np.random.Generator = None
    schedule: object = Constant()
    average: str = "sentence"
    clip: float = 5.0
    patience: int | None = None
    path: str | None = None
    save_steps: int | None = None
    about: dict = dataclasses.field(default_factory=dict)
    threads: int | None = None
    progress: bool = True

    def __post_init__(self):
        if not isinstance(self.rng, np.random.Generator):
            raise TypeError(f"rng is {type(self.rng).__name__}: pass numpy.random.default_rng(seed)")
        if self.average not in ("sentence", "token"):
            raise ValueError(f"average={self.average!r}: expected 'sentence' or 'token'")
        if not self.clip > 0:
            raise ValueError(f"clip={self.clip}: expected a positive norm; math.inf clips nothing")
        self.seed = int(self.rng.integers(2**63))
        if self.threads is None:
            places = self.train.order()                         # those of the shortest sentences come first
            middle = self.train.batch(places[len(places) // 2])
            self.threads = available() if self.model.size * middle.tokens > SMALL_STEP else 1
        self.epoch, self.position, self.step, self.state = 0, 0, 0, None
        self.epoch_loss, self.epoch_tokens, self.epoch_seconds, self.seconds = 0.0, 0, 0.0, 0.0
        self.history, self.best_loss, self.bad_epochs, self.stopped = [], math.inf, 0, False
        self.best = {}
        self.vectors = {name: np.zeros_like(self.model.vector) for name in self.optimizer.slots}

    # ---- the loop -------------------------------------------------------------------------------------------------

    def fit(self, epochs, minutes=None):
        """Train up to `epochs` epochs in all, or until `minutes` of training time are over; → history, a list of dicts.

        Time that runs out ends the epoch where it is; with more minutes a resumed run goes on with the next one.

        Ctrl-C ends the step, saves and raises KeyboardInterrupt. NonFiniteError: a loss or gradient that is not finite.
        """
        with Threads(self.threads) as pool, _Interrupt() as interrupt:
            twins = [self.model.zeros_like() for _ in range(self.threads)]
            while self.epoch < epochs and not self.stopped and not self._out_of_time(minutes):
                self._run_epoch(self._order(self.epoch), pool, twins, interrupt, minutes)
                self._end_epoch(pool)
                self.save()
                if interrupt.asked:
                    self._stop()
        return self.history

    def steps_of(self, epochs):
        """How many steps so many epochs make, from the first on."""
        return sum(len(self._order(epoch)) for epoch in range(epochs))

    def _order(self, epoch):
        """The places of an epoch's batches, shuffled by the run's seed."""
        return self.train.order(np.random.default_rng([self.seed, epoch]))

    def _out_of_time(self, minutes):
        return minutes is not None and self.seconds >= 60 * minutes

    def _stop(self):
        """Save, and end the run as Ctrl-C does."""
        self.save()
        when = f"in epoch {self.epoch + 1}" if self.position else f"at the end of epoch {self.epoch}"
        where = f"saved to {self.path}; the same command resumes it" if self.path else "not saved: no path"
        raise KeyboardInterrupt(f"stopped {when} after {self.step} steps, {where}")

    def _run_epoch(self, order, pool, twins, interrupt, minutes):
        bar = tqdm(total=len(order), initial=self.position, disable=not self.progress, unit="batch", leave=False,
                   desc=f"epoch {self.epoch + 1}, {self.threads} thread{'s' * (self.threads > 1)}", mininterval=0.5)
        with bar:
            while self.position < len(order):
                start = time.perf_counter()
                place = order[self.position]
                if not self.train.carried(place):
                    self.state = None
                loss, tokens = self.train_step(self.train.batch(place), pool, twins)
                self.epoch_loss += loss
                self.epoch_tokens += tokens
                self.position += 1
                elapsed = time.perf_counter() - start
                self.epoch_seconds += elapsed
                self.seconds += elapsed
                if bar.update():
                    mean = self.epoch_loss / self.epoch_tokens
                    bar.set_postfix_str(f"loss {mean:.3f}, perplexity {math.exp(min(mean, 50)):.1f}, "
                                        f"{self.epoch_tokens / self.epoch_seconds:,.0f} tokens/s", refresh=False)
                if interrupt.asked:
                    self._stop()
                if self.save_steps and self.step % self.save_steps == 0:
                    self.save()
                if self._out_of_time(minutes):
                    break

    def train_step(self, batch, pool, twins):
        """One update from one batch; → (loss, tokens). The normaliser is known before the rows are shared out."""
        scale = 1 / (batch.tokens if self.average == "token" else batch.size)

        def work(k, part, before):
            # every share starts from the same generator: dropout hashes the rows' names
            return self.model.loss_and_grad(part, before, scale, twins[k], np.random.default_rng([self.seed, self.step]))

        losses, self.state = shared(pool, batch, self.state, work)
        loss = sum(losses)
        self._update(loss, batch, pool, twins)
        return loss, batch.tokens

    def _update(self, loss, batch, pool, twins):
        """Add the twins, clip by the global norm, and move the parameters, a slice of the vectors in each thread."""
        weights, gradient = self.model.vector, twins[0].vector
        cut = [len(weights) * k // pool.count for k in range(pool.count + 1)]

        def add(k):
            mine = slice(cut[k], cut[k + 1])
            for twin in twins[1:]:
                gather(gradient[mine], twin.vector[mine])
            return squared_norm(gradient[mine])

        norm = math.sqrt(sum(pool.map(add)))
        if not (math.isfinite(loss) and math.isfinite(norm)):
            raise NonFiniteError(f"step {self.step + 1} of epoch {self.epoch + 1}: loss {loss}, gradient norm {norm}; "
                                 f"first to go bad: {first_bad(self.model, batch, twins[0])}. The last checkpoint is "
                                 "untouched; try a smaller learning rate, or look at the batch")
        factor = min(1.0, self.clip / norm) if norm > 0 else 1.0
        self.step += 1
        rate = self.schedule(self.step, self.epoch)

        def move(k):
            mine = slice(cut[k], cut[k + 1])
            vectors = {name: vector[mine] for name, vector in self.vectors.items()}
            self.optimizer.update(weights[mine], gradient[mine], vectors, self.step, rate, factor)

        pool.map(move)

    def _end_epoch(self, pool):
        line = {"epoch": self.epoch + 1, "step": self.step, "seconds": round(self.seconds, 2),
                "train_loss": self.epoch_loss / self.epoch_tokens,
                "train_perplexity": Evaluation(self.epoch_loss, self.epoch_tokens).perplexity,
                "tokens_per_second": round(self.epoch_tokens / self.epoch_seconds), "threads": self.threads}
        smoothing = getattr(self.model, "smoothing", 0.0)
        if smoothing:                                               # then the loss of training is not the text's own
            line["smoothing"] = smoothing
        if self.valid is not None:
            result = evaluate(self.model, self.valid, pool)
            line |= {"valid_loss": result.loss / result.tokens, "valid_perplexity": result.perplexity}
            if line["valid_loss"] < self.best_loss:
                self.best_loss, self.bad_epochs = line["valid_loss"], 0
                self.best = checkpoint.parameters(self.model, "best")
            else:
                self.bad_epochs += 1
                self.stopped = self.patience is not None and self.bad_epochs >= self.patience
        self.history.append(line)
        self.epoch, self.position, self.state = self.epoch + 1, 0, None
        self.epoch_loss, self.epoch_tokens, self.epoch_seconds = 0.0, 0, 0.0
        if self.progress:
            valid = f", validation perplexity {line['valid_perplexity']:.2f}" if "valid_perplexity" in line else ""
            smoothed = " of the smoothed labels" if smoothing else ""
            tqdm.write(f"epoch {line['epoch']}: perplexity {line['train_perplexity']:.2f}{smoothed}{valid}, "
                       f"{line['tokens_per_second']:,} tokens/s, {self.seconds / 60:.1f} minutes")

    def use_best(self):
        """Put the parameters of the epoch with the best validation loss into the model; → the model."""
        if self.best:
            checkpoint.restore(self.model, self.best, "best")
        return self.model

    # ---- checkpoints ------------------------------------------------------------------------------------------------

    SCALARS = ("seed", "epoch", "position", "step", "epoch_loss", "epoch_tokens", "epoch_seconds", "seconds", "history",
               "bad_epochs", "stopped", "threads", "average", "clip")

    def save(self):
        """Write the checkpoint, if there is a path."""
        if self.path is None:
            return
        arrays = checkpoint.parameters(self.model) | self.best
        arrays |= {f"optimizer/{name}": vector for name, vector in self.vectors.items()}
        arrays |= {f"state/{i}": array for i, array in enumerate(leaves(self.state))}
        best_loss = self.best_loss if math.isfinite(self.best_loss) else None
        checkpoint.save(self.path, arrays, {
            "about": self.about, "optimizer": self._optimizer_name(), "best_loss": best_loss,
            "state": describe(self.state), "trainer": {name: getattr(self, name) for name in self.SCALARS}})

    def resume(self):
        """Go on from the checkpoint at `path` if there is one; → whether there was.

        ValueError: it is another model's or optimizer's, or was written with other settings.
        """
        if self.path is None or not Path(self.path).exists():
            return False
        arrays, about = checkpoint.load(self.path)
        if about.get("optimizer") != self._optimizer_name():
            raise ValueError(f"{self.path} was trained with {about.get('optimizer')}, now {self._optimizer_name()}: "
                             "resume with the same optimizer, or choose another path")
        for name in ("average", "clip"):
            if about["trainer"][name] != getattr(self, name):
                raise ValueError(f"{self.path} was trained with {name}={about['trainer'][name]}, now "
                                 f"{getattr(self, name)}: resume with the same settings, or choose another path")
        checkpoint.restore(self.model, arrays)
        for name, vector in self.vectors.items():
            vector[...] = arrays[f"optimizer/{name}"]
        self.__dict__.update(about["trainer"])
        self.best = {name: array for name, array in arrays.items() if name.startswith("best/")}
        self.best_loss = about["best_loss"] if about["best_loss"] is not None else math.inf
        states = iter([arrays[f"state/{i}"] for i in range(sum(name.startswith("state/") for name in arrays))])
        self.state = rebuild(about["state"], states)
        return True

    def _optimizer_name(self):
        return f"{self.optimizer!r}, {self.schedule!r}"


class _Interrupt:
    """Turns the first Ctrl-C into a wish to stop after the step; the second is an ordinary KeyboardInterrupt."""

    def __enter__(self):
        self.asked, self._kept = False, None
        if threading.current_thread() is threading.main_thread():
            self._kept = signal.signal(signal.SIGINT, self._ask)
        return self

    def _ask(self, number, frame):
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True

    def __exit__(self, *error):
        if self._kept is not None:
            signal.signal(signal.SIGINT, self._kept)
