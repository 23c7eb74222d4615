"""Limits on the number of edits a search tries."""

from numpy_attention.gradcheck.locate.budget import Budget, limited_search


def test_budget_counts_edits():
    budget = Budget(3)
    budget.take(2)
    assert not budget.is_spent and budget.left == 1
    budget.take()
    assert budget.is_spent


def test_limited_search_is_undone_afterwards():
    with limited_search(0.3):
        assert Budget(10).left == 3
        with limited_search(0.5):
            assert Budget(10).left == 5
        assert Budget(10).left == 3
    assert Budget(10).left == 10
