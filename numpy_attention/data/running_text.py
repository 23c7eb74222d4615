"""Running text for language models: its articles, sentences and tokens, and their ids."""

from dataclasses import dataclass
from pathlib import Path

from numpy_attention.data.datasets.corpora import text_corpus
from numpy_attention.data.protocols import AnyVocabulary
from numpy_attention.data.reading import read_lines, read_text
from numpy_attention.data.text_form import TextForm
from numpy_attention.data.vocabulary import EOS
from numpy_attention.registry import STATES, UNITS
from numpy_attention.validation.arguments import (
    check_flags,
    check_kind,
    check_list,
    check_methods,
    check_name,
    check_tokens,
)
from numpy_attention.validation.arrays import at_least

Sentence = list[str]


@dataclass(frozen=True)
class Text:
    """A running text. articles: lists of sentences, which are lists of tokens.

    unit: "words" or "characters". In a text of words, </s> ends every sentence. In a text of
    characters, a "sentence" is any stretch of text with its newlines, and no </s> is added.
    has_articles: whether the text itself is divided into articles, so that a model's state can be
    reset between two articles. Raises TypeError unless the articles are lists of lists of tokens,
    and ValueError for another unit.
    """

    articles: list[list[Sentence]]
    unit: str = "words"
    has_articles: bool = False

    def __post_init__(self) -> None:
        check_name("unit", self.unit, UNITS)
        check_flags(has_articles=self.has_articles)
        check_list("articles", self.articles, "articles, which are lists of sentences")
        for n, article in enumerate(self.articles):
            check_list(f"article {n}", article, "sentences, which are lists of tokens")
            for sentence in article:
                check_tokens(f"a sentence of article {n}", sentence)

    @property
    def sentences(self) -> list[Sentence]:
        return [sentence for article in self.articles for sentence in article]

    @property
    def predicted(self) -> int:
        """The number of tokens to predict, including ends of sentences."""
        sentences = self.sentences
        return sum(map(len, sentences)) + len(sentences) * (self.unit == "words")

    def stream(self, vocabulary: AnyVocabulary) -> list[int]:
        """Return the ids of the text, preceded by </s>, from which the first token is predicted."""
        return [EOS] + self._ids(self.sentences, vocabulary)

    def documents(self, vocabulary: AnyVocabulary, state: str,
                  cut: int | None = None) -> list[list[int]]:
        """Return lists of ids, each beginning with </s>. No state is carried from list to list.

        state: "article" for a list per article, or "sentence" for a list per sentence that is not
        blank. cut: the maximum number of ids in a list after the first </s>. Raises ValueError for
        another state, or if the text is not divided in the way that `state` requires.
        """
        check_name("state", state, STATES[1:])
        at_least(1, cut=cut)
        if state == "article":
            if not self.has_articles:
                raise ValueError("state = 'article' needs articles, but the text is not divided "
                                 "into articles; use 'sentence' for a word-level text, or train "
                                 "with state = 'carried'")
            parts = self.articles
        elif self.unit == "characters":
            raise ValueError("state = 'sentence' needs sentences, but the text is character-level; "
                             "use 'article' if it has articles, or train with state = 'carried'")
        else:
            parts = [[sentence] for sentence in self.sentences if sentence]
        end = None if cut is None else cut + 1
        return [([EOS] + self._ids(part, vocabulary))[:end] for part in parts]

    def as_characters(self) -> "Text":
        """Convert a text of words to a text of characters, with spaces and newlines."""
        if self.unit == "characters":
            return self
        texts = ["".join(" ".join(sentence) + "\n" for sentence in article)
                 for article in self.articles]
        return Text([[list(text)] for text in texts], "characters", self.has_articles)

    def _ids(self, sentences: list[Sentence], vocabulary: AnyVocabulary) -> list[int]:
        check_methods("vocabulary", vocabulary, "a Vocabulary", "encode", "places")
        end = [EOS] if self.unit == "words" else []
        return [id for sentence in sentences for id in vocabulary.encode(sentence) + end]


def as_text(text: Text | list) -> Text:
    """Return a Text, a list of sentences or a list of characters as a Text, or raise TypeError."""
    if isinstance(text, Text):
        return text
    check_list("text", text, "sentences, or a Text: numpy_attention.Text(articles)")
    letters = len(text) > 0 and all(isinstance(one, str) and len(one) == 1 for one in text)
    return Text([[text]], "characters") if letters else Text([text])


def load(name: str, split: str) -> Text:
    """Return a split of a corpus as a Text. Raises ValueError for an unknown name or split."""
    corpus = text_corpus(name)
    unit = "characters" if corpus.tokenizer == "characters" else "words"
    return Text(corpus.articles(split), unit, corpus.has_articles)


def read(path: str | Path, form: TextForm) -> Text:
    """Read a text file and tokenize it with a TextForm; return a Text.

    Blank lines are left out, but not from a text of characters. Raises ValueError for a blank file.
    """
    check_kind("form", form, TextForm, "a TextForm")
    if form.tokenizer != "characters":
        return Text([read_text(path, form.tokens)])
    letters = form.tokens("".join(line + "\n" for line in read_lines(path)))
    if not "".join(letters).strip():
        raise ValueError(f"{path} contains no text; pass a file with text")
    return Text([[letters]], "characters")
