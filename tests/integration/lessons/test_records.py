"""Lessons quote the recorded figures correctly."""

from statistics import stdev

import pytest
from lesson_files import recorded, seeds_of, written

SEEDS = [0, 1, 2]
# for each lesson: the metric of its RECORDED, the digits, and the recipes of its figures
QUOTED = {
    "luong_parts.py": ("perplexity", 2, {
        "dot": "clauses-dot", "general": "clauses-general", "concat": "clauses-concat",
        "location": "clauses-location", "general in local-p": "clauses-local-p",
        "general in local-m": "clauses-local-m", "dot with input feeding": "clauses-dot-feeding",
        "concat with the query s_{t−1}": "query-previous-additive",
    }),
}


def figures_of(recipes, metric, digits):
    """Replace the names of recipes by their recorded figures."""
    if isinstance(recipes, dict):
        return {name: figures_of(inner, metric, digits) for name, inner in recipes.items()}
    assert seeds_of(recipes) == SEEDS
    return round(recorded(recipes, metric=metric), digits)


@pytest.mark.parametrize("name", QUOTED)
def test_quoted_figures_match_the_records(name):
    metric, digits, recipes = QUOTED[name]
    assert written(name, "RECORDED") == figures_of(recipes, metric, digits)


def bleu(recipe, seed=None):
    return recorded(recipe, metric="bleu", seed=seed)


def test_bleu_by_length_of_lesson_05():
    name = "05_encoder_decoder.py"
    recipes = ("length-fixed", "length-fixed-reversed", "length-fixed-two-directions",
               "length-additive")
    for quoted, recipe in zip(written(name, "RECORDED").values(), recipes, strict=True):
        assert seeds_of(recipe) == SEEDS
        for figure, tokens in zip(quoted, written(name, "TOKENS"), strict=True):
            assert abs(figure - recorded(recipe, metric=f"bleu_of_{tokens}")) <= 0.051


def test_statements_of_lesson_06_about_the_papers_settings():
    """A small model hardly learns with these settings, but does with ours."""
    values, adam = bleu("appendix-init-modern"), bleu("appendix-adam")
    assert bleu("appendix") < min(values, adam) / 3
    assert max(values, adam) < bleu("clauses-additive")


def test_statements_of_lessons_07_and_15():
    name = "luong_parts.py"
    quoted = written(name, "RECORDED")
    assert written(name, "DEVIATION") == tuple(
        round(stdev(recorded(QUOTED[name][2][row], seed=seed) for seed in SEEDS), 2)
        for row in quoted)
    by_words = [quoted[name] for name in ("dot", "general", "concat")]
    spread = max(by_words) - min(by_words)
    too_early = quoted["concat with the query s_{t−1}"] - quoted["concat"]
    assert round(too_early, 1) == 1.0 and too_early > spread
    assert quoted["dot with input feeding"] - quoted["dot"] < spread + 0.05
    assert quoted["location"] - quoted["concat"] > 1
    assert quoted["general in local-p"] - quoted["general"] > 1
