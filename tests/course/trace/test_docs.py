"""What docs/trace.md prints is what its code prints."""

import re
from pathlib import Path

from numpy_attention.course.trace import traced

DOCS = Path(__file__).parents[2] / "docs" / "trace.md"


def test_the_example_prints_what_stands_there(tmp_path, capsys):
    text = DOCS.read_text(encoding="utf-8")
    code, = (body for body in re.findall(r"```python\n(.*?)```", text, re.DOTALL)
             if "def forward" in body)
    first, second = re.findall(r"```text\n(.*?)```", text, re.DOTALL)
    file = tmp_path / "mine.py"
    file.write_text(code, encoding="utf-8")
    names = {"__name__": "mine"}
    exec(compile(code, str(file), "exec"), names)
    assert capsys.readouterr().out == first
    rng = names["np"].random.default_rng(0)
    inputs = rng.standard_normal((4, 3)), 0.5 * rng.standard_normal((3, 3))
    found = traced(None, *inputs, forward=names["forward"], backward=names["backward"])
    assert found.told(step=1, names="d*") + "\n" == second
