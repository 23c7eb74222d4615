"""A writer: a language model with its vocabulary and configuration, as trained, measured, used."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from numpy_attention.validation.arguments import check_generator, check_kind, check_tokens
from numpy_attention.data.batching import DocumentBatches, TextBatch, TextBatches
from numpy_attention.data.running_text import Text
from numpy_attention.data.vocabulary import EOS, UNK, Vocabulary
from numpy_attention.decoding.sampling import read, sample
from numpy_attention.models.registry import build, check_settings
from numpy_attention.module import Array
from numpy_attention.validation.arrays import at_least
from numpy_attention.registry import LANGUAGE_MODELS, resolve
from numpy_attention.custom.code import CustomClass
from numpy_attention.experiments.runs import confidence
from numpy_attention.experiments.runs.custom_code import by_name, with_classes
from numpy_attention.experiments.runs.trained import Trained, parts_of
from numpy_attention.training.evaluation import Evaluation, evaluate
from numpy_attention.training.distributed.ranks import SINGLE_PROCESS, SingleProcess
from numpy_attention.training.settings import LanguageModelTraining


class Word(NamedTuple):
    """One token that a Writer wrote, the model's own log p of it, and what was looked at for it.

    weights: attention over the S positions read before, </s> first and the last one read at the
    end; NaN where the model cannot look: at the last one itself, and at what is outside of its
    window or memory. None without attention.
    """

    token: str
    log_probability: float
    weights: Array | None  # (S,)


@dataclass
class LanguageModelRun(Trained):
    """A language model and what it needs to be used: its vocabulary and its configuration."""

    KIND = "writer"
    VOCABULARIES = ("vocabulary",)
    TRAINING = LanguageModelTraining

    model: Any                          # one of LANGUAGE_MODELS
    vocabulary: Vocabulary
    name: str
    settings: dict[str, Any]
    training: LanguageModelTraining
    corpus: dict[str, Any] = field(default_factory=dict)
    history: list[dict[str, Any]] = field(default_factory=list)
    own: dict[str, CustomClass] = field(default_factory=dict)

    # ---- training ------------------------------------------------------------------------------

    @classmethod
    def create(
        cls,
        text: Text,
        name: str = "language-model",
        settings: dict[str, Any] | None = None,
        training: LanguageModelTraining | None = None,
        corpus: dict[str, Any] | None = None,
    ) -> "LanguageModelRun":
        """An untrained writer for this Text.

        settings go to the model's `create`; a score, or a cell, may be a class of one's own. The
        seed is the training's. ValueError: an unknown name, settings that do not fit each other.
        """
        resolve("language model", name, LANGUAGE_MODELS)
        check_kind("text", text, Text, "a Text")
        settings, training, corpus = parts_of(settings, training, corpus, LanguageModelTraining)
        check_settings(name, settings)
        training = replace(training, unit=text.unit)
        vocabulary = Vocabulary.build(text.sentences, training.max_vocabulary, training.min_count)
        settings, own = by_name(settings)
        model: Any = build(name, np.random.default_rng(training.seed), vocabulary,
                           **with_classes(settings, own))
        if training.frequencies:
            counts = np.bincount(text.stream(vocabulary), minlength=len(vocabulary)) + 0.5
            model.output.b[...] = np.log(counts / counts.sum())
        return cls(model, vocabulary, name, settings, training, corpus, own=own)

    def batches(
        self, text: Text, streams: int | None = None, cut: int | None = None
    ) -> TextBatches | DocumentBatches:
        """What the model reads of a Text: a stream where the state is carried, else documents.

        cut: so many tokens of a document at most; a stream has none.
        """
        check_kind("text", text, Text, "a Text")
        at_least(1, streams=streams, cut=cut)
        how = self.training
        streams = streams or how.batch_size
        if how.state == "carried":
            return TextBatches(text.stream(self.vocabulary), streams, how.steps)
        documents = text.documents(self.vocabulary, how.state, cut)
        return DocumentBatches(documents, streams, None if how.state == "sentence" else how.steps)

    def batches_to_learn(self, text: Text) -> TextBatches | DocumentBatches:
        """What the model reads of a Text in training, where sentences may be cut."""
        return self.batches(text, cut=self.training.cut)

    @staticmethod
    def sentences(text: Text) -> list[list[str]]:
        """Those of a Text."""
        return text.sentences

    def measure(self, text: Text, threads: int = 1, ranks: SingleProcess = SINGLE_PROCESS,
                rng: np.random.Generator | None = None) -> dict[str, float]:
        """→ {metric: value} on a Text: loss (nats a token), perplexity, tokens; bits_per_character
        of a text of characters.

        Every token is predicted, ends of sentence included. A carried state goes through the whole
        text in one stream. Where the state begins anew with every sentence there is also
        perplexity_skip_first, whose first words are counted and not predicted: Salton et al. 2017
        print theirs so.

        rng: for an interval of each perplexity, `…_low` and `…_high`, over what is read at a time:
        sentences, or windows of so many steps.
        """
        if rng is not None:
            check_generator(rng)
        streams = 1 if self.training.state == "carried" else None
        batches = self.batches(text, streams)

        def read(what: TextBatches | DocumentBatches) -> Evaluation:
            return evaluate(self.model, what, threads, ranks, by_row=rng is not None)

        result = read(batches)
        mean = result.mean
        found = {"loss": mean, "perplexity": result.perplexity, "tokens": result.tokens}
        if text.unit == "characters":
            found["bits_per_character"] = mean / math.log(2)
        without_first = None
        if self.training.state == "sentence":
            assert isinstance(batches, DocumentBatches)
            without_first = result.without(read(batches.first_words()))
            found["perplexity_skip_first"] = without_first.perplexity
        if rng is not None:
            known = confidence.of_likelihood(result, rng)
            if without_first is not None:
                flattered = confidence.of_likelihood(without_first, rng)
                known["perplexity_skip_first"] = flattered["perplexity"]
            found |= confidence.named(known)
        return found

    # ---- use -----------------------------------------------------------------------------------

    def generate(
        self,
        rng: np.random.Generator,
        prompt: Sequence[str] = (),
        length: int = 60,
        sentences: int | None = None,
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float | None = None,
        unknown: bool = False,
    ) -> Iterator[Word]:
        """Write on after a prompt, tokens that begin a text; → a generator of Words, one a step.

        length, sentences, temperature, top_k, top_p and errors as in `sample`. unknown: <unk> may
        be written. A model of characters writes no </s>, and takes no `sentences`. Where the state
        is empty at the start of every sentence, so it is here. TypeError: a string as the prompt
        of a model of words.
        """
        if self.training.unit == "characters" and sentences is not None:
            raise ValueError(f"sentences = {sentences}: a model of characters writes no ends of "
                             "sentences, give a length alone")
        ids = [EOS] + self._encode(prompt, "prompt")
        never = []
        if not unknown:
            never.append(UNK)
        if self.training.unit == "characters":
            never.append(EOS)
        reset = self.training.state == "sentence"
        start = read(self.model, ids)
        choices = sample(
            self.model, start, rng, length, sentences, temperature, top_k, top_p, never, reset)
        return (
            Word(self.vocabulary.token(choice.id), choice.log_probability,
                 self._visible(choice.weights, len(ids) + k))
            for k, choice in enumerate(choices))

    def attend(self, tokens: Sequence[str]) -> Array:
        """What the model looks at while it reads a sentence → weights (S, S), S = 1 + its tokens.

        Row t is of the state that has read </s> and t tokens, and predicts the next; column s is
        the state that has read </s> and s tokens; NaN where the model cannot look. ValueError: no
        tokens, or a model without attention.
        """
        self.check_attention()
        ids = np.array([EOS] + self._encode(tokens, "tokens"))[:, None]     # (S, 1)
        if len(ids) == 1:
            raise ValueError("an empty sentence: expected at least one token")
        weights, _ = self.model.weights(TextBatch(ids, ids, np.arange(1)))  # (S, 1, states read)
        rows = np.full((len(ids), len(ids)), np.nan)
        for t in range(len(ids)):
            rows[t, :t + 1] = self._visible(weights[t, 0, :t], t + 1)
        return rows

    def check_attention(self) -> None:
        """ValueError: the model has no attention weights."""
        if not hasattr(getattr(self.model, "reader", None), "attention"):
            name = self.settings.get("attention", self.name)
            raise ValueError(f"the {name} model has no attention weights to show: train one with "
                             "attention over its history, such as single, combined or key-value")

    def _encode(self, tokens: Sequence[str], name: str) -> list[int]:
        """The ids of tokens. TypeError: a string, which a model of words would read as letters."""
        if isinstance(tokens, str) and self.training.unit == "words":
            raise TypeError(f"{name} is the string {tokens!r}, expected a list of words: write "
                            f"{name}.split()")
        check_tokens(name, list(tokens) if isinstance(tokens, str) else tokens)
        return self.vocabulary.encode(tokens)

    def _visible(self, weights: Array | None, positions: int) -> Array | None:
        """Weights over those remembered as weights over all positions read, NaN where none fall."""
        if weights is None:
            return None
        reach = len(weights)
        if self.model.reader.window is not None:
            reach = min(reach, self.model.reader.window)
        row = np.full(positions, np.nan)
        if reach:
            row[-1 - reach:-1] = weights[len(weights) - reach:]
        return row
