"""What a run's checkpoint says of it, understood by this version whichever version wrote it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from numpy_attention.training import checkpoint

CHECKPOINT = "checkpoint.npz"
# settings of models that had another name before 0.2.0
RENAMED = {
    "first": "pre_norm",
    "D": "width",
}


def upgraded(configuration: dict[str, Any]) -> dict[str, Any]:
    """A run's configuration with the names that its model's settings have now."""
    settings = {RENAMED.get(name, name): value for name, value in configuration["settings"].items()}
    return configuration | {"settings": settings}


@contextmanager
def understood(path: Path, about: dict[str, Any]) -> Iterator[None]:
    """Within it, what cannot be made of a checkpoint is a ValueError that names both versions."""
    try:
        yield
    except (KeyError, TypeError, ValueError) as error:
        reason = f"it has no {error}" if isinstance(error, KeyError) else error
        raise ValueError(f"{path} is not understood ({reason}); {checkpoint.versions(about)}: "
                         "use the version that wrote it, or train anew in another folder") from None
