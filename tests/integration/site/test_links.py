"""Links of the repository, rewritten for the site."""

import pytest
from site_pages.links import DeadLink, Links

PAGES = {
    "docs/custom_mechanisms.md": "docs/custom_mechanisms.md",
    "README.md": "index.md",
    "README.md#results": "results.md",
    "lessons/06_additive_attention.py": "lessons/06_additive_attention.ipynb"}


@pytest.mark.parametrize("link, target", [
    ("custom_mechanisms.md", "custom_mechanisms.md"),
    ("custom_mechanisms.md#2-what", "custom_mechanisms.md#2-what"),
    ("../README.md", "../index.md"),
    ("../README.md#results", "../results.md"),
    ("../README.md#start", "../index.md"),
    ("../lessons/06_additive_attention.py", "../lessons/06_additive_attention.ipynb"),
    ("../numpy_attention/registry.py", "site:source/numpy_attention/registry.py.html"),
    ("../tests/added", "site:source/tests/added/index.html"),
    ("#here", "#here"),
    ("https://example.org/a", "https://example.org/a"),
])
def test_targets_of_links(link, target):
    links = Links(PAGES)
    assert links.changed(f"see [it]({link}).", "docs/adding.md", "docs/adding.md") == (
        f"see [it]({target}).")
    assert bool(links.asked) == target.startswith("site:")


def test_images_keep_their_position(monkeypatch, tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "it.png").write_bytes(b"")
    monkeypatch.setattr("site_pages.links.ROOT", tmp_path)
    links = Links(PAGES)
    assert links.changed("![it](it.png)", "docs/custom_mechanisms.md",
                         "docs/custom_mechanisms.md") == "![it](it.png)"
    assert links.pictures == {"docs/it.png"} and not links.asked


def test_code_and_equations_are_not_links():
    text = "\n".join(["`a[0](x)` and", "", "    b[1](y)", "", "```python", "c[2](z)", "```", ""])
    assert Links(PAGES).changed(text, "docs/adding.md", "docs/adding.md") == text


@pytest.mark.parametrize("link", ["nowhere.md", "../../outside.md", "../numpy_attention/none.py"])
def test_dead_link_is_an_error(link):
    with pytest.raises(DeadLink, match="docs/adding.md links to .* does not exist"):
        Links(PAGES).changed(f"[it]({link})", "docs/adding.md", "docs/adding.md")
