"""Error messages: library errors name Python arguments, and here they are rewritten as flags."""

import re
import sys
from collections.abc import Sequence

from numpy_attention.cli.parser import Option
from numpy_attention.validation.messages import EXPECTED, format_error

# what the library calls an option that has another name here
ARGUMENTS = {"hidden": ("size",), "pairs": ("count",), "examples": ("count",),
             "next": ("following",)}
# advice of the library about arguments that it does not name
ADVICE = {
    "it is for language models": "it is for numpy-attention train lm",
    "it is for translators": "it is for numpy-attention train",
    "files as source and target": "files with --source and --target",
    "files as text": "files with --text",
    "write over them with force": "write over them with --force",
    "with epochs and minutes": "with --epochs and --minutes",
    "allow more seconds": "allow more with --seconds",
    "train again in another folder": "train again in another folder with --run",
    "tokenize cuts text into words, and characters into letters":
        "--tokenize cuts text into words, and --characters into letters",
}
CALL = re.compile(r"(\w+\([^()]*=[^()]*\))")     # Adam(learning_rate=0.1) stays as it is


def in_flags(message: str, options: Sequence[Option]) -> str:
    """A message of the library with the flags of a command in place of argument names.

    max_length → --max-length everywhere; a name that is also an ordinary word only where it has a
    value: `hidden = 9` → --hidden 9, `size (30)` → --hidden (30).
    """
    for library, command_line in ADVICE.items():
        message = message.replace(library, command_line)
    parts = CALL.split(message)
    for option in options:
        names = (option.name, *ARGUMENTS.get(option.name, ()))
        for name in names if option.kind != "positional" else ():
            end = "( = |=| (?=\\(\\d)" + r"|(?![\w/'\"-]|\.\w)" * ("_" in name) + ")"
            argument = re.compile(rf"(?<![\w/.'\"-]){name}{end}")
            parts[::2] = [argument.sub(lambda found: option.flag + " " * bool(found[1]), part)
                          for part in parts[::2]]
    return "".join(parts)


def text_of(error: Exception) -> str:
    """The text of an error, with the line of user-defined code. An unexpected error is raised."""
    custom = sys.modules.get("numpy_attention.custom.code")     # not imported if no code was run
    if custom:
        return custom.text_of(error)
    if not isinstance(error, EXPECTED):
        raise error
    return format_error(error)
