"""The map of the package: its subpackages, and which imports which, read from the imports."""

import ast
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "numpy_attention"
WIDTH, HEIGHT = 112, 34         # of a room
ACROSS, DOWN = 132, 92          # from one to the next


def rooms():
    """{room: its modules' paths}; a room is a folder, or a module beside the folders."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        if parts[0] not in ("__init__", "__main__"):
            found.setdefault(parts[0], []).append(path)
    return found


def arrows():
    """{room: the rooms that its modules import}."""
    known = rooms()
    return {room: sorted({one for path in paths for one in imported(path) if one in known} - {room})
            for room, paths in known.items()}


def imported(path):
    """Rooms that a module's import statements name, wherever they stand in it."""
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


def first_line(room):
    """What a room says of itself in its first sentence."""
    path = PACKAGE / room / "__init__.py"
    path = path if path.is_file() else PACKAGE / f"{room}.py"
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    paragraph = " ".join(text.split("\n\n")[0].split())
    return paragraph.split(". ")[0].rstrip(".:") + "."


# ---- the picture --------------------------------------------------------------------------------


def levels(uses):
    """{room: its height}: above all that it uses. ValueError: two rooms that use each other."""
    heights = {}

    def height(room, above):
        if room in above:
            circle = [*above[above.index(room):], room]
            raise ValueError(f"rooms use each other: {' → '.join(circle)}")
        if room not in heights:
            heights[room] = 1 + max((height(one, [*above, room]) for one in uses[room]),
                                    default=-1)
        return heights[room]

    for room in uses:
        height(room, [])
    return heights


def needed(uses):
    """The arrows that no longer way says already."""
    reached = {}

    def all_below(room):
        if room not in reached:
            reached[room] = set(uses[room]).union(*(all_below(one) for one in uses[room]))
        return reached[room]

    return {room: [one for one in below
                   if not any(one in all_below(other) for other in below if other != one)]
            for room, below in uses.items()}


def rows(uses):
    """The rooms row by row, the highest first; within a row near what they use."""
    heights = levels(uses)
    made = []
    for level in range(max(heights.values()) + 1):
        row = [room for room in uses if heights[room] == level]
        made.append(row)
    places = {}
    for row in made:
        row.sort(key=lambda room: mean([places[one] for one in uses[room] if one in places]))
        for number, room in enumerate(row):
            places[room] = number - (len(row) - 1) / 2
    return made[::-1]


def mean(numbers):
    return sum(numbers) / len(numbers) if numbers else 0.0


def svg(link):
    """The map as SVG. link: from a room to its address."""
    uses = arrows()
    shown = needed(uses)
    lines = rows(uses)
    width = max(len(row) for row in lines) * ACROSS + 8
    places = {}
    for down, row in enumerate(lines):
        left = (width - len(row) * ACROSS) / 2
        for number, room in enumerate(row):
            places[room] = (left + (number + 0.5) * ACROSS, down * DOWN + HEIGHT)
    height = len(lines) * DOWN - DOWN + 2 * HEIGHT
    drawn = [f'<svg class="house" viewBox="0 0 {width} {height}" role="img" '
             'aria-label="The rooms of the package; an arrow leads from a room to one it uses">',
             "<style>", *(rule(room) for room in uses), "</style>",
             '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
             'markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z"/></marker></defs>']
    for room, below in uses.items():
        x, y = places[room]
        for one in below:
            to_x, to_y = places[one]
            more = "" if one in shown[room] else " more"
            drawn.append(f'<path class="arrow from-{room} to-{one}{more}" '
                         f'd="M{x:.0f} {y + HEIGHT / 2:.0f}C{x:.0f} {y + 60:.0f} {to_x:.0f} '
                         f'{to_y - 60:.0f} {to_x:.0f} {to_y - HEIGHT / 2:.0f}" '
                         'marker-end="url(#tip)"/>')
    for room, (x, y) in places.items():
        drawn.append(
            f'<a href="{escape(link(room))}" class="room room-{room}">'
            f"<title>{escape(first_line(room))}</title>"
            f'<rect x="{x - WIDTH / 2:.0f}" y="{y - HEIGHT / 2:.0f}" width="{WIDTH}" '
            f'height="{HEIGHT}" rx="5"/><text x="{x:.0f}" y="{y + 5:.0f}">{room}</text></a>')
    return "\n".join([*drawn, "</svg>"])


def rule(room):
    """What is seen of the arrows while the mouse or the keyboard is on a room."""
    on = f".house:has(.room-{room}:is(:hover, :focus))"
    return (f"{on} .arrow:not(.from-{room}, .to-{room}) {{ opacity: 0.08 }} "
            f"{on} .arrow:is(.from-{room}, .to-{room}) {{ display: inline; opacity: 1 }}")


def table(link):
    """The same in words, in Markdown."""
    uses = arrows()
    order = [room for row in rows(uses) for room in row]
    lines = ["| room | what stands there | uses | is used by |", "|---|---|---|---|"]
    for room in order:
        users = [one for one in order if room in uses[one]]
        lines.append(f"| [{room}]({link(room)}) | {first_line(room).replace('|', '/')} | "
                     f"{', '.join(uses[room]) or '—'} | {', '.join(users) or '—'} |")
    return "\n".join(lines)
