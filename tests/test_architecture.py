"""Modules import only from packages below them in docs/architecture.md."""

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "numpy_attention"


def layers():
    """Return the packages and modules listed in docs/architecture.md, top first."""
    block = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").split("```")[1]
    return [line.split()[0] for line in block.splitlines() if line.strip()]


def imports(path):
    """Return the names below numpy_attention that a file imports, at any level."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from (name.split(".")[1] for name in names if name.startswith("numpy_attention."))


def test_every_package_is_listed_once():
    there = {path.stem for path in PACKAGE.iterdir()
             if path.suffix == ".py" or (path / "__init__.py").is_file()}
    assert sorted(layers()) == sorted(there - {"__init__", "__main__"})


def test_modules_import_only_from_lower_layers():
    order = {name: place for place, name in enumerate(layers())}
    wrong = []
    for path in PACKAGE.rglob("*.py"):
        own = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        wrong += [f"{path.relative_to(ROOT)} imports {name}" for name in imports(path)
                  if own in order and name in order and order[name] < order[own]]
    assert wrong == []
