"""What lessons derive, taken out of them and run against the library with other numbers."""

import ast

import numpy as np
from lesson_files import TEXTS

from numpy_attention.data.batching import pair_batch
from numpy_attention.data.vocabulary import BOS, EOS, PAD
from numpy_attention.decoding.beam import beam_search


def test_the_plain_beam_of_lesson_11_finds_what_the_library_finds_on_its_table():
    """The two definitions are taken out of the lesson and run without its training."""
    lesson = ast.parse(TEXTS["10_decoding.py"])
    taken = [node for node in lesson.body if getattr(node, "name", "") in ("Table", "plain_beam")]
    assert len(taken) == 2
    space = {"np": np, "BOS": BOS, "EOS": EOS, "PAD": PAD}
    exec(compile(ast.Module(taken, []), "10_decoding.py", "exec"), space)
    table = space["Table"]()
    source = pair_batch([[4]], [[4]]).source
    for beam in (1, 2, 3, 9):
        found = beam_search(table, source, source > 0, beam)[0]
        wanted = [(tuple(h.ids), h.log_probability) for h in found]
        assert space["plain_beam"](table, source, beam) == wanted
    assert space["plain_beam"](table, source, 1)[0][0] == (4, 7, EOS)
    assert found[0].ids == [5, 6, EOS]
