"""The report of laws that are broken, beside that of the gradients."""

from dataclasses import dataclass, field

from numpy_attention.gradcheck.report import Report
from numpy_attention.gradcheck.trial import Broken


@dataclass(repr=False)
class LawReport(Report):
    """A Report with the laws that are broken; without gradients, where none could be compared."""

    laws: list[Broken] = field(default_factory=list)

    def __repr__(self):
        if self.wrong:
            heading = super().__repr__()
        elif self.errors:
            heading = (f"{self.title}: every gradient agrees with its central differences; what "
                       "they cannot see is broken")
        else:
            heading = f"{self.title}: no gradient can be compared"
        return "\n".join([heading, *map(str, self.laws)])


def with_laws(report, laws):
    """The same Report, with the laws that are broken."""
    return LawReport(**vars(report), laws=laws) if laws else report
