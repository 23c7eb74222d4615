"""The course path: passed, begun and future exercises look different."""


from numpy_attention import plotting

ROWS = {"01 gradients": ["softmax", "linear"], "02 network": ["bptt"]}


def fills(ax):
    """Return {(x, y): fill style of its dot}."""
    dots = [line for line in ax.lines if line.get_marker() == "o"
            and line.get_markerfacecolor() != "white"]
    return {(line.get_xdata()[0], line.get_ydata()[0]): line.get_fillstyle() for line in dots}


def test_dots_are_full_half_or_empty():
    ax = plotting.course_path(ROWS, ["softmax"], begun=["softmax", "bptt"])
    assert fills(ax) == {(0, 0): "full", (1, 0): "none", (0, 1): "left"}
    assert ax.get_title() == "1 of 3 passed, 1 begun"
    assert [one.get_text() for one in ax.get_yticklabels()] == list(ROWS)
    assert [one.get_text() for one in ax.texts] == ["softmax", "linear", "bptt"]


def test_without_begun_exercises():
    assert plotting.course_path(ROWS, []).get_title() == "0 of 3 passed"
