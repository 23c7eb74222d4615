"""What the tests of the view do in a tab where a page is open, and read there."""

import numpy as np

from numpy_attention.data.pairs import Pair

SENTENCE = "w1 w2 w3 w4"
EXAMPLES = [
    Pair(("w1", "w2", "w3"), ("w4", "w5", "w6"), {(0, 0), (1, 2)}, {(2, 1)}),
    Pair(("w7", "w8"), ("w9", "w1", "w2")),
]


def write(tab, text, place="#source"):
    """Type it, and wait until a slow machine has caught up."""
    tab.fill(place, text)
    settle(tab)


def settle(tab):
    """What is put off while somebody types is done."""
    tab.wait_for_timeout(150)


def translation(tab, model=0):
    return tab.locator(".translation").nth(model).inner_text()


def weights(tab, table=0):
    """The numbers of a table of weights."""
    return np.array(tab.locator("table.heatmap").nth(table).evaluate(
        "(table) => [...table.tBodies[0].rows].map((row) => [...row.querySelectorAll('td')]"
        ".map((cell) => Number(cell.textContent)))"))


def cell(tab, t, s):
    return tab.locator("table.heatmap tbody tr").nth(t).locator("td").nth(s)


def greedily(tab, text=SENTENCE):
    """From the most probable word at each step, so that the engine's own search can be asked."""
    tab.fill("input[type=number]", "1")
    write(tab, text)
    return translation(tab)


def expanded(tab):
    for one in tab.locator(".within > details").all():
        one.evaluate("(one) => { one.open = true; }")
    settle(tab)
