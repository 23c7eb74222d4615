"""Subwords: words cut into frequent pieces, so that a small vocabulary spells every word (Sennrich et al. 2016).

The cutting is learnt and done by sentencepiece, an extra: pip install "numpy_attention[subwords]".
"""

import base64
import io

from numpy_attention.data.vocabulary import BOS, EOS, PAD, SPECIAL_TOKENS, UNK, Vocabulary

START = "▁"     # begins the first piece of a word


class Subwords:
    """A vocabulary of pieces, in the place of a `Vocabulary` of words: it takes and gives words, its ids are pieces.

    The four special ids are the same; a letter that the text it learnt from does not have becomes <unk>.
    """

    def __init__(self, saved):
        """saved: what `saved` gave. ValueError: sentencepiece is not installed, or this is nothing of its own."""
        self._saved, self._pieces = saved, {}
        try:
            self._model = _sentencepiece().SentencePieceProcessor(model_proto=base64.b64decode(saved, validate=True))
        except (RuntimeError, ValueError) as error:
            if isinstance(error, _NotInstalled):
                raise
            raise ValueError("a vocabulary of subwords that sentencepiece cannot read: is the file damaged?") from None

    @classmethod
    def build(cls, sentences, size, whose=""):
        """Byte-pair pieces, `size` ids in all, of an iterable of lists of words; the same text gives the same pieces.

        ValueError: no text, or a size that it cannot give (of `whose` text is said); sentencepiece is not installed.
        """
        library, file = _sentencepiece(), io.BytesIO()
        lines = [" ".join(words) for words in sentences]
        if not any(lines):
            raise ValueError("no words to cut into subwords: the text is empty")
        try:
            library.SentencePieceTrainer.train(
                sentence_iterator=iter(lines), model_writer=file, vocab_size=size, model_type="bpe", character_coverage=1.0,
                normalization_rule_name="identity", pad_id=PAD, bos_id=BOS, eos_id=EOS, unk_id=UNK,
                pad_piece=SPECIAL_TOKENS[PAD], unk_surface=SPECIAL_TOKENS[UNK], num_threads=1, minloglevel=2)
        except (RuntimeError, OSError) as error:
            reason = str(error).strip().split("\n")[-1].split("] ")[-1].split(" Increase vocab_size")[0]
            raise ValueError(f"{size} subwords cannot be made of {whose}{len(lines):,} sentences: {reason}") from None
        return cls(base64.b64encode(file.getvalue()).decode())

    def saved(self):
        """All that a checkpoint has to keep, one string."""
        return self._saved

    def __len__(self):
        return self._model.vocab_size()

    def __eq__(self, other):
        return self._saved == other._saved if isinstance(other, Subwords) else NotImplemented

    __hash__ = None

    def __contains__(self, word):
        return UNK not in self._ids(word)

    def __repr__(self):
        return f"Subwords({len(self):,} ids: {len(SPECIAL_TOKENS)} special and {len(self) - len(SPECIAL_TOKENS):,} pieces)"

    def _ids(self, word):
        if word not in self._pieces:
            self._pieces[word] = self._model.encode(word) or [UNK]
        return self._pieces[word]

    def encode(self, words):
        """Ids of all pieces of the words."""
        return [id for word in words for id in self._ids(word)]

    def places(self, words):
        """For each piece of the words, which of them it belongs to."""
        return [n for n, word in enumerate(words) for _ in self._ids(word)]

    def token(self, id):
        """The piece of one id. ValueError: an id outside 0 … V − 1."""
        if not 0 <= id < len(self):
            raise ValueError(f"id {id} is not in this vocabulary, whose ids go from 0 to {len(self) - 1}")
        return self._model.id_to_piece(int(id))

    def decode(self, ids):
        """Words of the ids, up to the first </s>; <pad> and <s> are dropped."""
        return self.read(ids)[0]

    def read(self, ids):
        """→ the words of the ids, as `decode` gives them; for each id up to the first </s>, which word it belongs to."""
        words, places = [], []
        for id in ids:
            if id == EOS:
                break
            if id not in (PAD, BOS):
                piece = self.token(id)
                if piece.startswith(START) or not words:
                    words.append("")
                words[-1] += piece.removeprefix(START)
                places.append(len(words) - 1)
        kept = {n: k for k, n in enumerate(n for n, word in enumerate(words) if word)}       # a lone ▁ is no word
        return [words[n] for n in kept], [kept.get(n, max(0, min(n, len(kept) - 1))) for n in places]

    def unknown_share(self, sentences):
        """The share of the sentences' words with a letter that this vocabulary does not know, from 0 to 1."""
        words = [word for sentence in sentences for word in sentence]
        if not words:
            raise ValueError("no tokens to measure: the sentences are empty")
        return sum(word not in self for word in words) / len(words)


def restored(saved):
    """The Vocabulary or the Subwords that a checkpoint keeps: a list of words, or a string."""
    return Subwords(saved) if isinstance(saved, str) else Vocabulary(saved)


class _NotInstalled(ValueError):
    pass


def _sentencepiece():
    try:
        import sentencepiece
    except ModuleNotFoundError:
        raise _NotInstalled('subwords need sentencepiece: pip install "numpy_attention[subwords]"') from None
    return sentencepiece
