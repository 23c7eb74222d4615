"""Running text for language models: articles of sentences of tokens, and how it becomes ids."""

from dataclasses import dataclass

from numpy_attention.data.bible import load_bible_en
from numpy_attention.data.corpora import load_text
from numpy_attention.data.vocabulary import EOS

STATES = ("carried", "sentence", "article")


@dataclass(frozen=True)
class Text:
    """articles: lists of sentences, which are lists of tokens; unit: "words" or "characters".

    Words: </s> ends every sentence. Characters: a sentence is a stretch of text with its own line ends; none is added.
    whole: the text came as articles, so that a state can be reset between them.
    """

    articles: list
    unit: str = "words"
    whole: bool = False

    @property
    def sentences(self):
        return [sentence for article in self.articles for sentence in article]

    def stream(self, vocabulary):
        """All ids, </s> first: what every stream of text begins after, so that each token of the text is predicted."""
        return [EOS] + [id for article in self.articles for id in self._ids(article, vocabulary)]

    def documents(self, vocabulary, state):
        """Lists of ids that each begin with an empty state, </s> first: articles, or sentences, blank ones left out."""
        if state == "article":
            if not self.whole:
                raise ValueError("this text does not come as articles, as bible-en and wikitext-2 do: take one of them, or "
                                 "a model whose state is 'carried' or of a 'sentence'")
            parts = self.articles
        elif state == "sentence":
            if self.unit == "characters":
                raise ValueError("a text of characters has no sentences of its own: choose state 'carried'")
            parts = [[sentence] for sentence in self.sentences if sentence]
        else:
            raise ValueError(f"state {state!r}: expected one of {', '.join(STATES)}")
        return [[EOS] + self._ids(part, vocabulary) for part in parts]

    def _ids(self, sentences, vocabulary):
        end = [EOS] if self.unit == "words" else []
        return [id for sentence in sentences for id in vocabulary.encode(sentence) + end]


def load(name, split):
    """The Text of a corpus of running text. ValueError: an unknown name or split."""
    if name == "bible-en":
        return Text(load_bible_en(split), whole=True)
    text = load_text(name, split)
    if isinstance(text, str):
        return Text([[list(text)]], "characters")
    if name == "wikitext-2":
        return Text(articles_of(text), whole=True)
    return Text([text])


def articles_of(lines):
    """WikiText's lines as articles, each of which begins with a heading `= Title =` of one equals sign."""
    articles = []
    for line in lines:
        heading = len(line) > 2 and line[0] == line[-1] == "=" and line[1] != "=" and line[-2] != "="
        if heading or not articles:
            articles.append([])
        articles[-1].append(line)
    return articles
