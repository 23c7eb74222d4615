"""Cells and stacks of cells implement RecurrentCell with the same argument names."""

import inspect

import pytest

from numpy_attention.cells.bidirectional import Bidirectional
from numpy_attention.cells.protocol import RecurrentCell
from numpy_attention.cells.stacked import Stacked
from numpy_attention.layers.dropout import Dropout
from numpy_attention.registry import CELLS, resolve

KINDS = [resolve("cell", name, CELLS) for name in CELLS]


@pytest.mark.parametrize("kind", KINDS)
def test_cells_and_stacks_implement_the_protocol(rng, kind):
    one = kind.create(rng, 2, 3)
    stack = Stacked([one, kind.create(rng, 3, 4)], Dropout())
    assert isinstance(one, RecurrentCell) and isinstance(stack, RecurrentCell)
    assert not isinstance(Bidirectional(one, one), RecurrentCell)


def defaults(method):
    return {p.name: p.default for p in inspect.signature(method).parameters.values()}


@pytest.mark.parametrize("kind", KINDS + [Stacked])
def test_argument_names_and_defaults_match_the_protocol(kind):
    methods = [name for name in vars(RecurrentCell)
               if not name.startswith("_") and callable(getattr(RecurrentCell, name))]
    assert {"project", "begin", "step", "step_backward", "end_backward", "forward"} <= set(methods)
    for name in methods:
        expected = defaults(getattr(RecurrentCell, name))
        given = defaults(getattr(kind, name))
        assert list(given)[:len(expected)] == list(expected), name
        assert {parameter: given[parameter] for parameter in expected} == expected, name
        assert all(given[parameter] is None for parameter in given.keys() - expected.keys()), name
