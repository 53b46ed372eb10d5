"""``python -m fasttool``."""

import sys

from fasttool.cli import main

if __name__ == "__main__":
    sys.exit(main())
