"""The line reported for a known mistake is the line that was changed."""

import ast
import difflib

import pytest

from numpy_attention.course.exercises.catalogue import EXERCISES
from numpy_attention.course.exercises.places import placed

CURATED = [(name, number) for name, one in EXERCISES.items()
           for number in range(len(one.mistakes))]


@pytest.mark.parametrize("name, number", CURATED)
def test_curated_mistake_is_in_the_changed_line(name, number):
    exercise = EXERCISES[name]
    right, wrong, mistake = exercise.mistakes[number]
    text = exercise.head + exercise.changed(right, wrong)
    found, place, _ = placed(exercise, [mistake], ast.parse(text))
    assert found == [mistake]
    changed = changed_lines(exercise.solution, text)
    if place is None:                   # every changed line is also in the solution
        assert all(text.splitlines()[line - 1].strip() in exercise.solution for line in changed)
    elif place not in exercise.blanks:
        assert place in changed


def changed_lines(before, after):
    """Return the numbers of the lines of `after` that are not in `before`."""
    edits = difflib.SequenceMatcher(None, before.splitlines(), after.splitlines(), autojunk=False)
    return {line for edit, _, _, first, last in edits.get_opcodes() if edit != "equal"
            for line in range(first + 1, last + 1)}


SOFTMAX = EXERCISES["softmax"]
ONE_TERM, NO_ALPHA = (description for _, _, description in SOFTMAX.mistakes[:2])


def softmax_tree(*body):
    lines = "".join(f"    {line}\n" for line in body)
    return ast.parse(f"def softmax_backward(dalpha, cache, grads):\n{lines}")


@pytest.mark.parametrize("body, mistakes, place", [
    (["alpha = cache", "return alpha * dalpha"], [ONE_TERM], 3),
    (["de = dalpha * cache", "return de"], ["a sign, in the computation of `de`"], 2),
    (["de = np.zeros(3)", "de += dalpha", "return de"], ["a sign, in the computation of `de`"], 3),
    (["return cache * dalpha"], [ONE_TERM], 2),         # other names on the same line
    (["mean = 0", "de = dalpha", "return de"], ["a sign, in the computation of `de`"], 3),
    (["return dalpha"], ["a missing factor, in the computation of `mean`"], None),
    (["return dalpha"], [], None)])
def test_line_of_user_code(body, mistakes, place):
    assert placed(SOFTMAX, mistakes, softmax_tree(*body)) [:2] == (mistakes, place)


def test_only_line_that_differs_from_the_solution():
    exercise = EXERCISES["deep-output"]
    _, _, mistake = exercise.mistakes[0]            # the solution's dwide, of another mask
    text = exercise.solution.replace("largest = pairs ==", "largest = pairs <")
    for first_wrong, place in ((None, 39), (39, 39), (42, None)):
        assert placed(exercise, [mistake], ast.parse(text), first_wrong)[1:] == (place, False)


def test_only_lines_with_the_text_of_the_mistake_are_certain():
    for body, certain in ((["alpha = cache", "return alpha * dalpha"], True),
                          (["de = dalpha * cache", "return de"], False)):
        assert placed(SOFTMAX, [ONE_TERM], softmax_tree(*body))[2] is certain


def test_mistake_whose_text_occurs_is_chosen():
    tree = softmax_tree("return dalpha - mean")
    assert placed(SOFTMAX, [ONE_TERM, NO_ALPHA], tree) == ([NO_ALPHA], 2, True)


def test_missing_line_is_located_by_its_function():
    exercise = EXERCISES["cross-entropy"]
    right, wrong, mistake = next(one for one in exercise.mistakes if not one[1].strip())
    tree = ast.parse(exercise.changed(right, wrong))
    assert placed(exercise, [mistake], tree) == ([mistake], "cross_entropy_backward", False)
