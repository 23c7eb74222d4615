"""What an option of the command line may be: converters that say what they expect."""

import argparse
import math
import os


def whole(low):
    """A converter to whole numbers of at least `low`."""
    def convert(text):
        try:
            value = int(text)
        except ValueError:
            value = None
        if value is None or value < low:
            raise argparse.ArgumentTypeError(f"{text!r}: expected a whole number of at least {low}")
        return value
    return convert


def number(holds, expected):
    """A converter to the numbers for which `holds` says so; `expected` puts it in words."""
    def convert(text):
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not holds(value):
            raise argparse.ArgumentTypeError(f"{text!r}: expected {expected}")
        return value
    return convert


positive = number(lambda value: 0 < value < math.inf, "a positive number")
not_negative = number(lambda value: 0 <= value < math.inf, "a number of at least 0")
norm = number(lambda value: value > 0, "a positive number, or inf to clip nothing")
share = number(lambda value: 0 <= value < 1, "a share, 0 or more and below 1")
share_kept = number(lambda value: 0 < value <= 1, "a share, above 0 and at most 1")
divisor = number(lambda value: 1 <= value < math.inf, "a number of at least 1")


def picture(text):
    """The name of a picture that can be written: told before the work that it is to show."""
    if os.path.splitext(text)[1].lower() not in (".png", ".pdf", ".svg"):
        raise argparse.ArgumentTypeError(f"{text!r}: the name must end with .png, .pdf or .svg")
    folder = os.path.dirname(text)
    if folder and not os.path.isdir(folder):
        raise argparse.ArgumentTypeError(f"{text!r}: there is no folder {folder}; make it first")
    return text
