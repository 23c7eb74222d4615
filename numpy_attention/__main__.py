"""The command line, run by `python -m numpy_attention`."""

import sys

from numpy_attention.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
