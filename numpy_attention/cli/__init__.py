"""The command line.

`main` runs a command and turns errors into exit statuses. `commands` lists the commands. `options`
and `training_options` list the options. `parser` defines an option, and `values` parses its value.
`messages` rewrites the names of Python arguments as flags. `streams` prepares the standard streams.
`ranks` runs a command in several processes. `shared` has helpers of several commands. The other
modules implement the commands. Each of these modules is imported when one of its commands runs.
"""
