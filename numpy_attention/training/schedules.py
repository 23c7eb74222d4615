"""Schedules: schedule(step, epoch) returns the factor of the learning rate. step ≥ 1, epoch ≥ 0."""

from dataclasses import dataclass

from numpy_attention.validation.arguments import check_number
from numpy_attention.validation.arrays import check_whole


@dataclass(frozen=True)
class Constant:
    """The full learning rate at every step."""

    def __call__(self, step: int, epoch: int) -> float:
        return 1.0


@dataclass(frozen=True)
class Decay:
    """Learning-rate factor: 1 for `full_epochs` epochs, then divided by `divisor` per epoch.

    This is the schedule of Zaremba et al. 2014.
    """

    full_epochs: int
    divisor: float

    def __post_init__(self) -> None:
        check_whole("full_epochs", self.full_epochs, 0)
        check_number("divisor", self.divisor, 1, expected="a number of at least 1")

    def __call__(self, step: int, epoch: int) -> float:
        return float(self.divisor) ** -max(0, epoch + 1 - self.full_epochs)


@dataclass(frozen=True)
class LinearDecay:
    """Learning-rate factor that decays linearly from 1 at step 1 to `last` after `steps` steps."""

    steps: int
    last: float = 0.0

    def __post_init__(self) -> None:
        check_whole("steps", self.steps, 1)
        check_number("last", self.last, 0, 1, "a fraction in [0, 1]")

    def __call__(self, step: int, epoch: int) -> float:
        return max(self.last, 1 - (1 - self.last) * (step - 1) / self.steps)


@dataclass(frozen=True)
class Warmup:
    """Linear warm-up over `steps` steps, then decay: min(step / steps, √(steps / step)).

    This is Vaswani et al. 2017, equation 3, if the learning rate is (size · steps)^−0.5 for the
    `size` of the Transformer.
    """

    steps: int

    def __post_init__(self) -> None:
        check_whole("steps", self.steps, 1)

    def __call__(self, step: int, epoch: int) -> float:
        return min(step / self.steps, (self.steps / step) ** 0.5)
