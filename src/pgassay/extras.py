"""What pgassay needs for some commands only (the extras of pyproject.toml), and how to install it where we run.

pgassay itself is on no package index, so `pip install "pgassay[live]"` finds nothing. The packages that an extra stands
for are, so the command names those, and the Python that runs us. It is the same for a wheel, a checkout and pipx.
"""

import shlex
import sys
from importlib.metadata import requires
from importlib.util import find_spec


def install_command(extra: str) -> str:
    """The command that installs the packages of an extra beside us; raises `LookupError` where there is no such extra.

    An environment without pip (uv's, the Debian package's) takes packages from another Python's pip.
    """
    asked = [line.partition(";") for line in requires("pgassay") or ()]
    packages = [each.strip() for each, _, marker in asked if marker.replace('"', "'").strip() == f"extra == '{extra}'"]
    if not packages:
        raise LookupError(extra)
    pip = [sys.executable, "-m", "pip"] if find_spec("pip") else ["python3", "-m", "pip", "--python", sys.executable]
    return shlex.join([*pip, "install", *packages])
