"""Subwords: words split into frequent pieces, so that a small vocabulary can spell every word.

Subwords are described by Sennrich et al. 2016. The optional package sentencepiece learns the pieces
and splits words. Install it with: pip install "numpy_attention[subwords]"
"""

import base64
import io
import re
from collections.abc import Iterable, Sequence
from typing import Any

from numpy_attention.data.vocabulary import BOS, EOS, PAD, SPECIAL_TOKENS, UNK, Vocabulary, check_id
from numpy_attention.validation.arguments import (
    as_list,
    check_kind,
    check_text,
    check_tokens,
    encodable,
)
from numpy_attention.validation.arrays import check_whole

START = "▁"     # begins the first piece of a word
LARGEST = 2**31 - 1     # ids that sentencepiece can count


class Subwords:
    """A vocabulary of pieces of words, used like a `Vocabulary` of words.

    `encode` takes words and `decode` returns words, but an id represents a piece. The four special
    ids are those of `Vocabulary`. A letter that is not in the text from which the vocabulary was
    built becomes <unk>.
    """

    def __init__(self, saved: str) -> None:
        """Restore a vocabulary. saved: the string that the method `saved` returned.

        Raises ValueError if sentencepiece is not installed or cannot read the string.
        """
        library = _sentencepiece()
        check_kind("`saved`", saved, str, "the text saved by a subword vocabulary")
        if not saved:
            raise ValueError("the saved subword vocabulary is empty; is the file damaged?")
        self._saved = saved
        self._pieces: dict[str, list[int]] = {}  # {word: its ids}
        try:
            proto = base64.b64decode(saved, validate=True)
            self._model = library.SentencePieceProcessor(model_proto=proto)
        except (RuntimeError, ValueError):
            raise ValueError("sentencepiece cannot read the saved subword vocabulary; is the "
                             "file damaged?") from None

    @classmethod
    def build(cls, sentences: Iterable[Iterable[str]], size: int, whose: str = "") -> "Subwords":
        """Learn pieces by byte-pair encoding from sentences, which are lists of words.

        size: the total number of ids, including the special ones. whose: words for messages, such
        as "the source's ". The same text gives the same pieces. Raises ValueError if the text is
        empty, if size is too small or too large for it, or if sentencepiece is not installed.
        """
        library = _sentencepiece()
        check_whole("size", size, len(SPECIAL_TOKENS) + 1, LARGEST)
        file = io.BytesIO()
        lines = []
        for n, words in enumerate(_checked(sentences)):
            lines.append(" ".join(words))
            check_text(f"the text of sentences[{n}]", lines[-1])
        if not any(lines):
            raise ValueError("there are no words to split into subwords: the text is empty")
        try:
            library.SentencePieceTrainer.train(
                sentence_iterator=iter(lines),
                model_writer=file,
                vocab_size=size,
                model_type="bpe",
                character_coverage=1.0,
                normalization_rule_name="identity",
                pad_id=PAD, bos_id=BOS, eos_id=EOS, unk_id=UNK,
                pad_piece=SPECIAL_TOKENS[PAD],
                unk_surface=SPECIAL_TOKENS[UNK],
                num_threads=1,
                minloglevel=2,
            )
        except (RuntimeError, OSError, SystemError) as error:
            last = ": " + repr(str(error).strip().split("\n")[-1].split("] ")[-1])
            why = re.sub(r": .Vocabulary .*<= (\d+)\..*", r"; ask for at most \1 subwords", last)
            why = re.sub(r": .Vocabulary .* vs (\d+)\..*", r"; ask for at least \1 subwords", why)
            raise ValueError(f"SentencePiece could not learn {size} subwords from {whose}"
                             f"{len(lines):,} sentences{why}") from None
        return cls(base64.b64encode(file.getvalue()).decode())

    def saved(self) -> Any:
        """Return the data to store in a checkpoint, as one string."""
        return self._saved

    def __len__(self) -> int:
        return self._model.vocab_size()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Subwords):
            return NotImplemented
        return self._saved == other._saved

    __hash__ = None  # type: ignore[assignment]

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and UNK not in self._ids(word)

    def __repr__(self) -> str:
        special = len(SPECIAL_TOKENS)
        pieces = len(self) - special
        return f"Subwords({len(self):,} ids: {special} special and {pieces:,} pieces)"

    def _ids(self, word: str) -> list[int]:
        if word not in self._pieces:
            self._pieces[word] = (self._model.encode(word) if encodable(word) else []) or [UNK]
        return self._pieces[word]

    def encode(self, words: Sequence[str]) -> list[int]:
        """Return the ids of the pieces of all words, as one list."""
        check_tokens("words", words)
        return [id for word in words for id in self._ids(word)]

    def places(self, words: Sequence[str]) -> list[int]:
        """Return, for each piece of the words, the index of the word to which it belongs."""
        check_tokens("words", words)
        return [n for n, word in enumerate(words) for _ in self._ids(word)]

    def token(self, id: int) -> str:
        """Return the piece with this id. Raises ValueError for an id outside the vocabulary."""
        check_id(id, self)
        return self._model.id_to_piece(int(id))

    def decode(self, ids: Iterable[int]) -> list[str]:
        """Return the words that the ids spell up to the first </s>, without <pad> and <s>."""
        return self.read(ids)[0]

    def read(self, ids: Iterable[int]) -> tuple[list[str], list[int]]:
        """Return `decode(ids)` and, for each id that is decoded, the index of its word."""
        words: list[str] = []
        places = []
        for id in as_list("ids", ids, "ids"):
            check_id(id, self)
            if id == EOS:
                break
            if id not in (PAD, BOS):
                piece = self.token(id)
                if piece.startswith(START) or not words:
                    words.append("")
                words[-1] += piece.removeprefix(START)
                places.append(len(words) - 1)
        # a lone ▁ is not a word: its id goes to a word nearby
        kept = [n for n, word in enumerate(words) if word]
        new = {n: k for k, n in enumerate(kept)}
        last = len(kept) - 1
        return [words[n] for n in kept], [new.get(n, max(0, min(n, last))) for n in places]

    def unknown_share(self, sentences: Iterable[Sequence[str]]) -> float:
        """Return the fraction of words with an unknown letter, from 0 to 1.

        Raises ValueError if there are no words.
        """
        words = [word for sentence in _checked(sentences) for word in sentence]
        if not words:
            raise ValueError("there are no words in the sentences")
        return sum(word not in self for word in words) / len(words)


def restored(saved: str | list[str]) -> Vocabulary | Subwords:
    """Restore the vocabulary of a checkpoint: Subwords from a string, a Vocabulary from a list."""
    return Subwords(saved) if isinstance(saved, str) else Vocabulary(saved)


def _checked(sentences: Any) -> Iterable[Sequence[str]]:
    for n, words in enumerate(as_list("sentences", sentences, "sentences")):
        check_tokens(f"sentences[{n}]", words)
        yield words


def _sentencepiece() -> Any:
    try:
        import sentencepiece
    except ModuleNotFoundError:
        raise ValueError("subwords require sentencepiece, which is not installed; install it with "
                         'pip install "numpy_attention[subwords]"') from None
    return sentencepiece
