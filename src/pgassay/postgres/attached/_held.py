"""Runs between fork and exec of a restart of a user's server: `python -I -S _held.py PROGRAM …`.

It waits for a line, the environment of the program as JSON, and becomes the program; it ends where the line never
comes. So a lab that is killed leaves no restart that it has not noted. No shell, which would change the environment and
interpret what is no program. Imports nothing of pgassay.
"""

import json
import os
import signal
import sys

NOT_RUN = 127


def main(words: list[str]) -> int:
    """Become the program; returns only where that fails."""
    line = sys.stdin.readline()
    if not line:
        return NOT_RUN
    for number in (signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ):  # Python has answers of its own, which would stay
        signal.signal(number, signal.SIG_DFL)
    os.dup2(os.open(os.devnull, os.O_RDONLY), sys.stdin.fileno())
    try:
        os.execve(words[0], words, json.loads(line))
    except OSError as error:
        print(f"it could not be started: {error.strerror}", file=sys.stderr)
    return NOT_RUN


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
