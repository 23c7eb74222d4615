"""Vocabulary: tokens as small integers.

Four ids are the same in every vocabulary: 0 `<pad>` fills up short sentences, 1 `<s>` begins a
target sentence, 2 `</s>` ends a sentence, and 3 `<unk>` replaces every token that is not in the
vocabulary. Ordinary tokens are numbered from 4.
"""

from collections import Counter
from collections.abc import Iterable, Sequence, Sized
from itertools import chain
from typing import Any

import numpy as np

from numpy_attention.validation.arguments import as_list, check_tokens
from numpy_attention.validation.arrays import at_least, check_whole
from numpy_attention.validation.messages import typed_repr

PAD, BOS, EOS, UNK = range(4)
SPECIAL_TOKENS = ("<pad>", "<s>", "</s>", "<unk>")


class Vocabulary:
    """A table of distinct tokens. Token k of `tokens` has the id 4 + k.

    `tokens` are words, or characters for a character model, without the four special tokens. A
    checkpoint stores only `tokens`, because `Vocabulary(vocabulary.tokens)` creates an equal
    vocabulary. Raises ValueError for an empty table and for an empty, repeated or reserved token,
    and TypeError for a token that is not a string.
    """

    def __init__(self, tokens: Iterable[str]) -> None:
        if isinstance(tokens, str):
            raise TypeError(
                "Vocabulary takes a list of tokens, not one string; for characters write list(text)"
            )
        # str(…): a string of another class, such as NumPy's, becomes a plain one
        self.tokens = [str(token) if isinstance(token, str) else token
                       for token in as_list("tokens", tokens, "tokens")]
        if not self.tokens:
            raise ValueError("tokens is empty; a vocabulary needs at least one token in addition "
                             "to the special tokens")
        self._ids: dict[str, int] = {}
        for index, token in enumerate(self.tokens):
            if not isinstance(token, str):
                raise TypeError(f"token {index} is {typed_repr(token)}; a vocabulary holds strings")
            if not token or "\0" in token:
                fault = "contains a NUL character" if token else "is empty"
                raise ValueError(f"token {index}, {token!r}, {fault}; leave it out")
            if token in SPECIAL_TOKENS:
                raise ValueError(f"token {index}, {token!r}, is reserved, because every "
                                 "vocabulary has it; leave it out")
            if token in self._ids:
                before = self._ids[token] - len(SPECIAL_TOKENS)
                raise ValueError(f"token {index}, {token!r}, repeats token {before}; leave it out")
            self._ids[token] = len(SPECIAL_TOKENS) + index

    @classmethod
    def build(cls, sentences: Iterable[Iterable[str]], max_size: int | None = None,
              min_count: int = 1) -> "Vocabulary":
        """Build a vocabulary from sentences, which are sequences of tokens.

        The most frequent token comes first; ties are in alphabetical order. max_size: the largest
        `len(vocabulary)` allowed, special tokens included. min_count: omit tokens with a lower
        count. Special tokens in the text (`<unk>` in the Penn Treebank) are not counted. Raises
        ValueError if no token is left.
        """
        at_least(0, max_size=max_size)
        check_whole("min_count", min_count, 1)
        if max_size is not None and max_size <= len(SPECIAL_TOKENS):
            raise ValueError(f"max_size = {max_size} must be larger than {len(SPECIAL_TOKENS)}, "
                             "the number of special tokens")
        counts = Counter(chain.from_iterable(_checked(sentences)))
        for token in SPECIAL_TOKENS:
            counts.pop(token, None)
        if not counts:
            raise ValueError("no tokens to build a vocabulary from (special tokens do not count)")
        kept = [token for token, count in counts.items() if count >= min_count]
        if not kept:
            most = max(counts.values())
            advice = f"set min_count = {most}" + " or less" * (most > 1)
            raise ValueError(f"min_count = {min_count} leaves no token, because the largest count "
                             f"of a token is {most}; {advice}")
        kept.sort(key=lambda token: (-counts[token], token))
        if max_size is not None:
            kept = kept[:max_size - len(SPECIAL_TOKENS)]
        return cls(kept)

    def __len__(self) -> int:
        """The number of ids V, including special ones: 0 ≤ id < V."""
        return len(SPECIAL_TOKENS) + len(self.tokens)

    def __contains__(self, token: object) -> bool:
        return token in self._ids

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary):
            return NotImplemented
        return self.tokens == other.tokens

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        words = len(self.tokens)
        return f"Vocabulary({len(self):,} ids: {len(SPECIAL_TOKENS)} special and {words:,} tokens)"

    def encode(self, tokens: Sequence[str]) -> list[int]:
        """Return the ids of the tokens as a list of int; unknown tokens get UNK.

        Neither BOS nor EOS is added. `<pad>`, `<s>` and `</s>` in a text get UNK like other unknown
        tokens. A string is split into its characters. Raises TypeError unless tokens are strings.
        """
        if not isinstance(tokens, str):
            check_tokens("tokens", tokens)
        return [self._ids.get(token, UNK) for token in tokens]

    def token(self, id: int) -> str:
        """Return the token of an id. Raises ValueError for an id outside the vocabulary."""
        check_id(id, self)
        if id < len(SPECIAL_TOKENS):
            return SPECIAL_TOKENS[id]
        return self.tokens[id - len(SPECIAL_TOKENS)]

    def decode(self, ids: Iterable[int]) -> list[str]:
        """Return the tokens of the ids up to the first EOS, without PAD and BOS.

        ids: a sequence or array of integers. Raises ValueError for an id outside the vocabulary.
        """
        tokens = []
        for id in as_list("ids", ids, "ids"):
            check_id(id, self)
            if id == EOS:
                break
            if id != PAD and id != BOS:
                tokens.append(self.token(id))
        return tokens

    # ---- what a vocabulary of subwords does differently (`numpy_attention.data.subwords`) --------

    def saved(self) -> Any:
        """Return the data to store in a checkpoint: the list of tokens."""
        return self.tokens

    def places(self, tokens: Sequence[str]) -> list[int]:
        """Return, for each id of `encode(tokens)`, the index of the token to which it belongs."""
        if not isinstance(tokens, str):
            check_tokens("tokens", tokens)
        return list(range(len(tokens)))

    def read(self, ids: Iterable[int]) -> tuple[list[str], list[int]]:
        """Return (tokens, indices): the decoded tokens and, for each id with a token, its index."""
        tokens = self.decode(ids)
        return tokens, self.places(tokens)

    # ----------------------------------------------------------------------------------------------

    def unknown_share(self, sentences: Iterable[Sequence[str]]) -> float:
        """Return the fraction of tokens missing from the vocabulary, from 0 to 1.

        Raises ValueError if there are no tokens.
        """
        ids = [id for sentence in _checked(sentences) for id in self.encode(sentence)]
        if not ids:
            raise ValueError("there are no tokens in the sentences")
        return ids.count(UNK) / len(ids)


def check_id(id: Any, vocabulary: Sized) -> None:
    """Raise TypeError unless id is an integer, and ValueError if it is not in the vocabulary."""
    if not isinstance(id, (int, np.integer)) or isinstance(id, bool):
        raise TypeError(f"an id is {typed_repr(id)}; expected an integer")
    if not 0 <= id < len(vocabulary):
        raise ValueError(f"id {id} is not in this vocabulary; ids run from 0 to "
                         f"{len(vocabulary) - 1}")


def _checked(sentences: Any) -> Iterable[Sequence[str]]:
    """Yield each sentence, a list of tokens or a string; raise TypeError for anything else."""
    for n, sentence in enumerate(as_list("sentences", sentences, "sentences")):
        if not isinstance(sentence, str):
            sentence = as_list(f"sentences[{n}]", sentence, "tokens")
            check_tokens(f"sentences[{n}]", sentence)
        yield sentence
