"""Fonts for labels in any script, chosen from the installed ones that have the characters."""

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import matplotlib
from matplotlib import font_manager
from matplotlib.figure import Figure
from matplotlib.ft2font import FT2Font
from matplotlib.text import Text

# Tried first, in this order, where several fonts have a letter; the last draws a box that names the
# script.
FALLBACK_FONTS = (
    "DejaVu Sans", "Noto Sans", "Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans SC",
    "Noto Sans JP", "Noto Sans KR", "PingFang SC", "Hiragino Sans", "Apple SD Gothic Neo",
    "Microsoft YaHei", "Yu Gothic", "Malgun Gothic", "WenQuanYi Zen Hei", "WenQuanYi Micro Hei",
    "Droid Sans Fallback", "Noto Sans Arabic", "Noto Sans Hebrew", "Noto Sans Devanagari",
    "Noto Sans Thai", "Nirmala UI", "Segoe UI", "Arial Unicode MS", "Noto Emoji", "Segoe UI Emoji",
    "Symbola", "Unifont", "Last Resort High-Efficiency",
)
LAST_RESORT = "Last Resort"
NO_GLYPH = ("Cc", "Cf", "Cs", "Zs", "Zl", "Zp", "Co", "Cn")     # nothing is drawn for these
# what follows a script in a character's name
PART = re.compile(r" (?:(?:SMALL|CAPITAL|INDEPENDENT|DEPENDENT) )*(?:LETTER|VOWEL|SIGN|SYLLABLE|"
                  r"CONSONANT|TONE|MARK|UNIFIED)\b.*")
# {script: (family, Debian package)}, unless these are "Noto Sans SCRIPT" and "fonts-noto-core"
FAMILIES = dict.fromkeys(("CJK", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO"),
                         ("Noto Sans CJK", "fonts-noto-cjk"))


def font_families(text: str = "") -> list[str]:
    """Return families: of rcParams, installed FALLBACK_FONTS, and others that `text` needs."""
    installed = {font.name for font in font_manager.fontManager.ttflist}
    chosen = list(matplotlib.rcParams["font.family"])
    chosen += [name for name in FALLBACK_FONTS if name in installed and name not in chosen]
    missing = not_covered(text, chosen)
    if missing:
        more = families_with(missing)
        resort = [name for name in chosen if name.startswith(LAST_RESORT)]
        chosen = [name for name in chosen if name not in resort] + more + resort
    return chosen


def not_covered(text: str, families: Iterable[str]) -> frozenset[str]:
    """Return the characters of a text that no font of these families can draw."""
    needed = frozenset() if text.isascii() else frozenset(
        one for one in text if not one.isascii() and unicodedata.category(one) not in NO_GLYPH
        and not unicodedata.name(one, "").startswith("VARIATION SELECTOR"))
    for family in families if needed else ():
        if not family.startswith(LAST_RESORT):
            needed = frozenset(one for one in needed if ord(one) not in letters_of(family))
    return needed


@lru_cache
def families_with(characters: frozenset[str]) -> list[str]:
    """Return installed families that together have as many of these characters as possible."""
    listed = {font.fname for font in font_manager.fontManager.ttflist}
    for path in font_manager.findSystemFonts():
        if path not in listed:
            try:
                font_manager.fontManager.addfont(path)
            except (OSError, RuntimeError):         # one that matplotlib cannot read
                continue
    found: list[str] = []
    names = {font.name for font in font_manager.fontManager.ttflist}
    for name in sorted(names):
        if characters and not name.startswith(LAST_RESORT):
            rest = frozenset(one for one in characters if ord(one) not in letters_of(name))
            if rest != characters:
                found.append(name)
                characters = rest
    return found


@lru_cache(maxsize=None)
def letters_of(family: str) -> frozenset[int]:
    """Return the code points that a font family can draw, or an empty set if it is missing."""
    settings: Any = matplotlib.rcParams
    names = settings.get(f"font.{family}", [family])                # of sans-serif, several
    for name in names if isinstance(names, list) else [family]:
        for font in font_manager.fontManager.ttflist:
            if font.name == name:
                return frozenset(FT2Font(font.fname).get_charmap())
    return frozenset()


def undrawable(figure: Figure) -> set[str]:
    """Return the characters in the texts of a figure that no installed font can draw."""
    found: set[str] = set()
    for text in figure.findobj(Text):
        found |= not_covered(text.get_text(), text.get_fontfamily())
    return found


def advice(characters: Iterable[str]) -> str:
    """Return a message that suggests fonts for characters that no installed font covers."""
    characters = sorted(characters)
    letters = [one for one in characters if unicodedata.category(one)[0] == "L"]
    scripts: dict[str, str] = {}
    for one in letters or characters:
        script = PART.split(unicodedata.name(one, "UNNAMED"))[0]
        family, package = FAMILIES.get(script, (f"Noto Sans {script.title()}", "fonts-noto-core"))
        if unicodedata.category(one) == "So":
            script, family, package = "EMOJI", "Symbola", "fonts-symbola"
        title = script if script == "CJK" else script.title()
        scripts[title] = f"{family} (Debian package {package})"
    fonts = " and ".join(dict.fromkeys(scripts.values()))
    return (f"no installed font has {' and '.join(scripts)}, whose letters are drawn as boxes; "
            f"install fonts such as {fonts}, and draw again")
