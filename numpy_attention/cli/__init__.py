"""The command line: all that knows flags.

`main` parses and tells errors, `options` says every option once; the commands are in files by what
they are for: translators, language_models, catalogue, compare.
"""
