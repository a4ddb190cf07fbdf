"""What a keeper becomes at a lab's end begins at once, also on a busy machine: it imports nothing heavy."""

import subprocess
import sys

from pgassay.lab import cleanup

HEAVY = ("numpy", "scipy", "polars", "altair", "psycopg")


def test_what_gives_back_after_a_kill_imports_little() -> None:
    look = f"import sys; sys.argv = ['x']; import {cleanup.__name__}; print([n for n in {HEAVY} if n in sys.modules])"
    done = subprocess.run([sys.executable, "-P", "-c", look], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
