"""Smoke tests of the tools, and parsing of the verses from which the shipped corpora are built."""

import base64
import json
import os
import subprocess
import sys
from pathlib import Path

import build_corpora
import line_budget
import numpy as np
import pytest
from build_corpora import Verse, cut_points, link_words, parse_verse

from numpy_attention.training import checkpoint

ROOT = Path(__file__).resolve().parents[3]
LESSON = '''# %% [markdown]
# # A lesson

# %%
import sys
from pathlib import Path
print("one", flush=True)
assert __name__ == "__main__" and sys.path[0] == str(Path(__file__).parent)

# %%
x = 2

# %%
from matplotlib import pyplot as plt
from numpy_attention import plotting
figure, ax = plt.subplots()
ax.set_title("a line,\\nand more")
print("two")
plotting.save(figure, Path(__file__).parent / "line.png")
print(x)
'''


def tool(name, *words):
    return subprocess.run([sys.executable, str(ROOT / "tools" / name), *map(str, words)],
                          env={**os.environ, "PYTHONPATH": str(ROOT)}, cwd=ROOT,
                          capture_output=True, text=True)


# ---- budgets and results ------------------------------------------------------------------------


def test_exceeded_budget_is_an_error(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(line_budget, "tracked", lambda: {"a/b.py": 7, "a.py": 2, "ab/c.py": 5})
    budgets = tmp_path / "budgets.ini"
    text = "[a]\nfolders = a a.py\nlines = {}\nreason = a long table\n"
    budgets.write_text(text.format(9))
    assert line_budget.main(["--budgets", str(budgets)]) == 0
    assert "9       9 a (a long table)" in capsys.readouterr().out
    budgets.write_text(text.format(8))
    assert line_budget.main(["--budgets", str(budgets)]) == 1
    assert "over budget: a by 1 lines" in capsys.readouterr().err


def test_budgets_name_existing_folders():
    ended = tool("line_budget.py")
    assert ended.returncode in (0, 1) and " 0 " not in ended.stdout, ended.stderr


# ---- lessons ------------------------------------------------------------------------------------


def test_notebook_has_text_and_figures_of_each_cell(tmp_path):
    lesson, out = tmp_path / "lesson.py", tmp_path / "out.json"
    lesson.write_text(LESSON, encoding="utf-8")
    ended = tool("lessons.py", "run", lesson, out)
    assert (ended.returncode, ended.stdout) == (0, "one\ntwo\n2\n"), ended.stderr
    first, second, (text, picture, rest) = json.loads(out.read_text(encoding="utf-8"))
    assert first == [{"text": "one\n"}] and second == []
    assert text == {"text": "two\n"} and rest == {"text": "2\n"}
    assert picture["titles"] == ["a line, and more"]
    assert base64.b64decode(picture["png"]) == (tmp_path / "line.png").read_bytes()


def test_error_in_a_lesson_has_its_line_and_nothing_is_written(tmp_path):
    lesson, out = tmp_path / "lesson.py", tmp_path / "out.json"
    lesson.write_text(LESSON.replace("x = 2", "x = 1 / 0"), encoding="utf-8")
    ended = tool("lessons.py", "run", lesson, out)
    line = 1 + LESSON.splitlines().index("x = 2")
    assert ended.returncode == 1 and f'lesson.py", line {line}, in <module>' in ended.stderr
    assert not out.exists()


def test_shipped_model_is_a_run_without_optimizer_state(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "lessons")
    import translator_parts

    import lessons
    pairs, digest = translator_parts.bible_clauses()
    monkeypatch.setattr(translator_parts, "bible_clauses", lambda: (pairs[:200], digest))
    assert lessons.main(["checkpoint", "--epochs", "1", "--out", str(tmp_path)]) == 0
    arrays, _ = checkpoint.load(tmp_path / "lesson-06" / "checkpoint.npz")
    assert all(name.startswith("parameters/") for name in arrays)
    monkeypatch.setattr(translator_parts, "SHIPPED", tmp_path)
    monkeypatch.setattr(translator_parts, "SUMS", tmp_path / "SHA256SUMS")
    translator = translator_parts.shipped_translator("lesson-06")
    assert np.isfinite(translator.model.vector).all()
    assert translator.corpus["part"] == "clauses"       # so `heatmap --index 3` works


# ---- corpora ------------------------------------------------------------------------------------


def w(number, text):
    return f'<w lemma="strong:{number}">{text}</w>'


def tagged(*words):
    """Return a Verse from "light/H216" (a tag), "la+luz/H216" (two words), "the" (no tag)."""
    tokens, tags, numbers = [], [], []
    for word in words:
        text, _, number = word.partition("/")
        if number:
            numbers.append((number,))
        for token in text.split("+"):
            tokens.append(token)
            tags.append(len(numbers) - 1 if number else None)
    return Verse(tuple(tokens), tuple(tags), tuple(numbers))


@pytest.mark.parametrize("markup, tokens", [
    (f"And {w('H0430', 'God')} said, let be light.", "and god said , let be light ."),
    ('God<note placement="foot">A note.</note>made', "god made"),
    ('<title canonical="true" type="psalm">A Psalm.</title> Lord', "a psalm . lord"),
    ("his brothers’ sons of Judæa, Tubal-cain", "his brothers' sons of judaea , tubal-cain"),
    (w("H0559", "di") + '<transChange type="added">les</transChange>', "diles"),
])
def test_markup_is_removed(markup, tokens):
    assert " ".join(parse_verse(markup).tokens) == tokens


def test_tags_that_occur_equally_often_link_words():
    english = tagged("and", "god/H1", "light/H2", "god/H1")
    sure, possible = link_words(english, tagged("dios/H1", "la+luz/H2"))
    assert sure == set() and possible == {(2, 1), (2, 2)}
    sure, _ = link_words(english, tagged("luz/H2", "dios/H1", "dios/H1"))
    assert sure == {(1, 1), (2, 0), (3, 2)}


def test_clause_boundaries_need_punctuation_on_both_sides_and_no_crossing_link():
    english, spanish = "a , b , c .".split(), "x , y , z .".split()
    assert cut_points(english, spanish, {(0, 0), (2, 2), (4, 4)}) == [(2, 2), (4, 4)]
    assert cut_points(english, spanish, {(0, 2), (2, 0), (4, 4)}) == [(4, 4)]
    assert cut_points(english, spanish, {(0, 4), (2, 2), (4, 0)}) == []


def test_clause_shared_by_two_splits_is_withheld():
    pairs = [(f"Gen 1:{k}", tagged("and/H1", "so/H2", ",", f"word{k}/H3", "."),
              tagged("y/H1", "la+cosa/H2", ":", f"palabra{k}/H3", ".")) for k in range(60)]
    lines = build_corpora.parallel_lines(pairs, percent=20)
    assert all(lines.values()) and sum(map(len, lines.values())) == 60
    assert all(row.endswith("\t0-0 1p1 1p2 3-4\t3-4! 5-6") for rows in lines.values()
               for row in rows)
    train = build_corpora.parallel_lines(pairs, percent=0)["train"]
    assert all(row.endswith("\t3-4 5-6") for row in train)
