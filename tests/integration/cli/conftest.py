from cli_runs import here, runs  # noqa: F401
