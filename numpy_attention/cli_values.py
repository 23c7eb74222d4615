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


def positive(text):
    value = _number(text)
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a positive number")
    return value


def norm(text):
    value = _number(text)
    if not value > 0:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a positive number, or inf to clip nothing")
    return value


def share(text):
    value = _number(text)
    if not 0 <= value < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a share, 0 or more and below 1")
    return value


def not_negative(text):
    value = _number(text)
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a number of at least 0")
    return value


def share_kept(text):
    value = _number(text)
    if not 0 < value <= 1:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a share, above 0 and at most 1")
    return value


def divisor(text):
    value = _number(text)
    if not 1 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a number of at least 1")
    return value


def picture(text):
    """The name of a picture that can be written: told before the work that it is to show."""
    if os.path.splitext(text)[1].lower() not in (".png", ".pdf", ".svg"):
        raise argparse.ArgumentTypeError(f"{text!r}: the name must end with .png, .pdf or .svg")
    folder = os.path.dirname(text)
    if folder and not os.path.isdir(folder):
        raise argparse.ArgumentTypeError(f"{text!r}: there is no folder {folder}; make it first")
    return text


def _number(text):
    try:
        return float(text)
    except ValueError:
        return math.nan
