"""What a gradient check raises and warns of."""


class GradientError(AssertionError):
    """A backward pass disagrees with central differences.

    The message says which gradients are wrong and which right, the first line that goes wrong, and
    what kind of mistake it looks like; `report` has all of it, `full` says it with the arrays.
    """

    def __init__(self, report):
        super().__init__(str(report))
        self.report = report

    @property
    def full(self):
        """The message of the full report; the same one where nothing could be compared."""
        return getattr(self.report, "full", str(self))


class NotAParameter(UserWarning):
    """What looks like something to learn, and is neither checked nor trained."""
