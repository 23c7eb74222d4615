"""The lessons as files: cells, prose, derivations, papers, a course that lists them all.

CI runs them; their own asserts check the rest.
"""

import ast
import re

import pytest
from lesson_files import LESSONS, TEXTS, cells

PAPERS = {
    "00_attention_on_paper.py": ("Bahdanau, Cho & Bengio (2015)", "Nadaraya 1964, Watson 1964"),
    "01_gradients_by_hand.py": (),
    "02_recurrent_network.py": ("Elman 1990", "Werbos 1990", "Pascanu et al. 2013"),
    "03_lstm.py": ("Hochreiter & Schmidhuber 1997", "Gers et al. 2000",
                   "Zaremba et al. 2014, section 3"),
    "04_gru.py": ("Cho et al. 2014", "Bahdanau et al. 2015, A.1.1"),
    "05_encoder_decoder.py": ("Cho et al.",),
    "06_additive_attention.py": ("Bahdanau",),
    "07_luong_attention.py": ("Luong",),
    "08_scaled_dot_product.py": ("Vaswani et al. (2017)",),
    "09_transformer.py": ("Vaswani",),
    "10_decoding.py": ("Holtzman et al. 2020, section 3.1",),
    "11_attentive_language_model.py": ("Salton, Ross & Kelleher (2017)",),
    "12_key_value_predict.py": ("Daniluk, Rocktäschel, Welbl & Riedel (2017)",
                                "section 2.4, equation 13"),
    "13_your_own_mechanism.py": (),
    "14_how_fast.py": ("Zaremba et al. (2014)",),
}
NO_GRADIENTS = {"00_attention_on_paper.py", "10_decoding.py"}
DERIVED = [name for name in PAPERS if name not in NO_GRADIENTS]
every = pytest.mark.parametrize("name", sorted(PAPERS))


def test_the_course_lists_exactly_the_lessons_that_exist():
    course = (LESSONS / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| \[(.+?)\]\((.+?)\)", course, re.MULTILINE)
    assert all(name == link for name, link in listed)
    assert [name for name, _ in listed] == list(TEXTS) == sorted(PAPERS)


@every
def test_cells_are_text_or_code_and_each_compiles(name):
    parts = cells(name)
    for is_text, body in parts:
        compile(body, name, "exec")                                 # each cell can be run by itself
        lines = [line for line in body.splitlines() if line]
        if is_text:
            comments = all(line.startswith("# ") or line == "#" for line in lines)
            assert lines and comments, "text stands in comments"
        else:
            assert ast.parse(body).body, "a code cell without code"
    assert sum(is_text for is_text, _ in parts) >= 5
    assert sum(not is_text for is_text, _ in parts) >= 5
    assert parts[0][1].startswith(f"\n# # Lesson {name[:2]}") and "# ## Questions" in parts[-1][1]


@every
def test_prints_before_it_imports_anything(name):
    first = ast.unparse(ast.parse(TEXTS[name]).body[0])
    assert re.match(rf"print\(['\"]Lesson {name[:2]}.*flush=True\)", first)


@pytest.mark.parametrize("name", DERIVED)
def test_derives_checks_compares_and_plants_a_bug_that_must_be_caught(name):
    for needed in ("# ## Forward", "# ## Backward", r"gradcheck\(",
                   r"np\.(testing\.assert_)?allclose\(", r"plotting\.save\(|show\(",
                   r"except \(?GradientError|caught\("):
        assert re.search(needed, TEXTS[name]), f"no {needed}"


@every
def test_names_its_papers(name):
    for paper in PAPERS[name]:
        assert paper in TEXTS[name]


@every
def test_runs_anywhere_on_what_ships_and_with_seeds(name):
    text = TEXTS[name]
    assert not re.search(r"""["'](/[a-z]|~/|[A-Za-z]:\\)""", text), "no absolute path"
    assert not re.search(r"^\s*(import|from) (torch|jax)", text, re.MULTILINE)
    assert "plt.show" not in text and "input(" not in text
    assert '"__file__" in globals()' in text or "\nfrom course import " in text
    assert "default_rng(" in text and "default_rng()" not in text
    assert not re.search(r"np\.random\.(?!default_rng)", text)
    assert not re.search(r'"(ptb|wikitext-2|tatoeba-|multi30k-|tinyshakespeare)', text)


def test_lesson_06_prints_the_command_that_uses_its_run():
    text = TEXTS["06_additive_attention.py"]
    assert '"runs" / "lesson-06"' in text
    assert "numpy-attention translate {os.path.relpath(run)}" in text


def test_lesson_10_checks_its_beam_and_plants_bugs():
    for needed in (r"numeric_gradient\(", r"beam_search\(", r"choose\(", r"show\(", r"with_bug\(",
                   r"claims_are_the_models_own\("):
        assert re.search(needed, TEXTS["10_decoding.py"])
