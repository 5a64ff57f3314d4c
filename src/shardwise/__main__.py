"""``python -m shardwise`` is the command line."""

import os
import sys

HOME = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))

# ``python -m`` puts the current folder first, which may hold a stranger's modules: it goes before any other is loaded
if not sys.flags.safe_path and os.path.realpath(sys.path[0]) == os.path.realpath(".") != HOME:
    del sys.path[0]

from shardwise.cli.main import main  # noqa: E402

if __name__ == "__main__":
    main()
