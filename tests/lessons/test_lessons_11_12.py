"""Lessons 11 and 12 as files: cells, prose, derivation. (Their own asserts check the rest.)"""

import ast
import re
from pathlib import Path

import pytest

LESSONS = Path(__file__).parents[2] / "lessons"
DECODING, TRANSFORMER = NAMES = ["11_decoding.py", "12_transformer.py"]
text_of = {name: (LESSONS / name).read_text(encoding="utf-8") for name in NAMES}


def cells(text):
    """[(marker, body)] of a percent-cell script."""
    parts = re.split(r"^(# %%.*)$", text, flags=re.MULTILINE)
    assert parts[0] == "", "something stands before the first cell"
    return list(zip(parts[1::2], parts[2::2]))


@pytest.mark.parametrize("name", NAMES)
def test_cells_are_text_or_code_and_each_compiles(name):
    parts = cells(text_of[name])
    assert {marker for marker, _ in parts} == {"# %%", "# %% [markdown]"}
    for marker, body in parts:
        compile(body, name, "exec")
        lines = [line for line in body.splitlines() if line]
        if "markdown" in marker:
            assert lines and all(line.startswith("# ") or line == "#" for line in lines), "text stands in comments"
        else:
            assert ast.parse(body).body, "a code cell without code"
    assert parts[0][1].startswith(f"\n# # Lesson {name[:2]}") and "# ## Questions" in parts[-1][1]
    assert len(text_of[name].splitlines()) < 350, "a lesson is read in one sitting"


@pytest.mark.parametrize("name", NAMES)
def test_prints_before_it_imports_anything(name):
    first = ast.parse(text_of[name]).body[0]
    assert ast.unparse(first).startswith(f"print('Lesson {name[:2]}") and "flush=True" in ast.unparse(first)


@pytest.mark.parametrize("name, needed", [
    (DECODING, ("## Check", r"numeric_gradient\(", r"beam_search\(", r"model\.loss\(", r"choose\(", r"sample\(",
                r"assert honest\.max\(\) < .* and planted\.max\(\) > ")),
    (TRANSFORMER, ("# ## Forward", "# ## Backward", r"gradcheck\(", r"np\.allclose", r"numeric_gradient\(",
                   r"except GradientError as error:\n.*\nelse:\n    raise AssertionError", r"assert \(future == 0\) ==")),
])
def test_derives_checks_holds_equal_and_plants_a_bug_that_must_be_caught(name, needed):
    for pattern in (*needed, r"plotting\.save\(", r"Trainer\("):
        assert re.search(pattern, text_of[name]), f"{name} has no {pattern}"


@pytest.mark.parametrize("name", NAMES)
def test_seeds_every_generator_writes_beside_itself_and_uses_shipped_data(name):
    text = text_of[name]
    assert "default_rng()" not in text and not re.search(r"np\.random\.(?!default_rng)", text)
    assert '"__file__" in globals()' in text
    corpora = set(re.findall(r'"(bible-en-es|grammar-en-fr|dates|reverse|copy|ptb|tatoeba[a-z-]*|multi30k[a-z-]*)"', text))
    assert corpora and corpora <= {"bible-en-es", "grammar-en-fr", "dates", "reverse"}


def test_the_plain_beam_of_lesson_11_finds_what_the_library_finds_on_its_table():
    """The two definitions are taken out of the lesson and run without its training."""
    import numpy as np

    from numpy_attention.data.batching import pair_batch
    from numpy_attention.data.vocabulary import BOS, EOS, PAD
    from numpy_attention.decoding.beam import beam_search
    taken = [node for node in ast.parse(text_of[DECODING]).body if getattr(node, "name", "") in ("Table", "plain_beam")]
    assert len(taken) == 2
    space = {"np": np, "BOS": BOS, "EOS": EOS, "PAD": PAD}
    exec(compile(ast.Module(taken, []), DECODING, "exec"), space)
    table, source = space["Table"](), pair_batch([[4]], [[4]]).source
    for beam in (1, 2, 3, 9):
        found = beam_search(table, source, source > 0, beam)[0]
        assert space["plain_beam"](table, source, beam) == [(tuple(h.ids), h.log_probability) for h in found]
    assert space["plain_beam"](table, source, 1)[0][0] == (4, 7, EOS) and found[0].ids == [5, 6, EOS]
