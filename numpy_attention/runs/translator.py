"""A translator: a model with its vocabularies and configuration, as trained, saved, measured and used."""

import math
from dataclasses import dataclass, field

import numpy as np

from numpy_attention import metrics
from numpy_attention.data.batching import PairBatches, pair_batch
from numpy_attention.data.subwords import Subwords
from numpy_attention.data.vocabulary import BOS, UNK, Vocabulary
from numpy_attention.decoding.beam import beam_search
from numpy_attention.decoding.greedy import greedy
from numpy_attention.decoding.hypothesis import Hypothesis, longest
from numpy_attention.decoding.sampling import Reading, sample
from numpy_attention.models.registry import TRANSLATORS, build
from numpy_attention.module import Array, Module
from numpy_attention.runs.trained import Trained
from numpy_attention.training.evaluation import Evaluation, evaluate
from numpy_attention.training.settings import TranslatorTraining
from numpy_attention.training.threads import Threads, available


@dataclass
class Translation:
    """One translated sentence: its words, log p, and the attention weights (target and </s>, source and </s>)."""

    source: list
    target: list
    log_probability: float
    weights: Array
    score: float | None = None          # what search ranks by
    finished: bool = True               # False: cut off before </s>, at twice the source's length and 10 more

    def unknown_replaced(self):
        """The target with each <unk> replaced by the source word that its largest weight is on (Luong et al. 2015,
        section 4.2, without their dictionary): names and numbers are copied. It stays where no source word has any weight."""
        return [self.source[int(row[:-1].argmax())] if "<unk>" in word and row[:-1].any() else word
                for word, row in zip(self.target, self.weights)]


def vocabularies_of(pairs, training):
    """The vocabularies of both sides, [source, target], as a TranslatorTraining wants them: words, or pieces of words."""
    sides = {"source": [pair.source for pair in pairs], "target": [pair.target for pair in pairs]}
    return [Subwords.build(sentences, training.subwords, f"the {side}'s ") if training.subwords else
            Vocabulary.build(sentences, min_count=training.min_count) for side, sentences in sides.items()]


