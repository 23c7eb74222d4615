"""What of a reader's file was given, and whether it is as it was."""

import ast
import re

from numpy_attention.course.exercises.exercise import Exercise


class Given:
    """The functions of a reader's file that were given, and whether they are as they were."""

    def __init__(self, exercise: Exercise, tree: ast.Module):
        before = functions_of(ast.parse(exercise.start))
        self.now = functions_of(tree)
        self.names = before.keys() - set(exercise.blanks)
        self.changed = [name for name in before if name in self.names & self.now.keys()
                        and dumped(before[name]) != dumped(self.now[name])]

    def function_at(self, line: int) -> str:
        """The name of the given function in which a line stands; "": it is the reader's."""
        return next((name for name, node in self.now.items()
                     if name in self.names and node.lineno <= line <= (node.end_lineno or 0)), "")


def dumped(function: ast.FunctionDef) -> str:
    """What a function does, to be compared: its docstring does nothing."""
    body = function.body
    if ast.get_docstring(function) is not None:
        body = body[1:]
    return "\n".join(map(ast.dump, [function.args, *function.decorator_list, *body]))


def functions_of(tree: ast.Module) -> dict[str, ast.FunctionDef]:
    """{"softmax": its node, "PlainRNN.forward": …}; of two with one name the last."""
    found = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            found[node.name] = node
        elif isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{one.name}": one for one in node.body
                      if isinstance(one, ast.FunctionDef)}
    return found


def with_given(message: str, its: Given) -> str:
    """A message that says where a line that it names was given, and what is not as it was."""
    lines = []
    told_next = False
    for line in message.splitlines():
        lines.append(line)
        if told_next:
            lines.append("  this line was given and is right: what you wrote does not fit it")
        place = re.match(r"first wrong: line (\d+) of ", line)
        name = its.function_at(int(place[1])) if place else ""
        told_next = bool(name) and name not in its.changed
    if its.changed:
        verb = "was given, and is" if len(its.changed) == 1 else "were given, and are"
        lines.append(f"{' and '.join(its.changed)} {verb} not as before: is that meant?")
    return "\n".join(lines)
