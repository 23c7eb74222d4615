"""A writer: a language model with its vocabulary and configuration, as trained, saved and measured."""

import math
from dataclasses import dataclass, field

import numpy as np

from numpy_attention.data.batching import DocumentBatches, TextBatches
from numpy_attention.data.texts import STATES
from numpy_attention.data.vocabulary import Vocabulary
from numpy_attention.models.registry import LANGUAGE_MODELS, build
from numpy_attention.module import Module
from numpy_attention.trained import Trained, Training
from numpy_attention.training.evaluation import evaluate


@dataclass
class WriterTraining(Training):
    """How a language model is trained.

    steps: tokens that back-propagation goes through at a time. state: "carried" through the whole text (Zaremba et al.
    2014), or empty at the start of every "sentence" or "article". max_vocabulary: rarer words become <unk>.
    """

    batch_size: int = 20
    steps: int = 35
    state: str = "carried"
    max_vocabulary: int | None = None

    def __post_init__(self):
        super().__post_init__()
        if self.state not in STATES:
            raise ValueError(f"state {self.state!r}: expected one of {', '.join(STATES)}")


@dataclass
class Writer(Trained):
    """A language model and what it needs to be used: its vocabulary and the configuration that builds it again."""

    KIND, VOCABULARIES, TRAINING = "writer", ("vocabulary",), WriterTraining

    model: Module
    vocabulary: Vocabulary
    name: str
    settings: dict
    training: WriterTraining
    corpus: dict = field(default_factory=dict)
    history: list = field(default_factory=list)

    @classmethod
    def create(cls, text, name="language-model", settings=None, training=None, corpus=None):
        """An untrained writer for this Text; settings go to the model's `create`, the seed is the training's."""
        if name not in LANGUAGE_MODELS:
            raise ValueError(f"unknown language model {name!r}: expected one of {', '.join(sorted(LANGUAGE_MODELS))}")
        training = training or WriterTraining()
        vocabulary = Vocabulary.build(text.sentences, training.max_vocabulary, training.min_count)
        model = build(name, np.random.default_rng(training.seed), vocabulary, **(settings or {}))
        return cls(model, vocabulary, name, settings or {}, training, corpus or {})

    def batches(self, text, streams=None):
        """What the model reads of a Text: TextBatches where the state is carried, else DocumentBatches."""
        how = self.training
        if how.state == "carried":
            return TextBatches(text.stream(self.vocabulary), streams or how.batch_size, how.steps)
        steps = None if how.state == "sentence" else how.steps
        return DocumentBatches(text.documents(self.vocabulary, how.state), streams or how.batch_size, steps)

    def measure(self, text, threads=1):
        """→ {metric: value} on a Text: loss (nats a token), perplexity, tokens; bits a character for character models.

        Every token is predicted, ends of sentence included. A carried state goes through the whole text in one stream.
        """
        result = evaluate(self.model, self.batches(text, 1 if self.training.state == "carried" else None), threads)
        mean = result.loss / result.tokens
        found = {"loss": mean, "perplexity": result.perplexity, "tokens": result.tokens}
        if text.unit == "characters":
            found["bits_per_character"] = mean / math.log(2)
        if not math.isfinite(mean):
            raise ArithmeticError(f"the loss is {result.loss}; is the model trained?")
        return found
