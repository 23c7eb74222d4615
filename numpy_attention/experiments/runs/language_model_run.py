"""A run of a language model: the model with its vocabulary and configuration."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from numpy_attention.custom.code import CustomClass
from numpy_attention.data.batching import DocumentBatches, TextBatch, TextBatches
from numpy_attention.data.running_text import Text, as_text
from numpy_attention.data.vocabulary import EOS, UNK, Vocabulary
from numpy_attention.decoding.sampling import read, sample
from numpy_attention.experiments.runs import confidence
from numpy_attention.experiments.runs.trained import Trained
from numpy_attention.module import Array
from numpy_attention.registry import LANGUAGE_MODELS
from numpy_attention.training.distributed.ranks import SINGLE_PROCESS, SingleProcess
from numpy_attention.training.evaluation import Evaluation, evaluate
from numpy_attention.training.settings import LanguageModelTraining
from numpy_attention.validation.arguments import check_generator, check_tokens
from numpy_attention.validation.arrays import at_least


class Word(NamedTuple):
    """A generated token, with its log p under the model and the attention weights.

    weights: one for each of the S positions read before the token, from the initial </s> on, or
    None for a model without attention. A weight is NaN for the last position, which is the query,
    and for positions outside the window or memory of the model.
    """

    token: str
    log_probability: float
    weights: Array | None  # (S,)


@dataclass
class LanguageModelRun(Trained):
    """A language model with its vocabulary and its configuration."""

    KIND = "writer"         # the name of this kind of run in checkpoints and pages
    MODELS = LANGUAGE_MODELS
    VOCABULARIES = ("vocabulary",)
    EMBEDDINGS = ("embedding",)
    TRAINING = LanguageModelTraining

    model: Any                          # one of LANGUAGE_MODELS
    vocabulary: Vocabulary
    name: str
    settings: dict[str, Any]
    training: LanguageModelTraining
    corpus: dict[str, Any] = field(default_factory=dict)
    history: list[dict[str, Any]] = field(default_factory=list)
    own: dict[str, CustomClass] = field(default_factory=dict)
    vectors: dict[str, dict[str, Any]] = field(default_factory=dict)

    # ---- training ------------------------------------------------------------------------------

    @classmethod
    def create(
        cls,
        text: Text,
        name: str = "language-model",
        settings: dict[str, Any] | None = None,
        training: LanguageModelTraining | None = None,
        corpus: dict[str, Any] | None = None,
        vectors: str | Path | None = None,
    ) -> "LanguageModelRun":
        """Build an untrained language model for a Text or a list of sentences (lists of tokens).

        settings: arguments of the model's `create`; a score or a cell may be a user-defined class.
        training: the training settings, and the seed. vectors: a file of pretrained word
        vectors, in a format of `data.vectors`. Raises ValueError for an unknown name or setting,
        and the errors of the model's `create`.
        """
        text = as_text(text)
        settings, training, corpus = cls._checked(name, settings, training, corpus)
        training = replace(training, unit=text.unit)
        vocabulary = Vocabulary.build(text.sentences, training.max_vocabulary, training.min_count)
        run = cls._built(name, settings, training, corpus, [vocabulary], [vectors])
        if training.frequencies:
            counts = np.bincount(text.stream(vocabulary), minlength=len(vocabulary)) + 0.5
            run.model.output.b[...] = np.log(counts / counts.sum())
        return run

    def batches(
        self, text: Text, streams: int | None = None, cut: int | None = None
    ) -> TextBatches | DocumentBatches:
        """Return TextBatches if the setting `state` is "carried", otherwise DocumentBatches.

        streams: the number of streams or documents read side by side; by default, the batch size of
        training. cut: the largest number of tokens in a document; it has no effect on streams.
        """
        text = as_text(text)
        if text.unit != self.training.unit:
            raise ValueError(f"the text has {text.unit}, but the model reads {self.training.unit}")
        at_least(1, streams=streams, cut=cut)
        how = self.training
        streams = streams or how.batch_size
        if how.state == "carried":
            return TextBatches(text.stream(self.vocabulary), streams, how.steps)
        documents = text.documents(self.vocabulary, how.state, cut)
        return DocumentBatches(documents, streams, None if how.state == "sentence" else how.steps)

    def batches_to_learn(self, text: Text) -> TextBatches | DocumentBatches:
        """Return the training batches of a Text. The setting `cut` limits the document length."""
        return self.batches(text, cut=self.training.cut)

    def batches_to_validate(self, text: Text) -> TextBatches | DocumentBatches:
        """Return the validation batches of a Text, with fewer streams if the text is short."""
        text = as_text(text)
        return self.batches(text, max(1, min(self.training.batch_size, text.predicted)))

    @staticmethod
    def sentences(text: Text) -> list[list[str]]:
        """Return the sentences of a Text."""
        return as_text(text).sentences

    def measure(self, text: Text, threads: int = 1, ranks: SingleProcess = SINGLE_PROCESS,
                rng: np.random.Generator | None = None) -> dict[str, float]:
        """Evaluate on a Text. Return {metric: value}.

        Metrics: loss (nats per token), perplexity, tokens, and for characters bits_per_character.
        Every token is predicted, including ends of sentences. If the state is carried, the whole
        text is read in one stream. If the state is reset at every sentence, there is also
        perplexity_skip_first, in which the first word of a sentence counts as a token but its loss
        is left out, as in Salton et al. 2017.

        rng: if given, add the ends of each perplexity's confidence interval, `…_low` and `…_high`,
        from a bootstrap over sentences or windows.
        """
        if rng is not None:
            check_generator(rng)
        text = as_text(text)
        streams = 1 if self.training.state == "carried" else None
        batches = self.batches(text, streams)

        def read(what: TextBatches | DocumentBatches) -> Evaluation:
            return evaluate(self.model, what, threads, ranks, by_row=rng is not None)

        result = read(batches)
        found = {"loss": result.mean, "tokens": result.tokens,
                 **confidence.of_likelihood(result, rng)}
        if text.unit == "characters":
            found["bits_per_character"] = result.mean / math.log(2)
        if self.training.state == "sentence":
            assert isinstance(batches, DocumentBatches)
            without_first = result.without(read(batches.first_words()))
            found |= confidence.of_likelihood(without_first, rng, "perplexity_skip_first")
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
        """Generate Words one at a time after a prompt, which is the beginning of the text.

        prompt: a list of tokens. unknown: whether <unk> may be generated. The other arguments, and
        the errors, are those of `sample`. A character model does not generate </s> or accept
        `sentences`. If the state was reset at every sentence in training, it is reset here too.
        Raises TypeError for a string as the prompt of a word model.
        """
        if self.training.unit == "characters" and sentences is not None:
            raise ValueError(f"sentences={sentences} cannot be used with a character model, which "
                             "has no sentence boundaries; pass length instead")
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
        """Return attention weights (S, S) over a sentence, where S is 1 + the number of tokens.

        Row t has the weights with which the state after </s> and t tokens attends to earlier
        states. Column s is the state after </s> and s tokens. Entries are NaN for s ≥ t and outside
        the model's window. Raises ValueError without tokens, or if the model has no attention.
        """
        self.check_attention()
        ids = np.array([EOS] + self._encode(tokens, "tokens"))[:, None]     # (S, 1)
        if len(ids) == 1:
            raise ValueError("the sentence is empty; expected at least one token")
        batch = TextBatch(ids, ids, np.arange(1))
        weights, _ = self.model.weights(batch, None)                        # (S, 1, states read)
        rows = np.full((len(ids), len(ids)), np.nan)
        for t in range(len(ids)):
            rows[t, :t + 1] = self._visible(weights[t, 0, :t], t + 1)
        return rows

    def check_attention(self) -> None:
        """Raise ValueError if attention weights are missing, or an ensemble cannot average them."""
        models = getattr(self.model, "models", [self.model])
        readers: list[Any] = [getattr(model, "reader", None) for model in models]
        if not all(hasattr(reader, "attention") for reader in readers):
            name = self.settings.get("attention", self.name)
            what = f"the model {name!r}" if len(models) == 1 else "a model of the ensemble"
            raise ValueError(f"{what} has no attention weights to show; train one "
                             "with attention = 'single', 'combined' or 'key-value'")
        if len({(reader.window, reader.reach) for reader in readers}) > 1:
            raise ValueError("the models of the ensemble differ in `window` or `carried`, so their "
                             "attention weights have no mean; use models with the same settings")

    def _encode(self, tokens: Sequence[str], name: str) -> list[int]:
        """Return the ids of tokens. Raises TypeError for a string if the model reads words."""
        if isinstance(tokens, str) and self.training.unit == "characters":
            tokens = list(tokens)
        check_tokens(name, tokens)
        return self.vocabulary.encode(tokens)

    def _visible(self, weights: Array | None, positions: int) -> Array | None:
        """Return an array of weights, one per position read: NaN outside the memory or the window.

        weights: the weights of the states in memory, oldest first; if None, return None.
        positions: the number of positions read, the last of which is the query.
        """
        if weights is None:
            return None
        reach = len(weights)
        first, *_ = getattr(self.model, "models", [self.model])        # of an ensemble
        if first.reader.window is not None:
            reach = min(reach, first.reader.window)
        row = np.full(positions, np.nan)
        if reach:
            row[-1 - reach:-1] = weights[len(weights) - reach:]
        return row


Writer = LanguageModelRun       # its name in version 1.0
