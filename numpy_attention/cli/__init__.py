"""The command line.

`main` runs a command and turns errors into exit statuses. `commands` lists the commands. `options`
and `training_options` describe the options of the commands with `parser` and `values`. `messages`
rewrites the names of Python arguments as flags. `streams` prepares the standard streams, `ranks`
runs a command on several ranks, and `shared` has helpers of several commands. The other modules
implement the commands. Each of them is imported when one of its commands runs.
"""
