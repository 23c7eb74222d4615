"""The map of the package: its subpackages, and which imports which, read from the imports."""

import ast
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "numpy_attention"
WIDTH, HEIGHT = 112, 34         # of a box
ACROSS, DOWN = 132, 92          # from one to the next


def subpackages():
    """{name: paths of its modules}, of the subpackages and of the package's own modules."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        if parts[0] not in ("__init__", "__main__"):
            found.setdefault(parts[0], []).append(path)
    return found


def arrows():
    """{part: the parts that its modules import}."""
    known = subpackages()
    return {part: sorted({one for path in paths for one in imported(path) if one in known} - {part})
            for part, paths in known.items()}


def imported(path):
    """The subpackages that a module imports, at any depth."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{name.name}" for name in node.names]
        elif isinstance(node, ast.Import):
            names = [name.name for name in node.names]
        else:
            continue
        for name in names:
            package, _, rest = name.partition(".")
            if package == PACKAGE.name and rest:
                yield rest.split(".")[0]


def first_line(part):
    """The first sentence of a subpackage's docstring."""
    path = PACKAGE / part / "__init__.py"
    path = path if path.is_file() else PACKAGE / f"{part}.py"
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    paragraph = " ".join(text.split("\n\n")[0].split())
    return paragraph.split(". ")[0].rstrip(".:") + "."


# ---- the picture --------------------------------------------------------------------------------


def levels(uses):
    """{part: its height}, above all that it uses. ValueError: the imports form a circle."""
    heights = {}

    def height(part, above):
        if part in above:
            circle = [*above[above.index(part):], part]
            raise ValueError(f"subpackages import each other: {' → '.join(circle)}")
        if part not in heights:
            heights[part] = 1 + max((height(one, [*above, part]) for one in uses[part]),
                                    default=-1)
        return heights[part]

    for part in uses:
        height(part, [])
    return heights


def needed(uses):
    """Leave out the arrows that follow from a longer path."""
    reached = {}

    def all_below(part):
        if part not in reached:
            reached[part] = set(uses[part]).union(*(all_below(one) for one in uses[part]))
        return reached[part]

    return {part: [one for one in below
                   if not any(one in all_below(other) for other in below if other != one)]
            for part, below in uses.items()}


def rows(uses):
    """The subpackages row by row, the highest first, each near what it uses."""
    heights = levels(uses)
    made = []
    for level in range(max(heights.values()) + 1):
        row = [part for part in uses if heights[part] == level]
        made.append(row)
    places = {}
    for row in made:
        row.sort(key=lambda part: mean([places[one] for one in uses[part] if one in places]))
        for number, part in enumerate(row):
            places[part] = number - (len(row) - 1) / 2
    return made[::-1]


def mean(numbers):
    return sum(numbers) / len(numbers) if numbers else 0.0


def svg(link):
    """Draw the map as SVG. link: function from a subpackage to its address."""
    uses = arrows()
    direct = needed(uses)
    lines = rows(uses)
    width = max(len(row) for row in lines) * ACROSS + 8
    places = {}
    for down, row in enumerate(lines):
        left = (width - len(row) * ACROSS) / 2
        for number, part in enumerate(row):
            places[part] = (left + (number + 0.5) * ACROSS, down * DOWN + HEIGHT)
    height = len(lines) * DOWN - DOWN + 2 * HEIGHT
    drawn = [f'<svg class="map" viewBox="0 0 {width} {height}" role="img" '
             'aria-label="The subpackages; an arrow leads from each to those that it uses">',
             "<style>", *(rule(part) for part in uses), "</style>",
             '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
             'markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z"/></marker></defs>']
    for part, below in uses.items():
        x, y = places[part]
        for one in below:
            to_x, to_y = places[one]
            more = "" if one in direct[part] else " more"
            drawn.append(f'<path class="arrow from-{part} to-{one}{more}" '
                         f'd="M{x:.0f} {y + HEIGHT / 2:.0f}C{x:.0f} {y + 60:.0f} {to_x:.0f} '
                         f'{to_y - 60:.0f} {to_x:.0f} {to_y - HEIGHT / 2:.0f}" '
                         'marker-end="url(#tip)"/>')
    for part, (x, y) in places.items():
        drawn.append(
            f'<a href="{escape(link(part))}" class="part part-{part}">'
            f"<title>{escape(first_line(part))}</title>"
            f'<rect x="{x - WIDTH / 2:.0f}" y="{y - HEIGHT / 2:.0f}" width="{WIDTH}" '
            f'height="{HEIGHT}" rx="5"/><text x="{x:.0f}" y="{y + 5:.0f}">{part}</text></a>')
    return "\n".join([*drawn, "</svg>"])


def rule(part):
    """The CSS that shows the arrows of the subpackage under the mouse or focus."""
    on = f".map:has(.part-{part}:is(:hover, :focus))"
    return (f"{on} .arrow:not(.from-{part}, .to-{part}) {{ opacity: 0.08 }} "
            f"{on} .arrow:is(.from-{part}, .to-{part}) {{ display: inline; opacity: 1 }}")


def table(link):
    """The map as a Markdown table."""
    uses = arrows()
    order = [part for row in rows(uses) for part in row]
    lines = ["| subpackage | contents | uses | is used by |", "|---|---|---|---|"]
    for part in order:
        users = [one for one in order if part in uses[one]]
        lines.append(f"| [{part}]({link(part)}) | {first_line(part).replace('|', '/')} | "
                     f"{', '.join(uses[part]) or '—'} | {', '.join(users) or '—'} |")
    return "\n".join(lines)
