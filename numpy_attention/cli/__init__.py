"""The command line, the only part of the package that knows flags.

`main` runs a command and turns errors into exit statuses. `commands` lists the commands. `options`
and `training_options` describe their options with `parser`. `messages` rewrites the names of Python
arguments as flags. The other modules implement the commands, and each is imported when it is
needed.
"""
