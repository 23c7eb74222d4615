"""The command line, the only part of the package that knows flags.

`main` runs a command and turns errors into exit statuses. `commands` lists the commands. `options`
and `training_options` describe the options of the commands with `parser`. `messages` rewrites the
names of Python arguments as flags. The other modules implement the commands. Each of them is
imported when it is needed.
"""
