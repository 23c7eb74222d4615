"""Fonts that are chosen for a label, and the advice if no font has its letters."""

import pytest

from numpy_attention import plotting
from numpy_attention.plotting import fonts

KHMER = "\u1786\u17d2\u1798\u17b6"


@pytest.fixture
def install(monkeypatch):
    """install(name, letters): pretend that only these fonts and DejaVu Sans are installed."""
    known = {"DejaVu Sans": frozenset(range(0x250))}

    class Font:
        fname = ""

        def __init__(self, name):
            self.name = name

    def add(name, letters):
        known[name] = frozenset(map(ord, letters))
        monkeypatch.setattr(fonts.font_manager.fontManager, "ttflist", list(map(Font, known)))
        fonts.families_with.cache_clear()

    monkeypatch.setattr(fonts, "letters_of",
                        lambda name: known.get("DejaVu Sans" if name == "sans-serif" else name, ()))
    monkeypatch.setattr(fonts.font_manager, "findSystemFonts", list)
    yield add
    fonts.families_with.cache_clear()


def test_installed_font_with_the_letters_is_used(install):
    install("Unheard Of", KHMER)
    install("Last Resort High-Efficiency", KHMER)
    families = fonts.font_families(f"cat {KHMER}")
    assert families.index("Unheard Of") < families.index("Last Resort High-Efficiency")
    assert "Unheard Of" not in fonts.font_families("cat é")
    assert fonts.not_covered(KHMER, families) == frozenset()
    # characters that have no visible form need no font
    assert fonts.not_covered("a\u200d\ufe0f\u00a0", families) == frozenset()


def test_save_collects_missing_letters(monkeypatch, tmp_path):
    monkeypatch.setattr(fonts, "letters_of", lambda name: {*range(0x250), 0x1786})
    axes = plotting.attention_heatmap([[1.0]], source_tokens=["cat"], target_tokens=[KHMER])
    plotting.save(axes, tmp_path / "a.png")
    token = plotting.UNDRAWN.set(set())
    try:
        plotting.save(axes, tmp_path / "b.png")
        assert plotting.UNDRAWN.get() == set(KHMER[1:])
    finally:
        plotting.UNDRAWN.reset(token)


def test_advice_names_scripts_and_fonts():
    line = fonts.advice(KHMER + "中。\U0001e906\u1c5a")
    for words in ("Khmer", "Noto Sans Adlam", "Noto Sans Ol Chiki", "CJK", "fonts-noto-cjk"):
        assert words in line
    assert "Ideographic" not in line and "\n" not in line
    assert "fonts-symbola" in fonts.advice("\U0001f389")


def test_letters_of_real_fonts():
    for family in ("DejaVu Sans", "sans-serif"):
        assert ord("é") in fonts.letters_of(family)
    assert fonts.letters_of("No Such Font") == frozenset()
