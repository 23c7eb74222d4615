"""RNNsearch (Bahdanau et al. 2015) on clauses of bible-en-es: two processors, a coffee break."""

from numpy_attention.experiments.recipes.recipe import Recipe
from numpy_attention.experiments.runs.translator import TranslatorTraining

TWIN = "the same in PyTorch, best of 7 epochs, 24.8 minutes: benchmarks/yardstick.py"
PYTORCH = "PyTorch, same size, another split of the same texts"

RECIPE = Recipe(
    name="rnnsearch-bible",
    description="RNNsearch, English to Spanish, clauses of 3 to 12 tokens of bible-en-es",
    corpus={"name": "bible-en-es", "part": "clauses", "min_length": 3, "max_length": 12},
    model="rnnsearch",
    settings={
        "hidden": 256, "embedding": 256, "dropout": 0.2,
        "readout": "current", "reset": "after", "update": "old", "init": "modern",
    },
    training=TranslatorTraining(
        epochs=8, batch_size=64, optimizer="adam", learning_rate=1e-3, clip=1.0, patience=2,
        min_count=3),
    metrics=(
        ("valid", "perplexity"),
        ("test", "perplexity"),
        ("test", "bleu"),
        ("test", "bleu_greedy"),
        ("test", "chrf"),
        ("test", "pointing"),
        ("test", "aer"),
    ),
    baselines={
        ("valid", "perplexity"): (6.82, TWIN),
        ("test", "bleu_greedy"): (27.43, TWIN),
        ("test", "pointing"): (0.55, PYTORCH),
    },
)
