"""What lessons 05 to 08 quote from the records is what stands there."""

import pytest
from lesson_files import recorded, written

# of each lesson the metric of its RECORDED, the digits, and the recipe behind every figure
QUOTED = {
    "05_encoder_decoder.py": ("bleu", 1, [
        "clauses-fixed", "fixed-two-directions", "additive-one-direction", "clauses-additive"]),
    "06_additive_attention.py": ("bleu", 1, [
        "appendix", "appendix-init-modern", "clauses-additive"]),
    "07_luong_attention.py": ("perplexity", 2, [
        "clauses-dot", "clauses-general", "clauses-concat", "clauses-dot-feeding",
        "asks-previous-additive"]),
    "08_scaled_dot_product.py": ("perplexity", 2, ["clauses-dot", "clauses-scaled-dot"]),
}


def figures_in(quoted):
    """The numbers of a dict of numbers, or of such dicts, in order."""
    return [figure for value in quoted.values()
            for figure in (figures_in(value) if isinstance(value, dict) else [value])]


@pytest.mark.parametrize("name", QUOTED)
def test_a_quoted_figure_is_the_recorded_one(name):
    metric, digits, recipes = QUOTED[name]
    assert figures_in(written(name, "RECORDED")) == [
        round(recorded(recipe, metric=metric), digits) for recipe in recipes]


def test_what_lesson_05_says_of_its_records():
    fixed, both, look, all_of_it = figures_in(written("05_encoder_decoder.py", "RECORDED"))
    for second_direction in (both - fixed, all_of_it - look):
        assert round(second_direction) == 1
    for attention in (look - fixed, all_of_it - both):
        assert round(attention) == 8
    assert abs(recorded("fixed-reversed", metric="bleu") - fixed) < 0.5


def test_what_lesson_07_says_of_its_records():
    quoted = written("07_luong_attention.py", "RECORDED")
    too_early = quoted.pop("concat asked by h_{t−1}") - quoted["concat"]
    assert round(too_early, 1) == 1.0 and too_early > max(quoted.values()) - min(quoted.values())
