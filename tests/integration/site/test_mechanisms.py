"""Pages with equations next to code: they show the current sources."""

import ast

from site_pages import mechanisms
from site_pages.mechanisms import PACKAGE


def classes():
    return {one.name: one for modules in mechanisms.found().values()
            for _, found in modules for one in found}


def test_every_class_with_a_backward_pass_has_a_page():
    there = classes()
    for part in mechanisms.GROUPS:
        for path in (PACKAGE / part).glob("*.py"):
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.ClassDef) and "Protocol" not in map(ast.unparse,
                                                                            node.bases):
                    names = {one.name for one in node.body if isinstance(one, ast.FunctionDef)}
                    passes = any(mechanisms.backward_of(name) in names for name in names)
                    assert passes == (node.name in there), node.name


def test_equations_are_shown_as_mathml():
    """Also where nothing but the equations follows the first line of the docstring."""
    there = classes()
    for name in ("Combined", "Single", "NGramReadout", "FixedVector", "RNN", "LayerNorm", "Maxout"):
        text = "\n".join(mechanisms.documented(there[name].doc))
        assert text.count('<div class="formulas">') == 1 and "<math" in text, name


def test_lines_match_the_source():
    additive = classes()["AdditiveAttention"]
    assert [(a.name, b.name) for a, b in additive.pairs] == [
        ("read", "read_backward"), ("score", "score_backward")]
    for pair in (*additive.pairs, *additive.calls):
        for span in filter(None, pair):
            lines = span.path.read_text(encoding="utf-8").splitlines()[span.first - 1:span.last]
            node, = ast.parse(span.text()).body
            assert node.name == span.name and lines[-1].strip() in span.text()
    assert "e_j = v_a · tanh(W_a q + U_a h_j)" in additive.doc
    assert "U_a: Array  # (D, A)" in additive.fields.text()


def test_called_functions_are_shown_below():
    there = classes()
    names = {name: [[span and span.name for span in pair] for pair in one.calls]
             for name, one in there.items()}
    assert ["additive_scores", "additive_scores_backward"] in names["AdditiveAttention"]
    assert ["lstm", "lstm_backward"] in names["LSTM"]
    assert ["dot_scores", None] in names["DotAttention"]
    assert not [name for found in names.values() for pair in found for name in pair
                if name and name.startswith(mechanisms.UNSHOWN)]


def test_page_has_equations_passes_and_a_link_to_the_file():
    path = PACKAGE / "attention" / "additive.py"
    text = mechanisms.text_of(path, mechanisms.mechanisms_of(path))
    assert text.index("# Additive attention") < text.index("{container} equations")
    assert "site:source/numpy_attention/attention/additive.py.html" in text
    score = classes()["AdditiveAttention"].pairs[1]
    for span in score:
        assert f":lineno-start: {span.first}\n" in text and span.text() in text
