"""Why did a build fail, and what would help? From configure's and make's own output. Pure.

Names the package that is missing, in the words of the machine's package manager.
"""

import re
from collections.abc import Iterable, Mapping

PACKAGES: Mapping[str, tuple[str, str]] = {
    "cc": ("gcc", "gcc"),
    "make": ("make", "make"),
    "perl": ("perl", "perl"),
    "bison": ("bison", "bison"),
    "flex": ("flex", "flex"),
    "zlib": ("zlib1g-dev", "zlib-devel"),
    "lz4": ("liblz4-dev", "lz4-devel"),
    "zstd": ("libzstd-dev", "libzstd-devel"),
    "readline": ("libreadline-dev", "readline-devel"),
    "icu": ("libicu-dev", "libicu-devel"),
    "uring": ("liburing-dev", "liburing-devel"),
    "libc": ("libc6-dev", "glibc-devel"),
}
"""What is missing, as a Debian and as a Red Hat package."""

_SIGNS = (
    (r"no acceptable C compiler", "cc"),
    (r"bison(?: not found| is missing)|bison: (?:command )?not found", "bison"),
    (r"flex(?: not found| is missing)|flex: (?:command )?not found", "flex"),
    (r"[Pp]erl not found|perl: (?:command )?not found", "perl"),
    (r"zlib library not found|zlib\.h: No such file|header file <zlib\.h>", "zlib"),
    (r"liblz4|lz4\.h", "lz4"),
    (r"libzstd|zstd\.h", "zstd"),
    (r"readline library not found|readline\.h: No such", "readline"),
    (r"ICU library not found|icu-uc|unicode/\S+\.h: No such", "icu"),
    (r"liburing", "uring"),
    (r"(?:stdio|stdlib|errno)\.h: No such file|crt1\.o", "libc"),
)
_NO_PROGRAMS = re.compile(r"C compiler cannot create executables")
"""configure's words for flags that the compiler does not know, and for a compiler without a C library."""
_WHERE = re.compile(r"^configure: error: in [`'].*:$")
"""configure says first in which folder it is, then what is wrong."""
_COMPLAINT = re.compile(r"(?:^configure: error: |\berror: |^make.*\*\*\* |: not found$|No space left|fatal error: )")


def complaint(output: str) -> str:
    """The line that says what went wrong: the first error, else the last line."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    for line in lines:
        if _COMPLAINT.search(line) and not _WHERE.search(line):
            return line.removeprefix("configure: error: ")
    return lines[-1] if lines else "it said nothing"


def missing(output: str) -> str | None:
    """What the output says is missing, as a key of `PACKAGES`; only lines that complain are looked at."""
    complaints = "\n".join(line for line in output.splitlines() if re.search(r"error|not found|missing|No such", line))
    return next((what for sign, what in _SIGNS if re.search(sign, complaints)), None)


def install_command(tools: Iterable[str], *, debian: bool) -> str:
    """The command that installs what is missing."""
    packages = " ".join(PACKAGES[tool][0 if debian else 1] for tool in tools)
    return f"sudo apt-get install {packages}" if debian else f"sudo dnf install {packages}"


def remedy(output: str, *, debian: bool) -> str:
    """What to do about it."""
    if "No space left on device" in output:
        return "the disk is full: free space, or name another place with PGASSAY_CACHE"
    if _NO_PROGRAMS.search(output):
        return f"check the compiler's flags (build.cflags), or {install_command(['libc'], debian=debian)}"
    what = missing(output)
    return install_command([what], debian=debian) if what else "see the compiler's own words"
