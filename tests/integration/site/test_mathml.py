"""Equations of docstrings and lessons become MathML, and nothing else does."""

import re
import xml.etree.ElementTree as ET

import pytest
from site_pages import docstrings, lessons, mathml, mechanisms


def inside(text, **options):
    """Return the elements of a formula, without spaces between factors."""
    root = ET.fromstring(mathml.formula(text, **options))
    inner = "".join(ET.tostring(child, encoding="unicode") for child in root)
    return re.sub(r'<mspace width="0.2em" ?/>', "", inner)


@pytest.mark.parametrize("text, made", [
    ("W_a q", "<msub><mi>W</mi><mrow><mi>a</mi></mrow></msub><mi>q</mi>"),
    ("h_{t−1}", "<msub><mi>h</mi><mrow><mi>t</mi><mo>−</mo><mn>1</mn></mrow></msub>"),
    ("Σ_j", "<munder><mo>∑</mo><mrow><mi>j</mi></mrow></munder>"),
    ("√d", "<msqrt><mi>d</mi></msqrt>"),
    ("√(a + b)", "<msqrt><mi>a</mi><mo>+</mo><mi>b</mi></msqrt>"),
    ("dα", '<mi mathvariant="normal">d</mi><mi>α</mi>'),
    ("x̂", '<mover accent="true"><mi>x</mi><mo>^</mo></mover>'),
    ("x_t²", "<msubsup><mi>x</mi><mrow><mi>t</mi></mrow><mrow><mn>2</mn></mrow></msubsup>"),
    ("10^(2i / d_mo)", "<msup><mn>10</mn><mrow><mn>2</mn><mi>i</mi><mo>/</mo><msub><mi>d</mi>"
     "<mrow><mi>m</mi><mi>o</mi></mrow></msub></mrow></msup>"),
    ("∂L/∂W", "<mfrac><mrow><mo>∂</mo><mi>L</mi></mrow><mrow><mo>∂</mo><mi>W</mi></mrow></mfrac>"),
    ("a / b", "<mi>a</mi><mo>/</mo><mi>b</mi>"),
])
def test_formula_as_mathml(text, made):
    assert inside(text) == made


def test_numerator_of_a_derivative_starts_at_its_partial_sign():
    assert inside("q ∂log Z/∂β").startswith("<mi>q</mi><mfrac><mrow><mo>∂</mo><mi>log</mi>")


@pytest.mark.parametrize("text", ["the score", "x # y", "(a", "a)", "window", "a = the largest of"])
def test_words_and_incomplete_formulas_raise(text):
    with pytest.raises(mathml.Unreadable):
        mathml.formula(text, may_have_words=" " in text)


@pytest.mark.parametrize("lines", [
    ["dmemory.defer(\"W_a\", x, dy)    ∂L/∂W_a += xᵀ dy"],
    ["for j in range(H):", "    e_j = q · h_j"],
    ["read    the keys, once a sentence", "step    score, softmax, sum"],
    ["x = 1"],
    ["scores, cache = score(query, memory)    e (B, S)"],
])
def test_code_and_tables_are_not_formulas(lines):
    assert mathml.block(lines) is None


def test_block_keeps_columns_and_remarks():
    html = mathml.block(["e_j = v_a · tanh(W_a q)    score of h_j & more",
                         "α   = softmax(e)           over the words",
                         "c   = the largest of them"])
    rows = ET.fromstring(html.replace("&#8203;", "")).findall("table/tr")
    assert [[cell.get("colspan") for cell in row] for row in rows] == [
        ["1", "1", "1"], ["1", "1", "1"], ["1", "2"]]
    assert "".join(rows[0][2].itertext()) == "score of hj & more"
    assert "".join(rows[2].itertext()) == "c= the largest of them"


def test_mathml_of_every_class_and_lesson_is_well_formed():
    seen = 0
    for modules in mechanisms.found().values():
        for _, classes in modules:
            for one in classes:
                text = "\n".join(docstrings.as_rst(one.doc.splitlines()))
                seen += well_formed(text)
    assert seen > 15
    for path in lessons.files():
        cells = re.sub(r"(?m)^# ?", "", path.read_text(encoding="utf-8"))
        seen += well_formed(mathml.in_markdown(cells))
    assert seen > 90


def well_formed(text):
    found = re.findall(r'<div class="formulas">.*?</div>', text)
    for html in found:
        ET.fromstring(html)
    return len(found)


def test_lesson_keeps_fenced_code_and_prose():
    text = "Text `x`.\n\n    c = Σ_j α_j\n\n```python\n\n    c = Σ_j\n```\n"
    made = mathml.in_markdown(text)
    assert made.startswith('Text `x`.\n\n<div class="formulas">')
    assert made.endswith("</div>\n\n```python\n\n    c = Σ_j\n```\n")
