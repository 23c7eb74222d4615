"""German to English on Multi30k's captions (Elliott et al. 2016): RNNsearch, 7.6 M parameters."""

from numpy_attention.experiments.recipes.recipe import Recipe
from numpy_attention.experiments.runs.translator import TranslatorTraining

TUTORIAL = ("a widely read tutorial's GRU with attention, 20.5 million parameters; tuned models "
            "with attention reach 33 to 38")

RECIPE = Recipe(
    name="multi30k-de-en",
    description="RNNsearch, German to English, captions of Multi30k, lowercased",
    corpus={"name": "multi30k-de-en"},
    model="rnnsearch",
    settings={
        "hidden": 320, "embedding": 256, "maxout": 160, "dropout": 0.4,
        "readout": "current", "reset": "after", "update": "old", "init": "modern",
    },
    training=TranslatorTraining(
        epochs=12, batch_size=64, optimizer="adam", learning_rate=1.5e-3, schedule="linear",
        clip=1.0, min_count=2),
    metrics=(
        ("valid", "perplexity"),
        ("test_2016_flickr", "perplexity"),
        ("test_2016_flickr", "bleu"),
        ("test_2016_flickr", "bleu_13a"),
        ("test_2016_flickr", "bleu_greedy"),
        ("test_2016_flickr", "chrf"),
    ),
    baselines={("test_2016_flickr", "bleu"): (28.3, TUTORIAL)},
)
