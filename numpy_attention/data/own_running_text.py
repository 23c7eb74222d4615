"""What a language model's run learnt from, and how raw text is cut like it.

A writer's corpus is a dict that JSON can hold, kept in its checkpoint. Either a corpus by name, as words (or letters),

    {"name": "bible-en"}        {"name": "bible-en", "characters": true}

or the reader's own text, the end of which is held out (see `own_text`):

    {"text": "/…/novel.txt", "valid_text": "/…/last_chapter.txt", "characters": false, "lowercase": true, …}
"""

from numpy_attention.runs import resume as runs
from numpy_attention.data import running_text
from numpy_attention.data.pairs import read_lines, read_text
from numpy_attention.data.running_text import Text

HELD_OUT = 0.05


def own_text(text, valid_text=None, characters=False, lowercase=False, tokenize=False):
    """The corpus dict of a file of the reader's own, one sentence a line, and of one to validate on, or None.

    Paths are kept absolute, and with them a digest of the text: `load` refuses files that have changed since.
    FileNotFoundError: a missing file; ValueError: characters that are to be cut into words.
    """
    if characters and tokenize:
        raise ValueError("--tokenize cuts text into words, and --characters into letters: give one of them")
    corpus = runs.paths_of(zip(runs.TEXTS, (text, valid_text)))
    corpus |= {"characters": characters, "lowercase": lowercase, "tokenize": tokenize}
    return corpus | {"digest": runs.digest_of(corpus)}


def load(corpus, *splits):
    """One Text for each split named. ValueError: an unknown name or split, files that have changed or hold no text."""
    if "text" not in corpus:
        found = [running_text.load(corpus["name"], split) for split in splits]
        return [as_characters(text) if corpus.get("characters") else text for text in found]
    runs.check_own(corpus, splits)
    form = runs.text_form(corpus)
    parts = [read(corpus[name], form) for name in runs.TEXTS if name in corpus]
    if len(parts) == 1:
        parts = hold_out(parts[0])
    return [parts[runs.splits_of(corpus).index(split)] for split in splits]


def read(path, form):
    """The Text of a file, cut by this TextForm; blank lines are left out of words. ValueError: a file without text."""
    if form.cut != "characters":
        return Text([read_text(path, form.lowercase, form.cut == "words")])
    letters = form.tokens("".join(line + "\n" for line in read_lines(path)))
    if not "".join(letters).strip():
        raise ValueError(f"{path} holds no text: give a file with some")
    return Text([[letters]], "characters")


def hold_out(text, share=HELD_OUT):
    """→ (the beginning, the end) of a Text: the last `share` of its sentences, or characters; at least one."""
    characters = text.unit == "characters"
    items = text.sentences[0] if characters else text.sentences
    if len(items) < 2:
        raise ValueError(f"a text of {len(items)} {'character' if characters else 'sentence'}(s): expected at least 2, one "
                         "of them to be held out; bring more text, one sentence a line, or give --valid-text")
    cut = len(items) - max(1, round(share * len(items)))
    return [Text([[part] if characters else part], text.unit) for part in (items[:cut], items[cut:])]


def as_characters(text):
    """A Text of words as one of characters: words joined by spaces, a line end after each sentence."""
    if text.unit == "characters":
        return text
    return Text([[[letter for sentence in article for letter in " ".join(sentence) + "\n"]] for article in text.articles],
                "characters", text.whole)
