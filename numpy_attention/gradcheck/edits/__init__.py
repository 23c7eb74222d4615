"""Small edits of statements, tried to see which edit makes the gradients correct.

The generators of this package yield pairs such as ("sign", a - b) as alternatives to the expression
a + b. The first item, `kind`, is the kind of mistake that the edit would fix; report.kinds has a
description of each. The second item is a syntax tree of the `ast` module.
"""
