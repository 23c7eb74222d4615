"""Small edits of user code, tried one at a time until one makes the gradients correct.

Most generators here yield pairs (kind of mistake, alternative), such as ("sign", x - y) for x + y.
The alternative is a syntax tree or a list of statements. `report.kinds` explains the kinds.
"""
