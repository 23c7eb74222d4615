"""How much a search may try."""

from numpy_attention.gradcheck.locate.budget import Budget, limited_search


def test_a_budget_is_spent_by_number():
    budget = Budget(3)
    budget.take(2)
    assert not budget.is_spent and budget.left == 1
    budget.take()
    assert budget.is_spent


def test_a_part_of_it_within_and_the_whole_again_behind():
    with limited_search(0.3):
        assert Budget(10).left == 3
        with limited_search(0.5):
            assert Budget(10).left == 5
        assert Budget(10).left == 3
    assert Budget(10).left == 10
