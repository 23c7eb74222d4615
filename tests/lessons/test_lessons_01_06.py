"""The lessons as files: cells, prose, and a course that lists them all. (CI runs them; their own asserts check the rest.)"""

import re
from pathlib import Path

import pytest

LESSONS = Path(__file__).parents[2] / "lessons"
FILES = sorted(LESSONS.glob("[0-9][0-9]_*.py"))
PAPERS = {"01_gradients_by_hand.py": (),
          "02_recurrent_network.py": ("Elman 1990", "Werbos 1990", "Pascanu et al. 2013"),
          "03_lstm.py": ("Hochreiter & Schmidhuber 1997", "Gers et al. 2000", "Zaremba et al. 2014, section 3"),
          "04_gru.py": ("Cho et al. 2014", "Bahdanau et al. 2015, A.1.1"),
          "05_attentive_language_model.py": ("Salton, Ross & Kelleher (2017)",),
          "06_key_value_predict.py": ("Daniluk, Rocktäschel, Welbl & Riedel (2017)", "section 2.4, equation 13")}


def cells(text):
    """[(whether it is text, lines)] of a percent-cell script."""
    found = []
    for line in text.splitlines():
        if line.startswith("# %%"):
            assert line in ("# %%", "# %% [markdown]"), f"{line!r} begins no cell"
            found.append((line.endswith("[markdown]"), []))
        elif found:
            found[-1][1].append(line)
        else:
            assert not line, f"{line!r} stands before the first cell"
    return found


def test_the_course_lists_exactly_the_lessons_that_exist():
    listed = re.findall(r"^\| \[(.+?)\]\((.+?)\)", (LESSONS / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert all(name == link for name, link in listed)
    assert [name for name, _ in listed] == [file.name for file in FILES]


@pytest.mark.parametrize("name", sorted(PAPERS))
def test_cells_alternate_between_text_and_code_that_compiles(name):
    text = (LESSONS / name).read_text(encoding="utf-8")
    compile(text, name, "exec")
    parts = cells(text)
    assert parts[0][0] and parts[0][1][0].startswith("# # Lesson " + name[:2]), "a lesson begins with its title"
    assert sum(is_text for is_text, _ in parts) >= 5 and sum(not is_text for is_text, _ in parts) >= 5
    for is_text, lines in parts:
        if is_text:
            assert all(line.startswith("# ") or line in ("#", "") for line in lines), "text stands in comments"
        else:
            compile("\n".join(lines), name, "exec")                  # each cell can be run by itself
    assert any(is_text and any("## Questions" in line for line in lines) for is_text, lines in parts[-1:])


@pytest.mark.parametrize("name", sorted(PAPERS))
def test_says_what_it_is_before_anything_heavy(name):
    text = (LESSONS / name).read_text(encoding="utf-8")
    assert 0 < text.index(f'print("Lesson {name[:2]}') < text.index("\nimport numpy")


@pytest.mark.parametrize("name", sorted(PAPERS))
def test_derives_checks_compares_plants_a_bug_and_names_its_papers(name):
    text = (LESSONS / name).read_text(encoding="utf-8")
    for needed in ("# ## Forward", "# ## Backward", r"gradcheck\(", r"except \(?GradientError", "from numpy_attention",
                   r"assert np.allclose\(", r"plotting.save\("):
        assert re.search(needed, text), f"no {needed}"
    for paper in PAPERS[name]:
        assert paper in text


@pytest.mark.parametrize("name", sorted(PAPERS))
def test_runs_anywhere(name):
    text = (LESSONS / name).read_text(encoding="utf-8")
    assert not re.search(r"""["'](/[a-z]|~/|[A-Za-z]:\\)""", text), "no absolute path"
    assert not re.search(r"^\s*(import|from) (torch|jax)", text, re.MULTILINE)
    assert "plt.show" not in text and "input(" not in text
    assert "default_rng(" in text and "np.random.seed" not in text and "default_rng()" not in text
