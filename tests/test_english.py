"""Prose has none of the words that mark a translation; each is listed with what to write."""

import ast
import re
import tokenize
from pathlib import Path

import pytest

from numpy_attention.cli.commands import COMMANDS

ROOT = Path(__file__).parents[1]
INSTEAD = {
    "told": "given, or known", "anew": "again", "beside": "next to", "whoever": "users who",
    "but for": "except for", "in earnest": "in training", "nowhere": "not anywhere, or None",
    "of one's own": "user-defined", "at first sight": "at first", "upon": "on", "so many": "n",
    "(?:stands?|stood)(?! (?:in )?for| out)": "is", "mend(?:s|ed)?": "fix", "refuse[sd]?": "raise",
    "bows?": "bends, or yields", "that is to say": "a new sentence", "likeliest": "most likely",
    r"\w*(?:normal|initial|token|vector|maxim)is(?:e[srd]?|ing|ation)": "-ize",
    "(?<!there )(?:is|are) no(?! (?:longer|more|less|better|worse|other|different))": "is not a"}
TIC = re.compile(rf"\b(?:{'|'.join(INSTEAD)})(?!\w)", re.IGNORECASE)
QUOTED = re.compile(r'`[^`]*`|"[^"]*"|\*[^*\n]+\*')     # code, and words that are mentioned
TEXTS = {str(path.relative_to(ROOT)): path for glob in (
    "*.md docs/**/*.md results/*.md lessons/**/*.md campaigns/**/*.md lessons/*.py docs/site/*.py "
    "benchmarks/**/*.py numpy_attention/**/*.py campaigns/**/*.py tools/**/*.py tests/**/*.py "
    "docs/site/**/*.js docs/site/**/*.css numpy_attention/page/**/*.js "
    "numpy_attention/page/*.css").split()
    for path in ROOT.glob(glob)}


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_prose(name):
    text = TEXTS[name].read_text(encoding="utf-8")
    if name.endswith(".py"):        # docstrings and comments
        texts = [ast.get_docstring(node) or "" for node in ast.walk(ast.parse(text))
                 if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef))]
        tokens = tokenize.generate_tokens(iter(text.splitlines(keepends=True)).__next__)
        texts += [token.string for token in tokens if token.type == tokenize.COMMENT]
        text = re.sub("^#+", "", "\n".join(texts), flags=re.M)
    elif name.endswith((".js", ".css")):
        text = " ".join(map("".join, re.findall(r"/\*(.*?)\*/|(?<!\S)//([^\n]*)", text, re.S)))
    assert TIC.findall(" ".join(QUOTED.sub("`", text).split())) == []


def test_help_and_the_page():
    page = (ROOT / "numpy_attention/page/view/texts.js").read_text(encoding="utf-8")
    texts = re.findall('"(.*?)"', page) + [about for command in COMMANDS.values() for about in (
        command.summary, *(option.help for option in command.options))]
    assert [text for text in texts if TIC.search(text)] == []
