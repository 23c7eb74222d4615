"""Attentive language models on the Penn Treebank (Salton, Ross & Kelleher 2017).

`salton-small-*` are for an equal comparison: their state is carried, and their memory holds the
states of the current 35 steps alone, in evaluation too. All others follow the paper: state and
memory are empty at every sentence, sentences are cut to 35 tokens in training, and read whole where
they are measured.

Two figures of such a model: `perplexity` predicts every word; `perplexity_skip_first` counts each
sentence's first word and does not predict it, as the published figures do.

`sentences-*` are small, and differ in the layer above the state. `sentences-linear` is what the
paper's released code trains: its framework traces the cell once, when the list of earlier states is
one vector of zeros, so that in training c_t = 0, and it has no tanh. `sentences-no-context` is the
paper's model with c_t = 0 held: y = tanh(W_c [h; 0] + b).
"""

from typing import Any

from numpy_attention.experiments.recipes.equal import equal
from numpy_attention.experiments.recipes.recipe import LanguageRecipe
from numpy_attention.experiments.runs.writer import LanguageModelTraining

# tokens, of which so many are the first of a sentence
COUNTS = {"valid": (73_760, 3_370), "test": (82_430, 3_761)}
SENTENCES: dict[str, Any] = dict(
    batch_size=32, state="sentence", cut=35, optimizer="sgd", learning_rate=1.0, schedule="decay",
    divisor=2.0, clip=5.0)
TRAIN = LanguageModelTraining(epochs=39, full_epochs=12, **SENTENCES)
SMALL = LanguageModelTraining(epochs=13, full_epochs=4, **SENTENCES)


def predicted(split: str, flattered: float) -> float:
    """The perplexity of the words that were predicted, of a figure that counts others too."""
    tokens, first = COUNTS[split]
    return flattered ** (tokens / (tokens - first))


def published(score: str, valid: float, test: float) -> LanguageRecipe:
    metrics = tuple((split, "perplexity_skip_first") for split in COUNTS)
    reported = {split: (figure, "Salton et al. 2017, reported, not verified; "
                        f"{predicted(split, figure):.1f} where only what is predicted counts")
                for split, figure in (("valid", valid), ("test", test))}
    return LanguageRecipe(
        name=f"salton-{score}",
        description=f"attentive LSTM of 2 × 650 units, {score} score (many hours), Penn Treebank",
        corpus={"name": "ptb"},
        model="attentive-language-model",
        settings=dict(attention=score, hidden=650, layers=2, dropout=0.5, init=0.05),
        training=TRAIN,
        metrics=(*((split, "perplexity") for split in COUNTS), *metrics),
        baselines={(split, "perplexity_skip_first"): one for split, one in reported.items()})


def sentences(name: str, what: str, **reading: Any) -> LanguageRecipe:
    """reading: the settings of the layer above the state; none: there is no such layer."""
    return LanguageRecipe(
        name=f"sentences-{name}",
        description=f"{what}, 2 × 200 units, tied, sentence by sentence, 13 epochs, Penn Treebank",
        corpus={"name": "ptb"},
        model="attentive-language-model" if reading else "language-model",
        settings=dict(hidden=200, embedding=200, layers=2, tied=True, dropout=0.0, init=0.05,
                      forget_bias=1.0) | reading,
        training=SMALL,
        metrics=(("valid", "perplexity"), ("test", "perplexity"), ("test", "perplexity_skip_first")))


RECIPES = (
    equal("salton-small-single", "single", 167, 167),
    equal("salton-small-combined", "combined", 165, 165),
    sentences("lstm", "LSTM"),
    sentences("linear", "LSTM and a linear layer", attention="projection", activation="linear"),
    sentences("no-context", "LSTM and a tanh layer, no context", attention="projection"),
    sentences("single", "LSTM with single attention", attention="single"),
    sentences("combined", "LSTM with combined attention", attention="combined"),
    published("single", 71.7, 70.1),
    published("combined", 72.6, 70.7),
)