@dataclass
class Translator(Trained):
    """A translation model and what it needs to be used: vocabularies and the configuration that builds it again."""

    KIND, VOCABULARIES = "translator", ("source_vocabulary", "target_vocabulary")
    TRAINING = TranslatorTraining

    model: Module
    source_vocabulary: Vocabulary | Subwords
    target_vocabulary: Vocabulary | Subwords
    name: str
    settings: dict
    training: TranslatorTraining
    corpus: dict = field(default_factory=dict)
    history: list = field(default_factory=list)

    # ---- training and loading -------------------------------------------------------------------------------------

    @classmethod
    def create(cls, pairs, name="rnnsearch", settings=None, training=None, corpus=None, vocabularies=None):
        """An untrained translator for these Pairs; settings go to the model's `create`, the seed is the training's.

        vocabularies: the source's and the target's, if `vocabularies_of` has built them already. ValueError: no pairs, an
        unknown name, settings that do not fit each other or the training.
        """
        if not pairs:
            raise ValueError("no sentence pairs to learn from: the corpus is empty, or a length limit drops every pair")
        if name not in TRANSLATORS:
            raise ValueError(f"unknown translator {name!r}: expected one of {', '.join(sorted(TRANSLATORS))}")
        training, settings = training or TranslatorTraining(), settings or {}
        backwards = bool(settings.get("backwards"))
        if settings.get("window") == "local-m" and backwards != training.reverse_source:
            raise ValueError(f"local-m with backwards={backwards} and reverse_source={training.reverse_source}: the window "
                             "would run along from the wrong end, give both or neither")
        vocabularies = vocabularies or vocabularies_of(pairs, training)
        model = build(name, np.random.default_rng(training.seed), *vocabularies, **settings)
        return cls(model, *vocabularies, name, settings, training, corpus or {})

    def batches(self, pairs, batch_size=None):
        """PairBatches of Pairs in this translator's vocabularies."""
        return PairBatches.encode(pairs, self.source_vocabulary, self.target_vocabulary,
                                  batch_size=batch_size or self.training.batch_size,
                                  reverse_source=self.training.reverse_source)

    # ---- use --------------------------------------------------------------------------------------------------------

    def translate(self, sentences, beam=5, length_penalty=1.0, batch_size=64, threads=1):
        """Translate lists of tokens; beam 1 is greedy search. → a Translation each. Errors as `check_sentence` has them."""
        if batch_size < 1:
            raise ValueError(f"batch_size {batch_size}: expected at least 1")
        for i, sentence in enumerate(sentences):
            check_sentence(sentence, f"sentence {i + 1}")
        ids = [self.source_vocabulary.encode(sentence) for sentence in sentences]
        order = np.argsort([len(sentence) for sentence in ids], kind="stable")
        groups = [order[i:i + batch_size] for i in range(0, len(order), batch_size)]
        found = [None] * len(sentences)

        def search(group):
            batch = pair_batch([ids[i] for i in group], [[0]] * len(group), self.training.reverse_source)
            if beam == 1:
                hypotheses = greedy(self.model, batch.source, batch.source_mask)
            else:
                hypotheses = [best[0] for best in
                              beam_search(self.model, batch.source, batch.source_mask, beam, length_penalty)]
            for i, hypothesis in zip(group, hypotheses):
                found[i] = self._translation(sentences[i], hypothesis, length_penalty)

        with Threads(threads) as pool:
            pool.map(lambda k: [search(group) for group in groups[k::threads]])
        return found

    def hypotheses(self, sentence, beam=5, length_penalty=1.0):
        """All Translations of a sentence that beam search ends with, best first."""
        batch = self._source_batch(sentence)
        return [self._translation(sentence, hypothesis, length_penalty) for hypothesis in
                beam_search(self.model, batch.source, batch.source_mask, beam, length_penalty)[0]]

    def sample(self, sentence, rng, temperature=1.0, top_k=None, top_p=None):
        """One translation drawn at random, as `numpy_attention.decoding.sampling.sample` does; <unk> is not drawn."""
        batch = self._source_batch(sentence)
        log_probs, weights, state = self.model.next(np.array([BOS]), self.model.start(batch.source, batch.source_mask))
        start, limit = Reading(log_probs[0], [weights[0]], state), int(longest(batch.source_mask, None)[0])
        choices = list(sample(self.model, start, rng, limit, 1, temperature, top_k, top_p, [UNK]))
        return self._translation(sentence, Hypothesis([choice.id for choice in choices],
                                                      sum(choice.log_probability for choice in choices),
                                                      np.array([choice.weights for choice in choices])))

    def _source_batch(self, sentence):
        check_sentence(sentence, "the sentence")
        return pair_batch([self.source_vocabulary.encode(sentence)], [[0]], self.training.reverse_source)

    def _translation(self, sentence, hypothesis, length_penalty=1.0):
        words, places = self.target_vocabulary.read(hypothesis.ids)
        return Translation(list(sentence), words, hypothesis.log_probability,
                           self._in_words(hypothesis.weights, sentence, places, len(words)), hypothesis.score(length_penalty),
                           hypothesis.finished)

    def attend(self, pairs):
        """Attention weights under teacher forcing: (target + 1, source + 1) for each Pair, </s> last."""
        batches, found = self.batches(pairs), [None] * len(pairs)
        for indices in batches.order():
            weights = self.model.weights(batches.batch(indices))
            for b, i in enumerate(indices):
                rows = weights[:len(batches.targets[i]) + 1, b, :len(batches.sources[i]) + 1]
                found[i] = self._in_words(rows, pairs[i].source, self.target_vocabulary.places(pairs[i].target),
                                          len(pairs[i].target))
        return found

    def _in_words(self, weights, sentence, rows, words):
        """Weights of ids as weights of words, in the sentence's order: sums over a source word's pieces, means over a
        target word's.   rows: which of so many target words each id belongs to; what comes after them is </s>."""
        if self.training.reverse_source:
            weights = np.concatenate([weights[:, -2::-1], weights[:, -1:]], axis=1)
        if not self.training.subwords:
            return weights
        columns = self.source_vocabulary.places(sentence) + [len(sentence)]
        source = np.eye(len(sentence) + 1, dtype=weights.dtype)[columns]                    # (S, words and </s>)
        rows = (list(rows) + [words])[:len(weights)]
        target = np.eye(max(rows) + 1, dtype=weights.dtype)[rows]
        return target.T @ weights[:len(rows)] @ source / target.sum(0)[:, None]

    def measure(self, pairs, beam=5, threads=None, found=None):
        """→ {metric: value} on Pairs; found: their translations by this beam, if they are made already.

        perplexity over so many tokens, and per word where these are subwords (perplexity_word); bleu_greedy, exact (share
        of greedy translations equal to the reference), bleu (beam), bleu_13a (the same, cut anew by sacreBLEU's own
        tokeniser), chrf; and where there are gold links pointing, near (within one position), diagonal (what pointing along
        it would give) and aer.
        """
        threads = threads or available()
        references = [pair.target for pair in pairs]
        loss = evaluate(self.model, self.batches(pairs), threads)
        ends = sum(len(pair.target) + 1 for pair in pairs)
        result = {"perplexity": loss.perplexity, "tokens": loss.tokens,
                  "perplexity_word": Evaluation(loss.loss, ends).perplexity}
        sources = [pair.source for pair in pairs]
        found = found or self.translate(sources, beam, threads=threads)
        plain = found if beam == 1 else self.translate(sources, 1, threads=threads)
        words, greedy_words = ([one.target for one in some] for some in (found, plain))
        result["bleu_greedy"] = metrics.bleu(greedy_words, references).score
        result["exact"] = metrics.exact_match(map(tuple, greedy_words), references)
        result["bleu"] = metrics.bleu(words, references).score
        result["bleu_13a"] = metrics.bleu(words, references, "13a").score
        result["chrf"] = metrics.chrf(words, references).score
        if any(pair.sure for pair in pairs):
            weights = self.attend(pairs)
            result["pointing"] = metrics.pointing_accuracy(weights, pairs)
            result["near"] = metrics.near_pointing(weights, pairs)
            result["diagonal"] = metrics.diagonal_pointing(pairs)
            result["aer"] = metrics.alignment_error_rate(metrics.links_from_weights(weights, pairs), pairs)
        if not all(math.isfinite(value) for value in result.values()):
            raise ArithmeticError(f"a figure is not finite: {result}; is the model trained?")
        return result


def check_sentence(sentence, name):
    """A sentence is a list of tokens. TypeError: it is one string; ValueError: it is empty."""
    if isinstance(sentence, str):
        raise TypeError(f"{name} is the string {sentence!r}, expected a list of tokens: cut it with .split(), or with list() "
                        "for a model of characters")
    if not len(sentence):
        raise ValueError(f"{name} is empty: expected at least one token")
