"""Plot of the path through a course: the exercises that are done, begun, or still to do."""

from collections.abc import Collection, Mapping, Sequence

from matplotlib.axes import Axes

from numpy_attention.plotting.base import COLOURS, as_written, check_axes, named, new_axes


def course_path(rows: Mapping[str, Sequence[str]], done: Collection[str],
                ax: Axes | None = None, *, begun: Collection[str] = ()) -> Axes:
    """Plot one row per lesson with one dot per exercise: full if done, half full if begun.

    rows: {lesson: exercises}. done, begun: names of exercises. Raises ValueError for empty `rows`.
    """
    check_axes(ax)
    rows = named("rows", rows, "exercises")
    longest = max(map(len, rows.values()))
    ax = ax or new_axes(2.5 + 1.6 * longest, 0.9 + 0.6 * len(rows))
    for y, (lesson, names) in enumerate(rows.items()):
        ax.plot([0, max(len(names) - 1, 0)], [y, y], color="0.8", zorder=1)
        for x, name in enumerate(names):
            fill = "full" if name in done else "left" if name in begun else "none"
            ax.plot(x, y, "o", markersize=11, zorder=2, color=COLOURS[0], fillstyle="full",
                    markerfacecolor="white")        # the line does not show through
            ax.plot(x, y, "o", markersize=11, zorder=3, color=COLOURS[0], fillstyle=fill)
            ax.annotate(name, (x, y), (0, -14), textcoords="offset points", ha="center",
                        fontsize=8, **as_written())
    number = sum(map(len, rows.values()))
    passed = sum(name in done for names in rows.values() for name in names)
    half = sum(name in begun and name not in done for names in rows.values() for name in names)
    ax.set_title(f"{passed} of {number} passed" + (f", {half} begun" if half else ""))
    ax.set_yticks(range(len(rows)), list(rows))
    ax.set_ylim(len(rows) - 0.3, -0.6)
    ax.set_xlim(-0.6, longest - 0.4)
    ax.set_xticks([])
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    return ax
