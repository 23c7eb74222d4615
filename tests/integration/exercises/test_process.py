"""A check in a separate process: loops, exits and floods of output end there."""

from numpy_attention.course.exercises.catalogue import EXERCISES
from numpy_attention.course.exercises.process import checked, why_ended

SOFTMAX = EXERCISES["softmax"]
RIGHT = "return alpha * (dalpha - mean)"


def verdict(body, folder, seconds=20):
    path = folder / "softmax.py"
    path.write_text(SOFTMAX.solution.replace(RIGHT, body), encoding="utf-8")
    return checked(SOFTMAX, path, seconds)


def test_a_right_one_passes_and_its_words_are_shown(tmp_path):
    found, printed = verdict(f"print('hello')\n    {RIGHT}", tmp_path)
    assert found.passed, found.message
    assert printed.startswith("hello\n")


def test_of_a_flood_the_beginning_is_shown(tmp_path):
    _, printed = verdict("print('x' * 300_000)\n    return dalpha", tmp_path)
    assert printed.startswith("xxx")
    assert len(printed) < 2_100
    assert printed.endswith("bytes more")


def test_how_a_process_has_ended():
    assert why_ended(-9) == "it did not end; is there an endless loop?"
