"""The command line: all that knows flags. `main` parses and tells errors; a command stands in a file of its own."""
