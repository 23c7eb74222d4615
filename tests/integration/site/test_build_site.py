"""The command that builds the site replaces only what it made, and warnings are errors."""

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


def test_a_warning_is_an_error(tmp_path):
    (tmp_path / "stage").mkdir()
    (tmp_path / "stage" / "index.md").write_text("# One\n\n[nowhere](nowhere.md)\n")
    with pytest.raises(build_site.BuildError):
        build_site.run_sphinx(tmp_path, "html")
    assert not (tmp_path / "doctrees").exists()
