"""The folder that Sphinx builds from: its contents, and that unchanged files are not rewritten."""

import json
import os

import pytest
from site_pages import lessons, staging

pytest.importorskip("jupytext", reason="the site needs the extra site")
UNRUN = dict.fromkeys(path.name[:2] for path in lessons.files())


@pytest.fixture(scope="module")
def staged(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stage")
    gone, asked = staging.stage(folder, UNRUN)
    assert not gone and all((staging.ROOT / path).exists() for path in asked)
    return folder


def test_every_text_and_lesson_is_in_a_table_of_contents(staged):
    index = (staged / "index.md").read_text(encoding="utf-8")
    for path in (staging.ROOT / "docs").glob("*.md"):
        assert (staged / "docs" / path.name).is_file()
        assert f"<docs/{path.stem}>\n" in index or f"\ndocs/{path.stem}\n" in index
    course = (staged / "lessons" / "index.md").read_text(encoding="utf-8")
    for path in lessons.files():
        assert (staged / "lessons" / f"{path.stem}.ipynb").is_file()
        assert f"\n{path.stem}\n" in course


def test_unchanged_files_are_not_rewritten(staged):
    before = {path: path.stat().st_mtime_ns for path in staged.rglob("*") if path.is_file()}
    page = staged / "docs" / "custom_mechanisms.md"
    page.write_text("another")
    (staged / "old.md").write_text("# Old\n")
    assert staging.stage(staged, UNRUN)[0]                          # old.md is removed
    after = {path: path.stat().st_mtime_ns for path in staged.rglob("*") if path.is_file()}
    assert set(after) == set(before)
    assert [path for path in after if after[path] != before[path]] == [page]
    assert page.read_text(encoding="utf-8") != "another"


def test_interactive_page_is_embedded_in_its_lesson(tmp_path, staged):
    name = "lessons/06_additive_attention.ipynb"
    assert "living/06.html" not in (staged / name).read_text(encoding="utf-8")
    staging.stage(tmp_path, UNRUN, living=tmp_path)
    book = json.loads((tmp_path / name).read_text(encoding="utf-8"))
    places = [number for number, cell in enumerate(book["cells"])
              if "living/06.html" in "".join(cell["source"])]
    answers = [number for number, cell in enumerate(book["cells"])
               if "".join(cell["source"]).startswith("## Answers")]
    assert len(places) == len(answers) == 1 and places < answers


def test_front_page_has_heatmap_and_results(tmp_path, staged):
    index = (staged / "index.md").read_text(encoding="utf-8")
    assert (staged / "docs" / "attention.png").is_file() and "docs/attention.png" in index
    assert "\n| measured | here | reference |\n" in index
    assert "living/06.html" not in index
    staging.stage(tmp_path, UNRUN, living=tmp_path)
    assert 'src="living/06.html"' in (tmp_path / "index.md").read_text(encoding="utf-8")


def test_course_lists_titles_prerequisites_minutes_and_exercises(staged):
    course = (staged / "lessons" / "index.md").read_text(encoding="utf-8")
    row, = [line for line in course.splitlines() if line.startswith("| [02: ")]
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[0].startswith("[02: the recurrent network]")
    assert cells[2] == "lesson 01" and cells[3].endswith(" min") and "`bptt`" in cells[4]


def test_api_lists_names_by_task_and_hides_internals_from_search(staged):
    index = (staged / "api" / "index.md").read_text(encoding="utf-8")
    attention = index.split("## Attention")[1].split("\n## ")[0]
    assert "<numpy_attention.attention.additive.AdditiveAttention>` | Additive" in attention
    for name in ("cli", "cli/train", "gradcheck-internals/locate.search"):
        text = (staged / "api" / f"{name}.md").read_text(encoding="utf-8")
        assert text.startswith("---\nnosearch: true\n") and ":no-index:" in text
    assert ":no-index:" not in (staged / "api" / "gradcheck.md").read_text(encoding="utf-8")


def test_long_subpackage_has_a_page_per_module(staged):
    lines = (staged / "api" / "attention.md").read_text(encoding="utf-8").splitlines()
    at = {line[3:]: number for number, line in enumerate(lines) if line.startswith("## ")}
    first, *_, last = at
    assert first == "Attention of a decoder" and last == "Other modules"
    row = "| [DotAttention, ScaledDotAttention](attention/dot.md) | Dot-product attention |"
    assert at[first] < lines.index(row) < at["Scores of a language model"]
    for path in (staging.subpackages.PACKAGE / "attention").glob("[a-z]*.py"):
        assert f"attention/{path.stem}" in lines
        text = (staged / "api" / "attention" / f"{path.stem}.md").read_text(encoding="utf-8")
        assert f".. automodule:: numpy_attention.attention.{path.stem}\n" in text


def test_docstrings_in_api_tables_are_escaped(monkeypatch):
    ends = type("ends", (), {"__doc__": "Return ids with </s>."})
    monkeypatch.setattr(staging, "public_names", lambda package: {"ends": ends})
    assert "| Return ids with &lt;/s&gt;. |" in "\n".join(staging.by_task())


def test_downloads_are_complete(tmp_path):
    import zipfile
    staging.downloads(tmp_path)
    names = zipfile.ZipFile(tmp_path / "course.zip").namelist()
    for path in lessons.files():
        for name in (path.name, f"{path.stem}.ipynb"):
            assert (tmp_path / "course" / name).is_file()
            assert f"numpy_attention_course/{name}" in names
    assert "numpy_attention_course/course.py" in names
    assert "numpy_attention_course/checkpoints/lesson-06/checkpoint.npz" in names
    assert not [name for name in names if "outputs" in name or "__pycache__" in name]
    book = json.loads((tmp_path / "course" / "00_attention_on_paper.ipynb").read_text("utf-8"))
    assert {cell["cell_type"] for cell in book["cells"]} == {"markdown", "code"}
    assert not [cell for cell in book["cells"] if cell.get("outputs")]
    assert os.path.getsize(tmp_path / "course.zip") > 10_000
