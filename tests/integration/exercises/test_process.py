"""A check runs in a separate process, which contains loops, exits and floods of output."""

from numpy_attention.course.exercises.catalogue import EXERCISES
from numpy_attention.course.exercises.process import checked, why_ended

SOFTMAX = EXERCISES["softmax"]
RIGHT = "return alpha * (dalpha - mean)"


def verdict(body, folder, seconds=20):
    path = folder / "softmax.py"
    path.write_text(SOFTMAX.solution.replace(RIGHT, body), encoding="utf-8")
    return checked(SOFTMAX, path, seconds)


def test_correct_answer_passes_and_its_output_is_shown(tmp_path):
    found, printed = verdict(f"print('hello')\n    {RIGHT}", tmp_path)
    assert found.passed, found.message
    assert printed.startswith("hello\n")


def test_long_output_is_truncated(tmp_path):
    _, printed = verdict("print('x' * 300_000)\n    return dalpha", tmp_path)
    assert printed.startswith("xxx")
    assert len(printed) < 2_100
    assert printed.endswith("bytes more")


def test_description_of_exit_status():
    assert why_ended(-9) == "it did not end; is there an endless loop?"
