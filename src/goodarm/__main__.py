"""Entry point of `goodarm` and `python -m goodarm`. Ctrl-C during start-up prints no traceback."""

from __future__ import annotations

import sys

INTERRUPTED = 130


def main() -> None:
    """The entry point of the command `goodarm`."""
    try:
        from goodarm.cli import main as run

        run()
    except KeyboardInterrupt:
        print("goodarm: interrupted.", file=sys.stderr)
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
