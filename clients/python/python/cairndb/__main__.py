"""`python -m cairndb`: runs `cairn`, the command-line tool, a separate program."""

from __future__ import annotations

import os
import shutil
import sys


def main() -> None:
    """Become `cairn`, or say how to get it."""
    tool = shutil.which("cairn")
    if tool is None:
        sys.exit(
            "python -m cairndb runs cairn, the command-line tool, which is not on PATH. Install it "
            "from a clone of CairnDB: make install-cairn PREFIX=$HOME/.local"
        )
    os.execv(tool, ["cairn", *sys.argv[1:]])


if __name__ == "__main__":
    main()
