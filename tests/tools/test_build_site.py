"""The command that builds the site: what it refuses, and that it replaces only what it made."""

import build_site
import pytest

pytest.importorskip("myst_nb", reason="the site needs the extra site")
pytest.importorskip("furo", reason="the site needs the extra site")


def test_a_folder_that_is_not_a_site_stays(tmp_path, capsys):
    (tmp_path / "mine.txt").write_text("mine")
    assert build_site.main([str(tmp_path), "--lessons", "--cache", str(tmp_path / "cache")]) == 2
    assert "is not a site that this command made" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    (tmp_path / "mine.txt").unlink()
    build_site.check_replaceable(tmp_path)                         # an empty one
    (tmp_path / build_site.MARK).write_text("")
    (tmp_path / "index.html").write_text("old")
    build_site.check_replaceable(tmp_path)
    build_site.check_replaceable(tmp_path / "new")


def test_an_unknown_lesson_is_refused_before_anything_is_made(tmp_path, capsys):
    words = [str(tmp_path / "site"), "--lessons", "99", "--cache", str(tmp_path / "cache")]
    assert build_site.main(words) == 2
    assert "no lesson has the number 99" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_workplace_goes_when_what_makes_the_pages_changes(tmp_path, monkeypatch):
    old = tmp_path / "html-000000000000"
    old.mkdir()
    work = build_site.workplace(tmp_path, "html")
    assert work.is_dir() and not old.exists() and build_site.workplace(tmp_path, "html") == work


def test_a_warning_is_an_error(tmp_path, monkeypatch, capsys):
    (tmp_path / "stage").mkdir()
    (tmp_path / "stage" / "index.md").write_text("# One\n\n[nowhere](nowhere.md)\n")
    with pytest.raises(build_site.BuildError):
        build_site.run_sphinx(tmp_path, "html")
    assert not (tmp_path / "doctrees").exists()


def test_the_catalogue_has_the_texts_and_not_the_code(tmp_path):
    (tmp_path / "stage").mkdir()
    (tmp_path / "stage" / "index.md").write_text("# One\n\nA text.\n\n    e = q · h\n")
    build_site.run_sphinx(tmp_path, "gettext")
    text = (tmp_path / "built" / "index.pot").read_text(encoding="utf-8")
    assert 'msgid "A text."' in text and 'msgid "One"' in text and "q · h" not in text


def test_the_living_page_waits_for_its_command(tmp_path, monkeypatch):
    import importlib.util
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert build_site.living_page(tmp_path / "living") is None
    assert not (tmp_path / "living").exists()
