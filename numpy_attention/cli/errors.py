"""What is said of an error; of one in a reader's own code with the line of it."""

import sys

from numpy_attention.validation.messages import EXPECTED, format_error


def words_for(error: BaseException, own: str = "") -> str:
    """What an error says. One that is neither expected nor in code of a reader's own is raised.

    own: the code that is run, where every error is of its making.
    """
    code = sys.modules.get("numpy_attention.custom.code")     # where none was run, it need not load
    place = code.place_in_code(error) if code else ""
    if not isinstance(error, EXPECTED):
        place = place or own
    if not (place or isinstance(error, EXPECTED)):
        raise error
    said = format_error(error) if isinstance(error, EXPECTED) else f"{type(error).__name__}: {error}"
    return f"{place}: {said}" if place else said
