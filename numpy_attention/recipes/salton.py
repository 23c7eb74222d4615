"""Attentive language models on the Penn Treebank (Salton, Ross & Kelleher 2017).

Small ones for an equal comparison, and those of the paper. The memory holds the states of the
current 35 steps alone, in evaluation too.
"""

from numpy_attention.recipes.equal import equal
from numpy_attention.recipes.recipe import LanguageRecipe
from numpy_attention.runs.writer import WriterTraining

REPORTED = "Salton et al. 2017, reported, not verified"
TRAIN = WriterTraining(
    epochs=39, batch_size=32, steps=35, optimizer="sgd", learning_rate=1.0, schedule="decay",
    full_epochs=12, divisor=2.0, clip=5.0)


def published(score: str, valid: float, test: float) -> LanguageRecipe:
    return LanguageRecipe(
        name=f"salton-{score}",
        description=f"attentive LSTM of 2 × 650 units, {score} score (many hours), Penn Treebank",
        corpus={"name": "ptb"},
        model="attentive-language-model",
        settings=dict(attention=score, hidden=650, layers=2, dropout=0.5, init=0.05),
        training=TRAIN,
        yardsticks={
            ("valid", "perplexity"): (valid, REPORTED),
            ("test", "perplexity"): (test, REPORTED),
        })


RECIPES = (
    equal("salton-small-single", "single", 167, 167),
    equal("salton-small-combined", "combined", 165, 165),
    published("single", 71.7, 70.1),
    published("combined", 72.6, 70.7),
)
