"""The command line: all that knows flags.

`main` parses and tells errors; `options` says every option once, in the form that `entry` gives an
option and with the readers of `values`. The commands are in files by what they are for:
translators, language_models (`shared`: what these two share), catalogue, compare; own_checks and
own_code are about code of a reader's own.
"""
