"""Exceptions and warnings of a gradient check."""


class GradientError(AssertionError):
    """A gradient disagrees with central differences, or a pass breaks a law or raises an error.

    The message lists the correct and the wrong gradients, the first wrong line if the source can be
    traced, and the likely kind of mistake. A law is a property that differences cannot test, such
    as that no pass changes its inputs. `report` is the Report, or the message if there is none.
    """

    def __init__(self, report):
        super().__init__(str(report))
        self.report = report

    @property
    def full(self):
        """The text of the full report, with arrays, or the message if there is no Report."""
        return getattr(self.report, "full", str(self))


class NotAParameter(UserWarning):
    """Warning that a float field looks like a parameter, but is neither checked nor trained."""


class NotChecked(UserWarning):
    """Warning about elements that are not compared because the loss has a kink or a jump there."""


class NotFloat32(UserWarning):
    """Warning that a pass returns float64 although all parameters and inputs are float32."""
