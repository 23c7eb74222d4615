"""Who asks? Luong's decoder, asked by h_{t−1} as RNNsearch by s_{i−1}.

Beside `clauses-concat` and `clauses-scaled-dot`, asked by h_t, nothing else differs: four rows are
two scores under two queries. As there, the scaled dot of queries and annotations of one size has no
matrix.
"""

from numpy_attention.experiments.recipes.mechanisms import LUONG, of_budget
from numpy_attention.experiments.recipes.recipe import Recipe


def asks_previous(name: str, attention: str) -> Recipe:
    settings = {"attention": attention, "query": "previous"} | LUONG
    return of_budget(f"asks-previous-{name}", "luong", {"hidden": 120, "embedding": 120},
                     f"{name.replace('-', ' ')} attention, asked by h_{{t−1}}", settings)


RECIPES = (
    asks_previous("additive", "concat"),
    asks_previous("scaled-dot", "scaled-dot"),
)
