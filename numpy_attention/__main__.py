"""python -m numpy_attention: the command line."""

import sys

from numpy_attention.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
