"""What a gradient check raises and warns of."""


class GradientError(AssertionError):
    """A backward pass disagrees with central differences, or breaks a law.

    The message has the wrong and the correct gradients, the first wrong line and the likely kind of
    mistake. `report` is the whole Report, `full` its text with the arrays.
    """

    def __init__(self, report):
        super().__init__(str(report))
        self.report = report

    @property
    def full(self):
        """The text of the full report; the message if nothing could be compared."""
        return getattr(self.report, "full", str(self))


class NotAParameter(UserWarning):
    """A number that looks like something to learn, but is neither checked nor trained."""


class NotChecked(UserWarning):
    """Elements of an input at which a gradient check cannot measure: they lie on a kink."""


class NotFloat32(UserWarning):
    """A pass that gives float64 where all parameters and inputs are float32, as in training."""
