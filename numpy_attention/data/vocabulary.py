"""Vocabulary: tokens as small integers.

Four ids are the same in every vocabulary: 0 `<pad>` fills up short sentences, 1 `<s>` begins a
target sentence, 2 `</s>` ends one, 3 `<unk>` stands for every token that is not in the table.
Ordinary tokens count from 4.
"""

from collections import Counter
from collections.abc import Iterable, Sequence, Sized
from typing import Any

import numpy as np

from numpy_attention.validation.arguments import check_list, check_tokens, as_list
from numpy_attention.validation.messages import typed_repr
from numpy_attention.validation.arrays import at_least, check_whole

PAD, BOS, EOS, UNK = range(4)
SPECIAL_TOKENS = ("<pad>", "<s>", "</s>", "<unk>")


class Vocabulary:
    """A table of distinct tokens; token k of `tokens` has the id 4 + k.

    `tokens` are the ordinary tokens alone, without the four special ones: words, or characters for
    a character model. `Vocabulary(vocabulary.tokens)` makes an equal vocabulary, so the list is all
    that a checkpoint has to keep. Raises ValueError for an empty table, an empty, repeated or
    reserved token, TypeError for one that is not a string.
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
            raise ValueError(
                "a vocabulary needs at least one token besides the special ones; got none"
            )
        self._ids: dict[str, int] = {}
        for index, token in enumerate(self.tokens):
            if not isinstance(token, str):
                raise TypeError(
                    f"token {index} is {typed_repr(token)}; a vocabulary holds strings"
                )
            if not token or "\0" in token:
                raise ValueError(
                    f"token {index} is {token!r}; empty tokens and NUL characters cannot be stored"
                )
            if token in SPECIAL_TOKENS:
                raise ValueError(
                    f"token {index}, {token!r}, is reserved: every vocabulary has it; leave it out"
                )
            if token in self._ids:
                before = self._ids[token] - len(SPECIAL_TOKENS)
                raise ValueError(
                    f"token {index}, {token!r}, occurs before, as token {before}"
                )
            self._ids[token] = len(SPECIAL_TOKENS) + index

    @classmethod
    def build(
        cls, sentences: Iterable[Iterable[str]], max_size: int | None = None, min_count: int = 1
    ) -> "Vocabulary":
        """The vocabulary of an iterable of token sequences.

        The most frequent token comes first, ties in alphabetical order. max_size: the largest
        `len(vocabulary)` allowed, special tokens included. min_count: rarer tokens are left out.
        Special tokens in the text (`<unk>` in the Penn Treebank) are not counted. Raises ValueError
        if nothing is left.
        """
        at_least(0, max_size=max_size)
        check_whole("min_count", min_count, 1)
        if max_size is not None and max_size <= len(SPECIAL_TOKENS):
            raise ValueError(
                f"max_size = {max_size} leaves no room beside the {len(SPECIAL_TOKENS)} special "
                "tokens"
            )
        counts: Counter[str] = Counter()
        for n, sentence in enumerate(as_list("sentences", sentences, "sentences")):
            try:
                counts.update(_words(n, sentence))
            except TypeError:                   # a list, or another token that no table can hold
                check_tokens(f"sentence {n}", sentence)
        for token in SPECIAL_TOKENS:
            counts.pop(token, None)
        if not counts:
            raise ValueError("no tokens to build a vocabulary from: the text is empty")
        for token in counts:
            if not isinstance(token, str):
                raise TypeError(
                    f"the text holds {typed_repr(token)}: expected tokens, which are strings"
                )
        kept = [token for token, count in counts.items() if count >= min_count]
        if not kept:
            most = max(counts.values())
            raise ValueError(
                f"min_count = {min_count} leaves no token: the most frequent one occurs {most} "
                "time(s)"
            )
        kept.sort(key=lambda token: (-counts[token], token))
        if max_size is not None:
            kept = kept[:max_size - len(SPECIAL_TOKENS)]
        return cls(kept)

    def __len__(self) -> int:
        """The number of ids V, special ones included: 0 ≤ id < V."""
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
        """Ids of the tokens, as a list of int; what is not in the table gets UNK.

        Neither BOS nor EOS is added. `<pad>`, `<s>` and `</s>` written in a text are text, not
        control: they get UNK too. A string is taken as its characters. Raises TypeError for a token
        that is not a string.
        """
        if not isinstance(tokens, str):
            check_list("tokens", tokens, "tokens")
        try:
            ids = [self._ids.get(token, UNK) for token in tokens]
        except TypeError:                       # a list, or another token that no table can hold
            ids = [UNK]
        if UNK in ids:
            check_tokens("tokens", list(tokens))
        return ids

    def token(self, id: int) -> str:
        """The token of one id. Raises ValueError for an id outside 0 … V − 1."""
        check_id(id, self)
        if id < len(SPECIAL_TOKENS):
            return SPECIAL_TOKENS[id]
        return self.tokens[id - len(SPECIAL_TOKENS)]

    def decode(self, ids: Iterable[int]) -> list[str]:
        """Tokens of the ids, up to the first EOS; PAD and BOS are dropped, UNK gives `<unk>`.

        `ids`: a sequence or array of integers. Raises ValueError for an id outside of the
        vocabulary.
        """
        tokens = []
        for id in as_list("ids", ids, "ids"):
            check_id(id, self)
            if id == EOS:
                break
            if id != PAD and id != BOS:
                tokens.append(self.token(id))
        return tokens

    # ---- what a vocabulary of subwords does in another way (`numpy_attention.data.subwords`) -----

    def saved(self) -> Any:
        """All that a checkpoint has to keep."""
        return self.tokens

    def places(self, tokens: Sequence[str]) -> list[int]:
        """For each id of `encode(tokens)`, which of the tokens it belongs to."""
        if not isinstance(tokens, str):
            check_tokens("tokens", tokens)
        return list(range(len(tokens)))

    def read(self, ids: Iterable[int]) -> tuple[list[str], list[int]]:
        """→ `decode(ids)`; for each id that it reads, which of the tokens it belongs to."""
        tokens = self.decode(ids)
        return tokens, self.places(tokens)

    # ----------------------------------------------------------------------------------------------

    def unknown_share(self, sentences: Iterable[Sequence[str]]) -> float:
        """The share of the sentences' tokens that this vocabulary does not know, from 0 to 1.

        Raises ValueError when there is no token at all.
        """
        total = unknown = 0
        for n, sentence in enumerate(as_list("sentences", sentences, "sentences")):
            ids = self.encode(_words(n, sentence))
            total += len(ids)
            unknown += ids.count(UNK)
        if not total:
            raise ValueError("no tokens to measure: the sentences are empty")
        return unknown / total


def check_id(id: Any, vocabulary: Sized) -> None:
    """Refuse what is no id of this vocabulary. TypeError: no whole number; ValueError: outside."""
    if not isinstance(id, (int, np.integer)) or isinstance(id, bool):
        raise TypeError(f"an id is {typed_repr(id)}: expected a whole number")
    if not 0 <= id < len(vocabulary):
        raise ValueError(
            f"id {id} is not in this vocabulary, whose ids go from 0 to {len(vocabulary) - 1}"
        )


def _words(n: int, sentence: Any) -> Any:
    """Sentence n of a text: a string, which is its characters, or a list. TypeError: neither."""
    return sentence if isinstance(sentence, str) else as_list(f"sentence {n}", sentence, "tokens")
