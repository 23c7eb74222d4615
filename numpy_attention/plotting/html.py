"""A heatmap as an HTML table, for notebooks, in light and dark mode and without JavaScript."""

import html
import unicodedata
from collections.abc import Collection, Sequence

import numpy as np

from numpy_attention.module import Array

NOTHING = "\ufffd"      # replaces what is not a character
# a blue on which white and black text are readable; the weight is the opacity
COLOUR = "rgba(0, 114, 178, {share:.3f})"
CELL = "padding:.2em .4em;text-align:center;min-width:2.2em"
GOLD = ";outline:2px solid #d55e00;outline-offset:-2px"
PLAIN = ";outline:1px dashed #d55e00;outline-offset:-2px"


def heatmap_table(
    weights: Array,
    columns: Sequence[str],
    rows: Sequence[str],
    sure: Collection[tuple[int, int]] = (),
    possible: Collection[tuple[int, int]] = (),
    caption: str = "",
) -> str:
    """Return weights (T, S) as an HTML table with a row for each target token.

    sure, possible: links (source position s, target position t). A NaN weight gives an empty cell:
    the position cannot be attended to. Other cells show the weight as a number and as a colour.
    """
    head = "".join(f'<th scope="col">{token_html(token)}</th>' for token in columns)
    lines = [f'<tr><td></td>{head}</tr>']
    for t, token in enumerate(rows):
        cells = [cell(float(weights[t, s]), (s, t), sure, possible) for s in range(len(columns))]
        lines.append(f'<tr><th scope="row" style="text-align:right">{token_html(token)}</th>'
                     f'{"".join(cells)}</tr>')
    above = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    body = "\n".join(lines)
    return f'<table style="border-collapse:collapse">{above}\n{body}\n</table>'


def cell(weight: float, place: tuple[int, int], sure: Collection[tuple[int, int]],
         possible: Collection[tuple[int, int]]) -> str:
    """Return the table cell of a weight. place: (source position, target position)."""
    if np.isnan(weight):
        return f'<td style="{CELL}"></td>'
    style = f"{CELL};background:{COLOUR.format(share=0.75 * min(1.0, max(0.0, weight)))}"
    link = ""
    if place in sure:
        style += GOLD
        link = ' title="gold link"'
    elif place in possible:
        style += PLAIN
        link = ' title="possible link"'
    number = f"{weight:.2f}"
    return f'<td style="{style}"{link}>{number}</td>'


def token_html(token: str) -> str:
    """Return a token as HTML text, with control and invalid characters replaced."""
    return f"<bdi>{html.escape(''.join(map(visible, token)))}</bdi>"


def visible(character: str) -> str:
    """Return a character or, if it is a control or invalid character, a visible replacement."""
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    if unicodedata.category(character) in ("Cc", "Cs") or code in (0x2028, 0x2029):
        return NOTHING
    return character
