"""Schedules: schedule(step, epoch) is the share of the learning rate at this step.

Steps count from 1, epochs from 0.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Constant:
    """The whole learning rate, always."""

    def __call__(self, step: int, epoch: int) -> float:
        return 1.0


@dataclass(frozen=True)
class Decay:
    """Full for `full_epochs`, then divided by `divisor` before each epoch (Zaremba et al. 2014)."""

    full_epochs: int
    divisor: float

    def __post_init__(self) -> None:
        if self.full_epochs < 0 or self.divisor < 1:
            raise ValueError(f"Decay(full_epochs={self.full_epochs}, divisor={self.divisor}): "
                             "expected full_epochs of at least 0 and a divisor of at least 1")

    def __call__(self, step: int, epoch: int) -> float:
        return self.divisor ** -max(0, epoch + 1 - self.full_epochs)


@dataclass(frozen=True)
class LinearDecay:
    """From 1 at the first step straight down to `last` after step `steps`, and so from there on."""

    steps: int
    last: float = 0.0

    def __post_init__(self) -> None:
        if self.steps < 1 or not 0 <= self.last <= 1:
            raise ValueError(f"LinearDecay(steps={self.steps}, last={self.last}): "
                             "expected at least one step and a last share in [0, 1]")

    def __call__(self, step: int, epoch: int) -> float:
        return max(self.last, 1 - (1 - self.last) * (step - 1) / self.steps)


@dataclass(frozen=True)
class Warmup:
    """Up in a straight line over `steps` steps, then down with 1 / √step: min(t / w, √(w / t)).

    Vaswani et al. 2017, equation 3, with a learning rate of (D w)^−0.5 at the top.
    """

    steps: int

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise ValueError(f"Warmup(steps={self.steps}): expected at least one step")

    def __call__(self, step: int, epoch: int) -> float:
        return min(step / self.steps, (self.steps / step) ** 0.5)
