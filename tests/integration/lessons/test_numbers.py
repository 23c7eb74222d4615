"""Numbers in a lesson's text are printed by its run, or set in its code.

`.ci/run` runs every lesson before the tests, and sets NUMPY_ATTENTION_LESSON_LOGS to the folder of
the outputs.
"""

import os
import re
from pathlib import Path

import pytest
from lesson_files import tagged
from test_edition import EDITION

LOGS = os.environ.get("NUMPY_ATTENTION_LESSON_LOGS")
NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?: ?%)?")


def measured(text):
    """Return decimal numbers and percentages of the prose, without equations and code."""
    text = re.sub(r"^#     .*$", "", text, flags=re.MULTILINE)              # indented: equations
    text = re.sub(r"`[^`]*`|\(\d{4}[^)]*\)|\d{4}\.\d{5}", "", text)
    text = re.sub(r"(?:section|equation|figure|table|lesson)s? [\d.]+", "", text, flags=re.I)
    return [number for number in NUMBER.findall(text) if "." in number or "%" in number]


@pytest.mark.parametrize("name", EDITION)
@pytest.mark.skipif(LOGS is None, reason="NUMPY_ATTENTION_LESSON_LOGS names no outputs of lessons")
def test_numbers_in_the_text_are_in_the_output_or_code(name):
    output = (Path(LOGS) / f"{name[:2]}.log").read_text(encoding="utf-8")
    code = "".join(cell.body for cell in tagged(name) if not cell.is_text)
    known = output + code
    for cell in tagged(name):
        for number in measured(cell.body) if cell.is_text else ():
            assert number in known or number.replace(" %", "%") in known, \
                f"{number} stands in the text, not in what is printed"


def test_measured():
    text = ("# At 0.45 of 12 it is 1,234.5, so 30 % more, by section 3.1 of (2015, 2.2)\n"
            "#     y = 0.5 x\n# and `0.1`.\n")
    assert measured(text) == ["0.45", "1,234.5", "30 %"]
