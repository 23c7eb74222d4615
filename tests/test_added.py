"""A score or a cell defined in one file and registered with one line is available everywhere."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
ADDED = """
import minimal_gated, squashed
from numpy_attention import registry
registry.SCORES["squashed"] = squashed.SquashedAttention
registry.CELLS["mgu"] = minimal_gated.MinimalGatedUnit
from numpy_attention.cli.main import main
SMALL = ["--epochs", "1", "--hidden", "8", "--embedding", "8", "--threads", "1"]
"""
USES = {
    "translators": """
text = ["train", "--corpus", "bible-en-es", "--max-length", "4", "--pairs", "60", *SMALL]
for model in ("luong", "rnnsearch"):
    options = ["--model", model, "--attention", "squashed", "--run", model]
    assert main(text + options + ["--cell", "mgu"] * (model == "luong")) == 0
    assert main(["translate", model, "in the beginning", "--heatmap", f"{model}.png"]) == 0
""",
    "language models": """
from pathlib import Path
Path("text.txt").write_text("a rose is a rose is a rose\\n" * 400)
for attention in ("none", "combined"):
    options = ["--attention", attention, "--cell", "mgu", "--run", attention]
    assert main(["train", "lm", "--text", "text.txt", *SMALL, *options]) == 0
    assert main(["generate", attention, "--length", "3"]) == 0
""",
    "gradient checks": """
assert main(["gradcheck", "squashed"]) == 0
assert main(["gradcheck", "MinimalGatedUnit"]) == 0
""",
    "the laws": """
import laws, numpy as np
from numpy_attention.gradcheck.cases import CASES
squashed = [name for name in CASES if "squashed" in name.lower()]
assert len(squashed) == 3, squashed         # global, and in both local windows
gated = [name for name in CASES if "MinimalGatedUnit" in name]
assert len(gated) == 4, gated           # from outputs, from the last state, from both; as a decoder
for name in squashed + gated:
    laws.backward_twice_doubles(CASES[name](np.random.default_rng(1), np.float64))
    laws.arguments_unchanged(CASES[name](np.random.default_rng(2), np.float64))
    laws.float32_agrees(CASES[name])
""",
    "compare": """
from numpy_attention.cli.compare import chosen
from numpy_attention.cli.main import parse
_, options = parse(["compare", "clauses-dot", "clauses-squashed"])
assert [recipe.name for recipe in chosen(options)] == ["clauses-dot", "clauses-squashed"]
""",
}


@pytest.mark.parametrize("what", USES)
def test_registration_is_one_line(what, tmp_path):
    folders = [TESTS / "added", TESTS, TESTS.parent]
    path = os.pathsep.join(map(str, folders))
    run = subprocess.run(
        [sys.executable, "-c", ADDED + USES[what]], cwd=tmp_path, capture_output=True,
        text=True, env=os.environ | {"PYTHONPATH": path, "MPLBACKEND": "Agg"})
    assert run.returncode == 0, run.stdout + run.stderr
