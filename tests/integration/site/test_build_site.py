"""The build command replaces only folders it has made, and treats warnings as errors."""

import build_site
import pytest

pytest.importorskip("myst_nb", reason="the site needs the extra site")
pytest.importorskip("furo", reason="the site needs the extra site")


def test_folder_that_is_not_a_site_is_kept(tmp_path, capsys):
    (tmp_path / "mine.txt").write_text("mine")
    assert build_site.main([str(tmp_path), "--lessons", "--cache", str(tmp_path / "cache")]) == 2
    assert "is not a site that this command made" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    (tmp_path / "mine.txt").unlink()
    build_site.check_replaceable(tmp_path)                         # an empty folder
    (tmp_path / build_site.MARK).write_text("")
    (tmp_path / "index.html").write_text("old")
    build_site.check_replaceable(tmp_path)
    build_site.check_replaceable(tmp_path / "new")


def test_unknown_lesson_raises_before_anything_is_built(tmp_path, capsys):
    words = [str(tmp_path / "site"), "--lessons", "99", "--cache", str(tmp_path / "cache")]
    assert build_site.main(words) == 2
    assert "no lesson has the number 99" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_warnings_are_errors(tmp_path):
    (tmp_path / "stage").mkdir()
    (tmp_path / "stage" / "index.md").write_text("# One\n\n[nowhere](nowhere.md)\n")
    with pytest.raises(build_site.BuildError):
        build_site.run_sphinx(tmp_path, "html")
    assert not (tmp_path / "doctrees").exists()
