"""The lessons as text, and as cells."""

import re
from pathlib import Path

LESSONS = Path(__file__).parents[2] / "lessons"
FILES = sorted(LESSONS.glob("[0-9][0-9]_*.py"))
TEXTS = {file.name: file.read_text(encoding="utf-8") for file in FILES}


def cells(name):
    """[(whether it is text, body)] of a percent-cell script."""
    parts = re.split(r"^(# %%.*)$", TEXTS[name], flags=re.MULTILINE)
    assert parts[0] == "", "something stands before the first cell"
    assert set(parts[1::2]) == {"# %%", "# %% [markdown]"}
    return [(marker.endswith("[markdown]"), body) for marker, body in zip(parts[1::2], parts[2::2])]
