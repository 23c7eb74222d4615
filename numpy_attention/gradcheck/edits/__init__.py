"""Small edits of statements, tried to see which edit makes the gradients correct.

Most generators here yield pairs (kind of mistake, alternative), such as ("sign", x - y) for x + y.
The alternative is a syntax tree or a list of statements. `report.kinds` explains the kinds.
"""
