"""Lesson pages: caching of runs, outputs, answers, and links."""

import json

import pytest
from site_pages import lessons

pytest.importorskip("jupytext", reason="the site needs the extra site")


@pytest.fixture
def course(tmp_path, monkeypatch):
    """A course with one lesson; `lessons.LESSONS` is its folder."""
    folder = tmp_path / "lessons"
    (folder / "answers").mkdir(parents=True)
    (folder / "04_gru.py").write_text(
        '# %% [markdown]\n# # Lesson 04: a unit\n#\n# See [the design]'
        '(../docs/architecture.md).\n\n'
        '# %%\nprint("forty-two")\n')
    (folder / "answers" / "04_gru.md").write_text(
        "# Lesson 04: answers\n\n## 1. Why\n\n<details><summary>Answer</summary>\n\nSo.\n\n"
        "```python\n# a comment\n```\n\n</details>\n")
    monkeypatch.setattr(lessons, "LESSONS", folder)
    lessons.used.cache_clear()
    yield folder
    lessons.used.cache_clear()


def test_lesson_runs_again_only_if_its_code_changes(course, tmp_path, monkeypatch, capsys):
    lesson, = lessons.files()
    log = tmp_path / "04.log"
    assert lessons.outputs(lesson, tmp_path / "cache", log) == [[{"text": "forty-two\n"}]]
    assert log.read_text() == "forty-two\n"
    lesson.write_text(lesson.read_text().replace("See", "Read"))        # only text
    monkeypatch.setattr(lessons, "run", None)                           # must not be called
    log.unlink()
    assert lessons.outputs(lesson, tmp_path / "cache", log) == [[{"text": "forty-two\n"}]]
    assert log.read_text() == "forty-two\n"
    assert "lesson 04: as kept" in capsys.readouterr().out
    lesson.write_text(lesson.read_text().replace("forty", "thirty"))
    with pytest.raises(TypeError):
        lessons.outputs(lesson, tmp_path / "cache")


def test_cache_key_depends_on_the_package_and_the_lesson_modules(course, monkeypatch):
    lesson, = lessons.files()
    before = lessons.key(lesson)
    assert lessons.key(lesson) == before
    (course / "parts.py").write_text("x = 1\n")
    lessons.used.cache_clear()
    assert lessons.key(lesson) != before
    (course / "parts.py").unlink()
    lessons.used.cache_clear()
    assert lessons.key(lesson) == before


def test_failing_lesson_prints_its_last_lines_and_caches_nothing(course, tmp_path):
    lesson, = lessons.files()
    lesson.write_text('# %%\nprint("so far")\nraise ValueError("no more")\n')
    with pytest.raises(lessons.LessonError, match="(?s)04_gru.py failed.*so far.*no more"):
        lessons.outputs(lesson, tmp_path / "cache")
    assert not list((tmp_path / "cache" / "lessons").glob("*.json"))


def test_page_has_downloads_outputs_and_answers(course):
    lesson, = lessons.files()
    given = [[{"text": "a 1 %\r a 2 %\nsaved outputs/x.png\nend\n"},
              {"png": "AAAA", "titles": ["what it says"]}]]
    book = json.loads(lessons.notebook(lesson, given, lambda text: text.replace("../docs", "docs")))
    first, code, answers = book["cells"]
    text = "".join(first["source"])
    assert text.startswith("# Lesson 04: a unit\n\n:::{container} downloads\n")
    assert "(site:course/04_gru.py)" in text and "(docs/architecture.md)" in text
    stream, picture = code["outputs"]
    assert "".join(stream["text"]) == " a 2 %\nend\n"
    assert picture["data"]["image/png"] == "AAAA"
    assert code["metadata"]["mystnb"]["image"]["alt"] == "what it says"
    text = "".join(answers["source"])
    assert text.startswith("## Answers\n\n### 1. Why\n") and "\n# a comment\n" in text


def test_page_of_a_lesson_that_was_not_run(course):
    lesson, = lessons.files()
    book = json.loads(lessons.notebook(lesson, None, str))
    assert "without running the lesson" in "".join(book["cells"][0]["source"])
    assert book["cells"][1]["outputs"] == []


def test_unknown_lesson_number_raises(course):
    assert [path.name for path in lessons.chosen(None)] == ["04_gru.py"]
    assert lessons.chosen([]) == []
    with pytest.raises(ValueError, match="no lesson has the number 99: expected some of 04"):
        lessons.chosen(["99"])
