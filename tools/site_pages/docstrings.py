"""Plain docstrings as reStructuredText.

The package's docstrings are prose, in which an indented block is an equation, a table or code whose
layout means something. So a block of equations becomes MathML, any other a literal one, and in
prose nothing is markup but `code` between single backticks.
"""

import re
import textwrap
from itertools import groupby

from site_pages import mathml

INDENTED = re.compile(r"^ +\S")
ITEM = re.compile(r"^- ")
FIELD = re.compile(r"^[a-z_]\w*(, [a-z_]\w*)*: ")
CODE = re.compile(r"(`[^`]+`)")
MARKUP = re.compile(r"([\\*|`])|(?<=\w)_(?!\w)|(?m:^[-+](?! ))")


def cleaned(doc):
    """A docstring without the indentation of its last line. Blocks keep their own."""
    return doc.replace("\n" + doc.rpartition("\n")[2], "\n").strip()


def as_rst(lines):
    """The lines of a docstring, with the indentation of its first line taken off."""
    made = []
    for is_block, part in parts_of(listed(lines)):
        if is_block:
            html = mathml.block(textwrap.dedent("\n".join(part)).splitlines())
            kind, part = ("raw:: html", [html]) if html else ("code-block:: text", part)
            made += ["", f".. {kind}", "", *("    " + line for line in part), ""]
        else:
            made += plain("\n".join(part)).split("\n")
    return made


def listed(lines):
    """The lines, with a paragraph of one `name: text` per line made a list."""
    made = []
    for _, part in groupby(lines, lambda line: bool(line.strip())):
        part = list(part)
        fields = [bool(FIELD.match(line)) for line in part]
        if sum(fields) > 1 and all(is_field or line.startswith("    ")
                                   for is_field, line in zip(fields, part)):
            part = [f"- {line}" if is_field else f"  {line.strip()}"
                    for is_field, line in zip(fields, part)]
        made += part
    return made


def parts_of(lines):
    """Yield (whether it is an indented block, lines), the blank lines within a block its own."""
    prose = []
    is_item = False         # within a point of a list, whose further lines are indented
    place = 0
    while place < len(lines):
        line = lines[place]
        if INDENTED.match(line) and not is_item:
            end = end_of_block(lines, place)
            yield False, prose
            yield True, lines[place:end]
            prose = []
            place = end
            continue
        if line and not line.startswith(" "):
            is_item = bool(ITEM.match(line))
        prose.append(line)
        place += 1
    yield False, prose


def end_of_block(lines, start):
    """Where an indented block ends."""
    end = start
    for place in range(start, len(lines)):
        if INDENTED.match(lines[place]):
            end = place + 1
        elif lines[place].strip():
            break
    return end


def plain(text):
    """Prose in which nothing is markup but code."""
    parts = CODE.split(text)
    for number, part in enumerate(parts):
        if number % 2:
            # what has letters at its side, as a plural's s, is held apart by an empty escape
            before = "\\ " if parts[number - 1][-1:].isalnum() else ""
            after = "\\ " if parts[number + 1][:1].isalnum() else ""
            parts[number] = f"{before}`{part}`{after}"
        else:
            parts[number] = MARKUP.sub(lambda found: "\\" + found[0], part)
    return "".join(parts)
