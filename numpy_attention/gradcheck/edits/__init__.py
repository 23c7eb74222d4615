"""Small edits of statements, tried to see which edit makes the gradients correct.

Most generators here yield pairs (kind, alternative), such as ("sign", x - y) for the expression
x + y. The kind is the kind of mistake that the edit would fix, as described in `report.kinds`. The
alternative is an expression, or a list of statements, as trees of the `ast` module.
"""
