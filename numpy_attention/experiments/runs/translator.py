"""A translator: a model with its vocabularies and configuration."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from numpy_attention.custom.code import CustomClass
from numpy_attention.data.batching import PairBatch, PairBatches, pair_batch
from numpy_attention.data.pairs import Pair, as_pairs
from numpy_attention.data.protocols import AnyVocabulary
from numpy_attention.data.subwords import Subwords
from numpy_attention.data.vocabulary import BOS, PAD, UNK, Vocabulary
from numpy_attention.decoding.beam import WIDEST, beam_search
from numpy_attention.decoding.greedy import greedy
from numpy_attention.decoding.hypothesis import Hypothesis, check_penalty, longest
from numpy_attention.decoding.sampling import Reading, sample
from numpy_attention.experiments.runs import confidence
from numpy_attention.experiments.runs.trained import Trained
from numpy_attention.experiments.runs.translation import (
    Sentence,
    Translation,
    check_sentence,
    in_source_order,
    in_words,
)
from numpy_attention.module import Array
from numpy_attention.products import fixed_weights
from numpy_attention.registry import TRANSLATORS
from numpy_attention.training.distributed.ranks import SINGLE_PROCESS, SingleProcess
from numpy_attention.training.evaluation import evaluate
from numpy_attention.training.processes import workers
from numpy_attention.training.settings import TranslatorTraining
from numpy_attention.training.threads import available
from numpy_attention.validation.arguments import (
    as_list,
    check_flags,
    check_generator,
    check_kind,
    check_list,
    check_methods,
)
from numpy_attention.validation.arrays import at_least, check_whole


def vocabularies_of(pairs: Sequence[Pair], training: TranslatorTraining) -> list[AnyVocabulary]:
    """Build [source, target] vocabularies of words, or of subwords if training.subwords is set."""
    pairs = as_pairs(pairs)
    check_kind("training", training, TranslatorTraining, "a TranslatorTraining")
    sides = {"source": [pair.source for pair in pairs],
             "target": [pair.target for pair in pairs]}
    if training.subwords:
        return [Subwords.build(sentences, training.subwords, f"the {side}'s ")
                for side, sentences in sides.items()]
    return [_words_of(side, sentences, training) for side, sentences in sides.items()]


def _words_of(side: str, sentences: list, training: TranslatorTraining) -> Vocabulary:
    try:
        return Vocabulary.build(sentences, training.max_vocabulary, training.min_count)
    except ValueError as error:
        raise ValueError(f"the {side} vocabulary: {error}. If spaces do not separate the words of "
                         "the language, split words into pieces with subwords") from None


@dataclass
class Translator(Trained):
    """A translation model with its vocabularies and its configuration."""

    KIND = "translator"
    MODELS = TRANSLATORS
    VOCABULARIES = ("source_vocabulary", "target_vocabulary")
    EMBEDDINGS = ("source_embedding", "target_embedding")
    TRAINING = TranslatorTraining

    model: Any                          # one of TRANSLATORS
    source_vocabulary: AnyVocabulary
    target_vocabulary: AnyVocabulary
    name: str
    settings: dict[str, Any]
    training: TranslatorTraining
    corpus: dict[str, Any] = field(default_factory=dict)
    history: list[dict[str, Any]] = field(default_factory=list)
    own: dict[str, CustomClass] = field(default_factory=dict)
    vectors: dict[str, dict[str, Any]] = field(default_factory=dict)

    # ---- training ------------------------------------------------------------------------------

    @classmethod
    def create(
        cls,
        pairs: Sequence[Pair],
        name: str = "rnnsearch",
        settings: dict[str, Any] | None = None,
        training: TranslatorTraining | None = None,
        corpus: dict[str, Any] | None = None,
        vocabularies: Sequence[AnyVocabulary] | None = None,
        source_vectors: str | Path | None = None,
        target_vectors: str | Path | None = None,
    ) -> "Translator":
        """Build an untrained translator for these Pairs, or tuples (source, target) of token lists.

        settings: arguments of the model's `create`; an attention or a cell may be a user-defined
        class. training: the training settings, and the seed. vocabularies: the source and the
        target vocabulary, if `vocabularies_of` has already built them. source_vectors,
        target_vectors: files of pretrained word vectors, in a format of `data.vectors`.

        Raises ValueError if there are no pairs, for an unknown name or setting, for word vectors
        with subwords, or for local-m if `backwards` is not training's `reverse_source`.
        """
        pairs = as_pairs(pairs)
        if not len(pairs):
            raise ValueError("there are no sentence pairs to learn from: the corpus is empty, or a "
                             "length limit drops every pair")
        settings, training, corpus = cls._checked(name, settings, training, corpus)
        backwards = bool(settings.get("backwards"))
        if settings.get("window") == "local-m" and backwards != training.reverse_source:
            raise ValueError(
                f"local-m with backwards={backwards} and reverse_source={training.reverse_source} "
                "would start the window at the wrong end; set both to True, or both to False")
        if vocabularies is None:
            vocabularies = vocabularies_of(pairs, training)
        check_list("vocabularies", vocabularies, "two vocabularies")
        if len(vocabularies) != 2:
            raise ValueError(f"got {len(vocabularies)} vocabularies; expected two (source, target)")
        for vocabulary in vocabularies:
            check_methods("a vocabulary", vocabulary, "a Vocabulary", "encode", "places")
        vectors = [source_vectors, target_vectors]
        if training.subwords and any(vectors):
            raise ValueError("source_vectors and target_vectors are word vectors, but "
                             f"subwords = {training.subwords} splits words into pieces; omit the "
                             "vectors or the subwords")
        return cls._built(name, settings, training, corpus, vocabularies, vectors)

    def batches(self, pairs: Sequence[Pair], batch_size: int | None = None) -> PairBatches:
        """Return PairBatches of Pairs. batch_size: by default, that of the training settings."""
        at_least(1, batch_size=batch_size)
        return PairBatches.encode(
            pairs, self.source_vocabulary, self.target_vocabulary,
            batch_size=batch_size or self.training.batch_size,
            reverse_source=self.training.reverse_source)

    @staticmethod
    def sentences(pairs: Sequence[Pair]) -> list[Sentence]:
        """Return the source and the target sentence of each Pair, in order."""
        return [side for pair in as_pairs(pairs) for side in (pair.source, pair.target)]

    # ---- use -----------------------------------------------------------------------------------

    def translate(
        self,
        sentences: Sequence[Sentence],
        beam: int = 5,
        length_penalty: float = 1.0,
        batch_size: int = 64,
        threads: int = 1,
        ranks: SingleProcess = SINGLE_PROCESS,
        unknown: bool = True,
    ) -> list[Translation]:
        """Translate sentences, which are lists of tokens. Return a Translation for each.

        beam: the beam size; 1 is greedy search
        length_penalty: as in `beam_search`
        batch_size: how many sentences are searched together
        threads: the number of threads of each rank
        ranks: the processes among which the sentences are divided; each returns all translations
        unknown: whether <unk> may be generated

        Raises the errors of `check_sentence`.
        """
        check_whole("beam", beam, 1, WIDEST)
        check_penalty(length_penalty)
        check_whole("batch_size", batch_size, 1)
        check_whole("threads", threads, 1)
        check_flags(unknown=unknown)
        sentences = as_list("sentences", sentences, "sentences, which are lists of tokens")
        for n, sentence in enumerate(sentences, 1):
            check_sentence(sentence, f"sentence {n}")
        ids = [self.source_vocabulary.encode(sentence) for sentence in sentences]
        order = sorted(range(len(ids)), key=lambda i: len(ids[i]))      # similar lengths together
        groups = [order[k:k + batch_size] for k in range(0, len(order), batch_size)]

        def search(k: int) -> dict[int, Translation]:
            found = {}
            for group in groups[threads * ranks.rank + k::threads * ranks.count]:
                hypotheses = self._best([ids[i] for i in group], beam, length_penalty, unknown)
                for i, hypothesis in zip(group, hypotheses):
                    found[i] = self._translation(sentences[i], hypothesis, length_penalty)
            return found

        with workers(threads, ranks) as pool, fixed_weights():
            mine = pool.map(search, to_all=False)
        found = {i: one for parts in ranks.allgather(mine) for part in parts
                 for i, one in part.items()}
        return [found[i] for i in range(len(sentences))]

    def hypotheses(
        self, sentence: Sentence, beam: int = 5, length_penalty: float = 1.0
    ) -> list[Translation]:
        """Run beam search for a sentence. Return all hypotheses as Translations, best first."""
        batch = self._source_batch(sentence)
        found, = beam_search(self.model, batch.source, batch.source_mask, beam, length_penalty)
        return [self._translation(sentence, hypothesis, length_penalty) for hypothesis in found]

    def sample(
        self,
        sentence: Sentence,
        rng: np.random.Generator,
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float | None = None,
    ) -> Translation:
        """Sample a translation without <unk>. The other arguments are as in `sampling.sample`."""
        batch = self._source_batch(sentence)
        state = self.model.start(batch.source, batch.source_mask)
        log_probs, weights, state = self.model.next(np.array([BOS]), state)
        start = Reading(log_probs[0], [weights[0]], state)
        limit = int(longest(batch.source_mask, None)[0])
        choices = list(sample(
            self.model, start, rng, limit, 1, temperature, top_k, top_p, never=[UNK]))
        drawn = Hypothesis(
            ids=[choice.id for choice in choices],
            log_probability=sum(choice.log_probability for choice in choices),
            weights=np.array([choice.weights for choice in choices]))
        return self._translation(sentence, drawn)

    def attend(self, pairs: Sequence[Pair]) -> list[Array]:
        """Return the attention weights (T + 1, S + 1) of each Pair with T target, S source words.

        The last row and the last column are those of </s>. The decoder reads the target (teacher
        forcing). Weights of subwords are converted to weights of words.
        """
        pairs = as_pairs(pairs)
        batches = self.batches(pairs)
        found: dict[int, Array] = {}
        for indices in batches.order():
            weights = self.model.weights(batches.batch(indices))            # (T, B, S)
            for b, i in enumerate(indices):
                rows = weights[:len(batches.targets[i]) + 1, b, :len(batches.sources[i]) + 1]
                target = pairs[i].target
                places = self.target_vocabulary.places(target) + [len(target)]
                found[i] = self._in_words(rows, pairs[i].source, places)
        return [found[i] for i in range(len(pairs))]

    def measure(
        self,
        pairs: Sequence[Pair],
        beam: int = 5,
        threads: int | None = None,
        found: list[Translation] | None = None,
        ranks: SingleProcess = SINGLE_PROCESS,
        rng: np.random.Generator | None = None,
        plain: list[Translation] | None = None,
    ) -> dict[str, float]:
        """Evaluate on Pairs. Return {metric: value}.

        found, plain: translations of the sources by beam search and by greedy search, if they exist
        already. rng: if given, add the ends of each metric's confidence interval, `…_low` and
        `…_high`, as in `runs.confidence`. beam, threads, ranks: as in `translate`. The metrics are

            perplexity, tokens      perplexity and number of tokens of the references
            perplexity_word         perplexity per word instead of token; differs only for subwords
            bleu, chrf              BLEU and chrF of the translations by beam search
            bleu_13a                the same BLEU, but with a tokenizer of sacreBLEU
            bleu_greedy             BLEU of the translations by greedy search
            exact                   the fraction of these that are equal to the reference

        If pairs have sure links, there are also pointing, near, diagonal and aer, computed by
        pointing_accuracy, near_pointing, diagonal_pointing and alignment_error_rate of `metrics`.
        """
        if rng is not None:
            check_generator(rng)
        check_whole("beam", beam, 1, WIDEST)
        at_least(1, threads=threads)
        threads = threads or available(ranks)
        pairs = as_pairs(pairs)
        batches = self.batches(pairs)
        read = evaluate(self.model, batches, threads, ranks, by_row=rng is not None)
        sources = [pair.source for pair in pairs]
        found = found or self.translate(sources, beam, threads=threads, ranks=ranks)
        if beam == 1:
            plain = found
        plain = plain or self.translate(sources, 1, threads=threads, ranks=ranks)
        words, plain_words = ([one.target for one in some] for some in (found, plain))
        weights = self.attend(pairs) if any(pair.sure for pair in pairs) else None
        by_row = [len(pairs[i].target) + 1 for place in batches.order() for i in place]
        result = {
            "tokens": read.tokens,
            **confidence.of_likelihood(read, rng),
            **confidence.of_likelihood(read, rng, "perplexity_word", by_row),
            **confidence.of_text(words, plain_words, pairs, rng)}
        if weights is not None:
            result |= confidence.of_pointing(weights, pairs, rng)
        wrong = [f"{name} = {one}" for name, one in result.items() if not math.isfinite(one)]
        if wrong:
            raise ArithmeticError(f"these metrics are not finite: {', '.join(wrong)}; did training "
                                  "diverge?")
        return result

    def knows(self, pair: Pair) -> bool:
        """Return whether all words of a Pair are in the vocabularies."""
        return (all(word in self.source_vocabulary for word in pair.source)
                and all(word in self.target_vocabulary for word in pair.target))

    def evaluate_without_unk(
        self,
        pairs: Sequence[Pair],
        beam: int = 5,
        threads: int | None = None,
        ranks: SingleProcess = SINGLE_PROCESS,
        rng: np.random.Generator | None = None,
    ) -> dict[str, float]:
        """Evaluate on the Pairs that have no unknown words, and translate without <unk>.

        The metric `pairs` is the number of these Pairs. The BLEU corresponds to the column "No UNK"
        of Bahdanau et al. 2015, table 1. The arguments are those of `measure`. Raises ValueError
        if all Pairs have unknown words.
        """
        pairs = as_pairs(pairs)
        at_least(1, threads=threads)
        known = [pair for pair in pairs if self.knows(pair)]
        if not known:
            raise ValueError("every pair contains a word that is not in the translator's "
                             "vocabularies; add a pair without unknown words")
        threads = threads or available(ranks)
        sources = [pair.source for pair in known]
        found, plain = (self.translate(sources, width, threads=threads, ranks=ranks, unknown=False)
                        for width in (beam, 1))
        return {"pairs": len(known)} | self.measure(known, beam, threads, found, ranks, rng, plain)

    # ---- from sentences to ids, and back -------------------------------------------------------

    def _source_batch(self, sentence: Sentence) -> PairBatch:
        check_sentence(sentence, "the sentence")
        return self._batch_to_translate([self.source_vocabulary.encode(sentence)])

    def _batch_to_translate(self, ids: list[list[int]]) -> PairBatch:
        no_targets = [[PAD]] * len(ids)
        return pair_batch(ids, no_targets, self.training.reverse_source)

    def _best(self, ids: list[list[int]], beam: int, length_penalty: float,
              unknown: bool) -> list[Hypothesis]:
        """Return the best Hypothesis of the search for each source. ids: the ids of each source."""
        batch = self._batch_to_translate(ids)
        never = [] if unknown else [UNK]
        if beam == 1:
            return greedy(self.model, batch.source, batch.source_mask, never=never)
        found = beam_search(self.model, batch.source, batch.source_mask, beam, length_penalty,
                            never=never)
        return [hypotheses[0] for hypotheses in found]

    def _translation(
        self, sentence: Sentence, hypothesis: Hypothesis, length_penalty: float = 1.0
    ) -> Translation:
        words, places = self.target_vocabulary.read(hypothesis.ids)
        rows = (places + [len(words)])[:len(hypothesis.ids)]                # </s> if it was reached
        return Translation(
            source=list(sentence),
            target=words,
            log_probability=hypothesis.log_probability,
            weights=self._in_words(hypothesis.weights, sentence, rows),
            score=hypothesis.score(length_penalty),
            finished=hypothesis.finished)

    def _in_words(self, weights: Array, sentence: Sentence, rows: list[int]) -> Array:
        """Convert weights of ids to weights of words, in the order of the source `sentence`.

        rows: for each target id, the index of its word.
        """
        if self.training.reverse_source:
            weights = in_source_order(weights)
        if not self.training.subwords:
            return weights
        return in_words(weights, self.source_vocabulary.places(sentence) + [len(sentence)], rows)
