"""Source pages: the whole text, an anchor per line, and folders with their contents."""

import html
import re

import pytest
from site_pages import sources

pytest.importorskip("pygments", reason="the site needs the extra site")


def test_page_has_an_anchor_for_every_line():
    path = sources.PACKAGE / "attention" / "additive.py"
    lines = path.read_text(encoding="utf-8").splitlines()
    page = sources.highlighted(path)
    assert re.findall(r'id="L-(\d+)"', page) == [str(1 + n) for n in range(len(lines))]
    text = html.unescape(re.sub(r"<[^>]+>", "", page))
    assert all(line.strip() in text for line in lines)


def test_folders_list_and_link_their_contents(tmp_path):
    sources.write(tmp_path, {"campaigns/mistakes/right", "tools/line_budget.ini"})
    page = (tmp_path / "source/campaigns/mistakes/right/index.html").read_text(encoding="utf-8")
    names = re.findall(r'<li><a href="(.+?)"', page)
    assert names and "__pycache__" not in page
    assert all((tmp_path / "source/campaigns/mistakes/right" / name).is_file() for name in names)
    assert (tmp_path / "source/tools/line_budget.ini.html").is_file()
    for path in sources.PACKAGE.rglob("*.py"):
        assert (tmp_path / sources.page_of(path.relative_to(sources.ROOT).as_posix())).is_file()


def test_markup_in_a_source_is_escaped(tmp_path):
    path = tmp_path / "odd.py"
    path.write_text("x = '<script>alert(1)</script>'\n")
    assert "<script>" not in sources.highlighted(path)
